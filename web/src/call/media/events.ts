// What happened in a call at a moment, to be marked on the axis of its media.

import { t, tOr } from '../../i18n';
import { shown } from '../../lib/wire';
import { labelOf } from '../ladder/label';
import { parseCSeq } from '../sip';
import { legName } from '../people';
import type { LadderAnswer } from '../answers';
import type { CallDetails } from '../../lib/types';

export interface MediaEvent {
  us: number;
  text: string;
  kind: 'signalling' | 'dtmf' | 'note';
}

export function eventsOf(answer: CallDetails, ladder: LadderAnswer | null): MediaEvent[] {
  const found: MediaEvent[] = [];
  const many = answer.legs.length > 1;
  answer.legs.forEach((call, leg) => {
    const name = many ? `${legName(leg)} ` : '';
    const put = (us: number | null, text: string, kind: MediaEvent['kind']) => {
      if (us !== null) found.push({ us, text: name + shown(text), kind });
    };
    put(call.answer_us, t('call.time.answered'), 'signalling');
    put(call.end_us, t('call.time.ended'), 'signalling');
    for (const digit of call.dtmf) put(digit.time_us, digit.digit, 'dtmf');
    for (const note of call.notes) {
      if (note.code === 'hold' || note.code === 'transfer') {
        put(note.since_us, tOr(`call.note.${note.code}`, note.code), 'note');
      }
    }
  });
  return [...found, ...renegotiations(ladder, many)].sort((a, b) => a.us - b.us);
}

/** Requests within the dialog that change its media: a second INVITE of one number is a re-INVITE, and UPDATE. */
function renegotiations(ladder: LadderAnswer | null, many: boolean): MediaEvent[] {
  const found: MediaEvent[] = [];
  const seen = new Set<string>();
  for (const message of ladder?.messages ?? []) {
    if (message.method !== 'INVITE' && message.method !== 'UPDATE') continue;
    const { number } = parseCSeq(message.cseq);
    if (number === null) continue;
    // Seen on several hops, it is one; a challenged INVITE that is sent again is no re-INVITE.
    const key = `${message.leg} ${message.cseq}`;
    if (seen.has(key)) continue;
    seen.add(key);
    const toTag = /^(?:to|t)\s*:.*;\s*tag\s*=/im.test(message.raw);
    if (!toTag) continue;
    const label = message.method === 'INVITE' ? t('call.media.reinvite') : labelOf(message);
    found.push({ us: message.time_us, text: `${many ? `${legName(message.leg)} ` : ''}${label}`, kind: 'signalling' });
  }
  return found;
}

export interface TextPlace {
  /** Left edge of the text. */
  left: number;
  /** -1 where there is no room for it. */
  row: number;
}

/** Width of a letter of these texts, and the space beside them. */
const LETTER = 6.4;
const SPACE = 6;

/** Places for texts beside their moments, so that none lies on another or leaves the axis. */
export function textPlaces(texts: { x: number; text: string }[], width: number, rows: number): TextPlace[] {
  const ends = new Array<number>(rows).fill(-Infinity);
  return texts.map(({ x, text }) => {
    const wide = Array.from(text).length * LETTER;
    const left = x + 3 + wide > width ? x - 3 - wide : x + 3;
    const row = ends.findIndex((end) => end + SPACE <= left);
    if (row >= 0) ends[row] = left + wide;
    return { left, row };
  });
}
