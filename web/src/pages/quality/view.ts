// What the page of quality shows, as its address says it, and how figures become colours.

import { t } from '../../i18n';
import { number, percent } from '../../lib/number';
import { termOf } from '../../lib/search';
import { evenSpan, searchTime } from '../../lib/time';
import type { KpiDefinition } from '../../lib/types';

export const GROUPS = ['trunk', 'direction', 'codec', 'device', 'prefix', 'code'] as const;
export type Group = (typeof GROUPS)[number];

/** Spans of time that can be chosen, and how they are cut. */
export const SPANS = {
  '1h': { us: 3600e6, every: 'minute', columns: 60 },
  '24h': { us: 24 * 3600e6, every: 'hour', columns: 24 },
  '7d': { us: 7 * 86_400e6, every: 'day', columns: 7 },
  '30d': { us: 30 * 86_400e6, every: 'day', columns: 30 },
} as const;
export type Span = keyof typeof SPANS;

export const BEFORE = ['none', 'span', 'week'] as const;
export type Before = (typeof BEFORE)[number];

export interface View {
  by: Group;
  metric: string;
  span: Span;
  /** The end; null is now. */
  until: number | null;
  /** What it is compared with: nothing, the span before, the same a week earlier. */
  before: Before;
}

export function viewOf(query: URLSearchParams): View {
  const one = <T extends string>(name: string, all: readonly T[], usual: T): T => {
    const value = query.get(name) as T;
    return all.includes(value) ? value : usual;
  };
  const until = Number(query.get('until'));
  return {
    by: one('by', GROUPS, 'trunk'),
    metric: query.get('metric') ?? 'ner',
    span: one('span', Object.keys(SPANS) as Span[], '24h'),
    until: Number.isFinite(until) && until > 0 ? until : null,
    before: one('before', BEFORE, 'none'),
  };
}

/** How much earlier the period lies that a view is compared with; null for none. */
export function shift(view: View): number | null {
  if (view.before === 'none') return null;
  return view.before === 'week' ? 7 * 86_400e6 : SPANS[view.span].us;
}

/** What a figure is called: `ner` is NER, `pdd_ms_p95` PDD 95 %. Medians need no number. */
export function figureName(name: string): string {
  const [, base = name, quantile] = /^(.*?)(?:_p(\d+))?$/.exec(name) ?? [];
  const words = base.replace(/_(ms|pct)$/, '').replaceAll('_', ' ');
  const isShort = /^(asr|abr|ner|ser|seer|isa|ira|scr|acd|pdd|srd|ttr|sdd|rrd|rtt|mos)\b/.exec(words);
  const text = isShort ? isShort[0].toUpperCase() + words.slice(isShort[0].length) : words.charAt(0).toUpperCase() + words.slice(1);
  return quantile && quantile !== '50' ? `${text} ${quantile} %` : text;
}

/** A figure as text, by its name and unit. */
export function figure(value: number | null | undefined, definition: Pick<KpiDefinition, 'name' | 'unit'>): string {
  if (value === null || value === undefined) return '';
  const { name, unit } = definition;
  if (unit === '%') return percent(value);
  if (unit === 'ms' || name.includes('_ms')) return name.startsWith('jitter') ? `${number(value, 1)} ms` : evenSpan(value, 2);
  if (name.startsWith('mos')) return number(value, 2);
  return number(value, Number.isInteger(value) ? 0 : 1);
}

/** The same for a cell of the map, without its unit and as short as can be. */
export function brief(value: number | null | undefined, definition: Pick<KpiDefinition, 'name' | 'unit'>): string {
  if (value === null || value === undefined) return '';
  const { name, unit } = definition;
  if (name.startsWith('mos')) return number(value, 1);
  if (unit === 'ms' || name.includes('_ms')) {
    if (value >= 599_500) return `${number(value / 60_000)}m`;
    return value >= 9950 ? number(value / 1000) : number(value / 1000, 1);
  }
  return Math.abs(value) < 9.95 && !Number.isInteger(value) ? number(value, 1) : number(value);
}

/** Whether a higher value is better: null where it is neither. */
export function better(name: string): 'higher' | 'lower' | null {
  if (/^(asr|abr|ner|ser|seer|scr|mos|acd|ner_)/.test(name)) return 'higher';
  if (/^(isa|ira|pdd|srd|sdd|ttr|rrd|loss|jitter|rtt|short|repeated|capture_drops)/.test(name)) return 'lower';
  return null;
}

/**
 * How bad a value is, 0 to 1; null where it is neither good nor bad. MOS and shares are measured against fixed ends, so
 * that a colour means the same every day; others against the values of the map.
 */
export function badness(value: number | null | undefined, name: string, all: number[]): number | null {
  if (value === null || value === undefined) return null;
  const direction = better(name);
  if (direction === null) return null;
  const [bad, good] = FIXED.find(([pattern]) => pattern.test(name))?.[1] ?? ends(all, direction);
  if (bad === good) return 0;
  return Math.min(1, Math.max(0, (good - value) / (good - bad)));
}

function ends(all: number[], direction: 'higher' | 'lower'): [number, number] {
  const low = Math.min(...all);
  const high = Math.max(...all);
  return direction === 'higher' ? [low, high] : [high, low];
}

/** A search for the calls of a cell; null where the language has no field for the group. */
export function searchOf(by: Group, name: string, from: number, until: number): string | null {
  const time = `began:${searchTime(from)}..${searchTime(until)}`;
  const field = FIELDS[by];
  if (field === null || name.startsWith('(')) return null;
  const term = by === 'prefix' ? `to:${name.startsWith('+') ? name : `+${name}`}*` : termOf(field, name);
  return `${term} ${time}`;
}

/** How a figure has changed, as text with its sign. */
export function change(now: number | null | undefined, before: number | null | undefined, definition: KpiDefinition): string {
  if (now === null || now === undefined || before === null || before === undefined) return '';
  const difference = now - before;
  const size = (value: number) => figure(value, definition).replace(' %', ` ${t('quality.points')}`);
  const text = size(Math.abs(difference));
  return text === size(0) ? '=' : `${difference > 0 ? '+' : '−'}${text}`;
}

const FIELDS: Record<Group, string | null> = {
  trunk: 'trunk', direction: null, codec: 'codec', device: 'ua', prefix: 'to', code: 'code',
};

/** The worst and the best end of scales that are the same every day. */
const FIXED: [RegExp, [number, number]][] = [
  [/^mos/, [3, 4.2]],
  [/^ner/, [80, 100]],
  [/^(asr|abr|ser|seer|scr)/, [30, 90]],
  [/^(isa|ira)/, [20, 0]],
  [/^loss/, [5, 0]],
];
