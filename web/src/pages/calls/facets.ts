// Fields whose values stand beside the result, and how a search for one of them is written.

import { tOr } from '../../i18n';
import { shown } from '../../lib/wire';

export interface Facet {
  /** As the server counts it. */
  name: string;
  /** As the search language calls it. */
  field: string;
}

export const FACETS: Facet[] = [
  { name: 'state', field: 'state' },
  { name: 'code', field: 'code' },
  { name: 'note', field: 'note' },
  { name: 'trunk', field: 'trunk' },
  { name: 'codec', field: 'codec' },
  { name: 'ua', field: 'ua' },
  { name: 'ip', field: 'ip' },
  { name: 'hangup', field: 'hangup' },
  { name: 'recorded', field: 'recorded' },
];

/** What the server counts together as the rest: no search finds it. */
export const OTHERS = '(others)';

/** What a value is called. */
export function valueName(facet: string, value: string): string {
  if (facet === 'state') return tOr(`calls.state.${value}`, value);
  if (facet === 'note') return tOr(`note.${value}`, value);
  if (facet === 'hangup') return tOr(`calls.hangup.${value}`, value);
  if (facet === 'recorded') return tOr(`calls.recorded.${value}`, value);
  if (facet === 'code' && value === '0') return tOr('calls.no_code', value);
  return shown(value);
}
