import { describe, expect, it } from 'vitest';
import { en } from '../../i18n/en';
import type { Call } from '../../lib/types';
import { ALL, cell, columnsOf, textOf, USUAL } from './columns';

const call = {
  id: 'a', call_id: 'x\u202Ey@h', from_user: '+441632960138', from_host: 'h', from_display: 'Zoë "<b>" \u0007', to_user: null, to_host: 'b.example',
  state: 'failed', final_code: 486, final_reason: 'Busy Here', invite_us: Date.UTC(2026, 0, 1, 8) * 1000, ringing_us: 1e6, answer_us: null, end_us: 3.5e6,
  pdd_ms: 672, duration_ms: null, mos: 3.4, mos_worst_interval: 4.2, notes: [{ code: 'loss', evidence: '12 of 100' }, { code: 'loss', evidence: '3 of 90' }],
  released_by: null, retransmissions: 0, messages: 7, capture_drops: 0, recorded: 'none',
} as unknown as Call;
const text = (name: (typeof ALL)[number], changes: Partial<Call> = {}) => cell({ ...call, ...changes } as Call, name, 'Europe/Madrid');

describe('columns', () => {
  it('are named by the address, each once, the unknown left out', () => {
    expect(columnsOf('mos,constructor,from,mos').map((column) => column.name)).toEqual(['mos', 'from']);
    expect(columnsOf('nothing').map((column) => column.name)).toEqual(USUAL);
    expect(textOf(USUAL)).toBeNull();
    expect(textOf(['mos'])).toBe('mos');
  });

  it('have a heading each', () => {
    for (const name of ALL) expect(en).toHaveProperty([`calls.column.${name}`]);
  });
});

describe('cells', () => {
  it('show times in the zone, with all of their digits on hover', () => {
    expect(text('began')).toEqual({ text: '2026-01-01 09:00:00', title: '2026-01-01 09:00:00.000000' });
    expect(text('ring').text).toBe('2.5 s');
    expect(text('pdd').text).toBe('0.67 s');
  });

  it('tell a state by shape, word and code', () => {
    expect(text('state')).toEqual({ text: '✕ failed 486', title: '486 Busy Here', mark: 'poor' });
    expect(text('state', { state: 'completed', final_code: 200 }).text).toBe('✓ completed');
    expect(text('state', { state: 'cancelled', final_code: 487 }).text).toBe('○ cancelled');
  });

  it('grade a MOS', () => {
    expect(text('mos')).toEqual({ text: '3.40', mark: 'poor' });
    expect(text('mosworst')).toEqual({ text: '4.20' });
    expect(text('mos', { mos: null })).toEqual({ text: '' });
  });

  it('show what came from the wire as text', () => {
    expect(text('callid').text).toBe('x⟨U+202E⟩y@h');
    expect(text('from')).toEqual({ text: '+441632960138', title: 'Zoë "<b>" ␇ <+441632960138@h>' });
    expect(text('to').text).toBe('b.example');
  });

  it('name a note once, with all of its evidence', () => {
    expect(text('notes')).toEqual({ text: 'loss', title: 'loss: 12 of 100; loss: 3 of 90' });
  });

  it('exist for every column of every call', () => {
    const bare = Object.fromEntries(Object.keys(call).map((key) => [key, null])) as unknown as Call;
    for (const name of ALL) {
      const one = cell({ ...bare, id: 'a', call_id: 'x', state: 'trying', notes: [], messages: 0, retransmissions: 0 } as Call, name, 'UTC');
      expect(typeof one.text, name).toBe('string');
    }
  });
});
