// What is wrong with a sensor, in words.

import { t, tOr } from '../../i18n';
import { bytes, percent } from '../../lib/number';
import type { SensorDisk, SensorFault } from '../../lib/types';
import { shown } from '../../lib/wire';

/** What is wrong; what this page does not know is said in the words of the server. */
export function wrong(fault: SensorFault): string {
  const subject = fault.subject ?? '';
  return tOr(`sensors.fault.${fault.code}`, shown(fault.detail), { n: fault.count ?? 0, what: named(fault.code, subject) });
}

/** What to do about it, likewise. */
export function remedy(fault: SensorFault): string {
  const said = shown(fault.remedy);
  return fault.code === 'lost' ? tOr(`sensors.remedy.lost.${fault.subject ?? ''}`, said) : tOr(`sensors.remedy.${fault.code}`, said);
}

/** `400.0 GiB of 1.0 TiB are free (39.1 %)` */
export function free(disk: SensorDisk): string {
  const share = percent((disk.free_bytes * 100) / Math.max(1, disk.total_bytes));
  return t('sensors.free', { free: bytes(disk.free_bytes), total: bytes(disk.total_bytes), share });
}

function named(code: string, subject: string): string {
  if (code === 'lost') return tOr(`now.drop.${subject}`, subject);
  return code === 'disk' ? tOr(`sensors.disk.${subject}`, subject) : shown(subject);
}
