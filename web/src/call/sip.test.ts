import { describe, expect, it } from 'vitest';
import { parse, parseCSeq, sdpBrief, sdpOf, tagOf, valueOf } from './sip';
import { SDP, sip } from './testing';

describe('a message', () => {
  it('is read with short names and folded lines', () => {
    const raw = 'INVITE sip:a SIP/2.0\r\nv: SIP/2.0/UDP x\r\n ;branch=1\r\nf: <sip:1@x>;tag=2\r\n\r\n';
    const parsed = parse(raw);
    expect(parsed.headers).toEqual([
      { name: 'v', key: 'via', value: 'SIP/2.0/UDP x ;branch=1' },
      { name: 'f', key: 'from', value: '<sip:1@x>;tag=2' },
    ]);
    expect(valueOf(parsed.headers, 'via')).toContain('branch');
    expect(parsed.body).toEqual([]);
  });

  it('that is broken is read as far as it goes', () => {
    expect(parse('').headers).toEqual([]);
    expect(parse('no colon\nxx').headers).toEqual([{ name: 'xx', key: 'xx', value: '' }]);
    expect(parse(' leading\r\n: empty name\r\n').headers).toEqual([{ name: '', key: '', value: 'empty name' }]);
    expect(parseCSeq('x').number).toBeNull();
  });

  it('has the tag of the header, not one of its URI', () => {
    expect(tagOf('"A;tag=no" <sip:1@x;tag=uri>;x=1; tag = yes')).toBe('yes');
    expect(tagOf('<sip:1@x;tag=uri>')).toBe('');
    expect(tagOf('sip:1@x;tag=bare')).toBe('bare');
  });
});

describe('a session description', () => {
  it('is said in a line a medium', () => {
    const raw = sip('INVITE sip:a SIP/2.0', { 'Content-Type': 'application/sdp' }, [
      ...SDP, 'a=sendonly', 'm=video 0 RTP/AVP 34', 'c=IN IP6 2001:db8::1', 'a=sendrecv',
    ]);
    expect(sdpBrief(sdpOf(parse(raw)))).toEqual([
      'audio 192.0.2.1:4000 PCMU telephone-event sendonly',
      'video [2001:db8::1]:0 H263',
    ]);
  });

  it('is found among several parts, and nowhere else', () => {
    const body = ['--b', 'Content-Type: application/sdp', '', ...SDP, '--b', 'Content-Type: text/plain', '', 'x', '--b--'];
    const raw = sip('INVITE sip:a SIP/2.0', { 'Content-Type': 'multipart/mixed;boundary=b' }, body);
    expect(sdpOf(parse(raw))).toEqual(SDP);
    expect(sdpOf(parse(sip('INFO sip:a SIP/2.0', { 'Content-Type': 'application/dtmf-relay' }, ['Signal=1'])))).toEqual([]);
  });
});
