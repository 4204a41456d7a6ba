// Limits and what the disk does next, in words.

import { t } from '../../i18n';
import { ago } from '../../lib/ago';
import { bytes, percent } from '../../lib/number';
import type { SpoolRetention } from '../../lib/types';

/** `90 days`, `36 hours`, `5 minutes`: in the largest unit that leaves no rest. */
export function days(ms: number): string {
  const minutes = Math.round(ms / 60_000);
  if (minutes % 1440 === 0) return t('retention.days', { n: minutes / 1440 });
  return minutes % 60 === 0 ? t('retention.hours', { n: minutes / 60 }) : t('retention.minutes', { n: minutes });
}

/** What the disk of the spool does next. */
export function outlook(spool: SpoolRetention, nowUs: number): string {
  if (!spool.recording) return t('retention.stopped');
  const { short_at_us: at } = spool;
  if (at === null || at === undefined) {
    return spool.categories.some((one) => typeof one.bytes_per_day === 'number') ? t('retention.never_short') : t('retention.unknown');
  }
  const what = spool.has_tier ? t('retention.then_moved') : t('retention.then_deleted');
  return at <= nowUs ? t('retention.short_now', { what }) : t('retention.short_at', { when: ago(at, nowUs), what });
}

/** `400.0 GiB of 1.0 TiB free (39.1 %); 51.2 GiB stay free` */
export function space(spool: SpoolRetention): string {
  const { disk_bytes: total, free_bytes: free, low_bytes: low } = spool;
  if (typeof total !== 'number' || typeof free !== 'number') return t('retention.no_disk');
  return t('retention.free', { free: bytes(free), total: bytes(total), share: percent((free * 100) / Math.max(1, total)), low: bytes(low) });
}
