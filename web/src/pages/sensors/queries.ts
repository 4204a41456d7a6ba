// What the page of sensors asks the server.

import { get } from '../../lib/api';
import type { SensorList } from '../../lib/types';

export function sensors(signal: AbortSignal): Promise<SensorList> {
  return get('/sensors', { signal });
}
