import { describe, expect, it } from 'vitest';
import { answer as response, at, call, request, sip } from '../testing';
import type { CallDetails, Note } from '../../lib/types';
import { eventsOf, textPlaces } from './events';

const note = (code: Note['code'], seconds: number | null) =>
  ({ code, direction: null, since_us: seconds === null ? null : at(seconds), value: null, threshold: null, evidence: '' });

function answered(more = {}): CallDetails {
  const one = call({ answer_us: at(2), end_us: at(60), notes: [note('hold', 20), note('loss', 5)], ...more });
  one.dtmf = [{ digit: '5', source: 'info', time_us: at(10) }];
  return { call: one, legs: [one], streams: [] } as unknown as CallDetails;
}

const tagged = (method: string, cseq: string) =>
  sip(`${method} sip:2@y SIP/2.0`, { CSeq: cseq, To: '<sip:2@y>;tag=t' });

describe('events of media', () => {
  it('are answer, digits, hold and end, in order of time', () => {
    expect(eventsOf(answered(), null).map((event) => event.text)).toEqual(['Answered', '5', 'on hold', 'Ended']);
  });

  it('have a re-INVITE once, on however many hops, and no challenged INVITE', () => {
    const messages = [
      request('INVITE', 0, 1, 0),
      request('INVITE', 0, 1, 0.5, { cseq: '2 INVITE' }),
      request('INVITE', 0, 1, 30, { cseq: '3 INVITE', raw: tagged('INVITE', '3 INVITE') }),
      request('INVITE', 1, 2, 30.01, { cseq: '3 INVITE', raw: tagged('INVITE', '3 INVITE') }),
      response(200, 'INVITE', 2, 1, 31, { cseq: '3 INVITE', raw: tagged('SIP/2.0 200 OK', '3 INVITE') }),
      request('UPDATE', 0, 1, 40, { cseq: '4 UPDATE', raw: tagged('UPDATE', '4 UPDATE') }),
    ];
    const events = eventsOf(answered(), { hosts: [], messages, media: [], reason: null });
    expect(events.filter((event) => event.kind === 'signalling').map((event) => event.text)).toEqual([
      'Answered', 're-INVITE', 'UPDATE', 'Ended',
    ]);
  });

  it('say of which leg they are where there are several', () => {
    const one = answered();
    one.legs = [one.call, call({ id: 'other', end_us: at(70) })];
    expect(eventsOf(one, null).map((event) => event.text)).toEqual(['A Answered', 'A 5', 'A on hold', 'A Ended', 'B Ended']);
  });
});

describe('texts of events', () => {
  it('stand in another row rather than on each other, or nowhere', () => {
    const texts = [0, 10, 20, 200].map((x) => ({ x, text: 'answered' }));
    expect(textPlaces(texts, 1000, 2).map((place) => place.row)).toEqual([0, 1, -1, 0]);
  });

  it('do not leave the axis', () => {
    const [place] = textPlaces([{ x: 95, text: 'ended' }], 100, 2);
    expect(place!.left + 5 * 6.4).toBeLessThan(95);
  });
});
