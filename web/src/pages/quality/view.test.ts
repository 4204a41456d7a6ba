import { describe, expect, it } from 'vitest';
import { badness, brief, change, figure, figureName, searchOf, shift, viewOf } from './view';

const mos = { name: 'mos_p50', title: 'mos_p50', unit: 'MOS', text: '' };
const asr = { name: 'asr', title: 'asr', unit: '%', text: '' };
const pdd = { name: 'pdd_ms_p50', title: 'pdd_ms_p50', unit: 'ms', text: '' };

describe('the view', () => {
  it('is read from the address, and the usual one where that is wrong', () => {
    expect(viewOf(new URLSearchParams('by=codec&metric=asr&span=7d&until=5&before=week'))).toEqual({
      by: 'codec', metric: 'asr', span: '7d', until: 5, before: 'week',
    });
    expect(viewOf(new URLSearchParams('by=x&span=constructor&until=x'))).toEqual({
      by: 'trunk', metric: 'ner', span: '24h', until: null, before: 'none',
    });
  });

  it('is compared with what it says', () => {
    expect(shift(viewOf(new URLSearchParams('')))).toBeNull();
    expect(shift(viewOf(new URLSearchParams('before=span')))).toBe(86_400e6);
    expect(shift(viewOf(new URLSearchParams('before=week')))).toBe(7 * 86_400e6);
  });
});

describe('figures', () => {
  it('have names', () => {
    const names = ['ner', 'ner_without_4xx', 'acd_ms', 'pdd_ms_p50', 'pdd_ms_p95', 'mos_p5', 'short_calls', 'loss_pct_p95', 'concurrent_max'];
    expect(names.map(figureName)).toEqual([
      'NER', 'NER without 4xx', 'ACD', 'PDD', 'PDD 95 %', 'MOS 5 %', 'Short calls', 'Loss 95 %', 'Concurrent max',
    ]);
  });

  it('have their units', () => {
    expect(figure(4.126, mos)).toBe('4.13');
    expect(figure(75, asr)).toBe('75.0 %');
    expect(figure(738.6, pdd)).toBe('0.74 s');
    expect(figure(null, asr)).toBe('');
  });

  it('are short in a cell', () => {
    expect([brief(4.126, mos), brief(75.4, asr), brief(7.54, asr), brief(738.6, pdd), brief(23_500, pdd), brief(1.2e6, pdd)]).toEqual([
      '4.1', '75', '7.5', '0.7', '24', '20m',
    ]);
  });

  it('change by a difference with its sign', () => {
    expect(change(70, 75.5, asr)).toBe('−5.5 points');
    expect(change(4.2, 4.1, mos)).toBe('+0.10');
    expect([change(1, 1, mos), change(4.101, 4.1, mos)]).toEqual(['=', '=']);
    expect(change(null, 1, mos)).toBe('');
  });
});

describe('how bad a value is', () => {
  it('is measured against fixed ends where there are such', () => {
    expect(badness(4.2, 'mos_p50', [])).toBe(0);
    expect(badness(3, 'mos_p5', [])).toBe(1);
    expect(badness(90, 'ner', [])).toBeCloseTo(0.5);
    expect(badness(1, 'mos_p50', [])).toBe(1);
  });

  it('is measured against the others where there are none', () => {
    expect(badness(200, 'pdd_ms_p50', [100, 300])).toBeCloseTo(0.5);
    expect(badness(300, 'pdd_ms_p50', [100, 300])).toBe(1);
    expect(badness(100, 'pdd_ms_p50', [100])).toBe(0);
  });

  it('is not said of what is neither good nor bad', () => {
    expect(badness(5, 'attempts', [1, 9])).toBeNull();
    expect(badness(null, 'asr', [])).toBeNull();
  });
});

describe('the calls of a cell', () => {
  it('are found by a search', () => {
    const from = Date.UTC(2026, 0, 1) * 1000;
    expect(searchOf('trunk', 'carrier a', from, from + 3600e6)).toBe(
      'trunk:"carrier a" began:2026-01-01T00:00:00Z..2026-01-01T01:00:00Z',
    );
    expect(searchOf('prefix', '4416', from, from + 1e6)).toContain('to:+4416* ');
    expect(searchOf('direction', 'in', from, from + 1e6)).toBeNull();
    expect(searchOf('trunk', '(other)', from, from + 1e6)).toBeNull();
  });
});
