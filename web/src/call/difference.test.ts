import { describe, expect, it } from 'vitest';
import { aligned, changedParts, count, differences } from './difference';
import { SDP, sip } from './testing';

const sdp = { 'Content-Type': 'application/sdp' };

function told(before: string, after: string): string[] {
  return differences(before, after)
    .filter((line) => line.kind !== 'same')
    .map((line) => `${line.kind}${line.usual ? ' (usual)' : ''} ${line.parts.map((part) => part.text).join('')}`);
}

describe('differences', () => {
  it('are none between equal messages', () => {
    const raw = sip('INVITE sip:2@y SIP/2.0', sdp, SDP);
    expect(told(raw, raw)).toEqual([]);
    expect(count(differences(raw, raw))).toBe(0);
  });

  it('do not depend on the order of headers or on short names', () => {
    const before = 'INVITE x SIP/2.0\r\nVia: 1\r\nSubject: a\r\nContact: b\r\n\r\n';
    const after = 'INVITE x SIP/2.0\r\nm: b\r\ns: a\r\nv: 1\r\n\r\n';
    expect(told(before, after)).toEqual([]);
  });

  it('say which headers came, went and changed', () => {
    const before = sip('INVITE sip:2@y SIP/2.0', { CSeq: '1 INVITE', Supported: 'timer', Contact: '<sip:1@192.0.2.1>' });
    const after = sip('INVITE sip:2@y SIP/2.0', { CSeq: '2 INVITE', Contact: '<sip:1@192.0.2.7>', 'X-New': '1' });
    expect(told(before, after)).toEqual([
      'changed (usual) CSeq: 2 INVITE',
      'changed Contact: <sip:1@192.0.2.7>',
      'added X-New: 1',
      'removed Supported: timer',
    ]);
    expect(count(differences(before, after))).toBe(3);
  });

  it('see a Via that a proxy put before the others as one more', () => {
    const before = 'INVITE x SIP/2.0\r\nVia: phone\r\n\r\n';
    const after = 'INVITE x SIP/2.0\r\nVia: proxy\r\nVia: phone\r\n\r\n';
    expect(told(before, after)).toEqual(['added (usual) Via: proxy']);
  });

  it('pair the Via that a proxy marked with the same one before', () => {
    const before = 'INVITE x SIP/2.0\r\nVia: phone;rport\r\n\r\n';
    const after = 'INVITE x SIP/2.0\r\nVia: proxy\r\nVia: phone;received=1;rport=2\r\n\r\n';
    expect(told(before, after)).toEqual([
      'added (usual) Via: proxy',
      'changed (usual) Via: phone;received=1;rport=2',
    ]);
  });

  it('show the words that changed within a line', () => {
    const [old, now] = changedParts('c=IN IP4 192.0.2.1', 'c=IN IP4 192.0.2.77');
    expect(now).toEqual([{ text: 'c=IN IP4 192.0.2.', new: false }, { text: '77', new: true }]);
    expect(old.at(-1)).toEqual({ text: '1', new: true });
  });

  it('follow the lines of a body', () => {
    const held = [...SDP.slice(0, 3), 'c=IN IP4 0.0.0.0', ...SDP.slice(4), 'a=sendonly'];
    const before = sip('INVITE sip:2@y SIP/2.0', sdp, SDP);
    expect(told(before, sip('INVITE sip:2@y SIP/2.0', sdp, held))).toEqual([
      'changed c=IN IP4 0.0.0.0',
      'added a=sendonly',
    ]);
  });
});

describe('alignment', () => {
  it('loses no line of either side, and keeps their order', () => {
    let random = 7;
    const next = (below: number) => (random = (random * 48_271) % 0x7fffffff) % below;
    for (let round = 0; round < 300; round += 1) {
      const list = () => Array.from({ length: next(12) }, () => 'abcd'[next(4)] ?? 'a');
      const [before, after] = [list(), list()];
      const steps = aligned(before, after);
      expect(steps.flatMap(([old]) => (old === null ? [] : [old]))).toEqual(before);
      expect(steps.flatMap(([, now]) => (now === null ? [] : [now]))).toEqual(after);
      for (const [old, now] of steps) if (old !== null && now !== null) expect(old).toBe(now);
    }
  });

  it('finds the longest common part', () => {
    const same = aligned([...'abcbdab'], [...'bdcaba']).filter(([old, now]) => old !== null && now !== null);
    expect(same.length).toBe(4);
  });

  it('does not search in very long bodies', () => {
    const long = (mark: string) => Array.from({ length: 3_000 }, (_, at) => `${mark}${at}`);
    expect(aligned(['x', ...long('a')], ['x', ...long('b')])).toHaveLength(6_001);
  });
});
