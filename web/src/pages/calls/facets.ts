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
  { name: 'trunk_from', field: 'trunk' },
  { name: 'trunk_to', field: 'trunk' },
  { name: 'codec', field: 'codec' },
  { name: 'ua', field: 'ua' },
];

/** What a value is called. */
export function valueName(facet: string, value: string): string {
  if (facet === 'state') return tOr(`calls.state.${value}`, value);
  if (facet === 'note') return tOr(`note.${value}`, value);
  return shown(value);
}
