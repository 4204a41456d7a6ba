// Limits and what the disk does next, in words.

import { t, tOr } from '../../i18n';
import { ago } from '../../lib/ago';
import { bytes, percent } from '../../lib/number';
import type { KeepRule, Rule, SpoolRetention } from '../../lib/types';
import { shown } from '../../lib/wire';

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

/** What has to hold for a rule, in words. */
export function conditions(pairs: Rule['conditions']): string {
  const words = pairs.map(([key = '', value = '']) => tOr(`retention.if.${key}`, `${key} = ${value}`, { value: shown(value), n: Number(value) }));
  return words.length > 0 ? words.join(', ') : t('retention.always');
}

/** The conditions of a rule that is being written, as the server tells those in effect. */
export function pairsOf(rule: KeepRule): string[][] {
  const { caller = [], callee = [], number = [], trunk = [], address = [], codec = [], answered, mos_below: mos, share } = rule;
  const count = (list: string[]) => (list.length > 0 ? String(list.length) : '');
  const pairs: Array<[string, string]> = [
    ['caller', count(caller)], ['callee', count(callee)], ['number', count(number)],
    ['trunk', trunk.join(', ')], ['address', address.join(', ')], ['codec', codec.join(', ')],
    ['answered', answered ? 'true' : ''], ['mos_below', typeof mos === 'number' ? String(mos) : ''], ['share', share ?? ''],
  ];
  return pairs.filter(([, value]) => value !== '');
}

/** What else holds for what a rule records; empty where nothing does. */
export function also(rule: { mask_dtmf?: boolean; may_pause?: boolean }): string {
  return [rule.mask_dtmf ? t('retention.mask') : '', rule.may_pause ? t('retention.pause') : ''].filter(Boolean).join(', ');
}

/** A list as people type it: between commas, semicolons or lines. Spaces may be within a number. */
export function listed(text: string): string[] {
  return text.split(/[,;\n]+/).map((item) => item.trim()).filter((item) => item !== '');
}
