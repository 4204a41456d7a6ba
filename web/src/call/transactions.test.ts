import { describe, expect, it } from 'vitest';
import { answer, request, sip } from './testing';
import { comparisonsOf, kindOf, transactionKey } from './transactions';

describe('a transaction', () => {
  const invite = request('INVITE', 0, 1, 0);

  it('has the request, its answers, ACK and CANCEL, on every hop', () => {
    const others = [
      answer(180, 'INVITE', 1, 0, 1),
      request('INVITE', 1, 2, 0.1),
      request('ACK', 0, 1, 2, { cseq: '1 ACK' }),
      request('CANCEL', 0, 1, 2, { cseq: '1 CANCEL' }),
    ];
    for (const other of others) expect(transactionKey(other), other.line).toBe(transactionKey(invite));
  });

  it('does not have those of another number, method, dialog or side', () => {
    const cseq = '1 INVITE';
    const others = [
      request('INVITE', 0, 1, 3, { cseq: '2 INVITE' }),
      request('BYE', 0, 1, 3, { cseq: '1 BYE' }),
      request('INVITE', 0, 1, 3, { raw: sip('INVITE x SIP/2.0', { CSeq: cseq, 'Call-ID': 'other' }) }),
      // The callee's own requests are numbered by itself.
      request('INVITE', 1, 0, 3, { raw: sip('INVITE x SIP/2.0', { CSeq: cseq, From: '<sip:2@y>;tag=t' }) }),
    ];
    for (const other of others) expect(transactionKey(other)).not.toBe(transactionKey(invite));
  });

  it('of a message without CSeq is its own', () => {
    const [one, other] = [request('INVITE', 0, 1, 0, { cseq: '' }), request('INVITE', 0, 1, 0, { cseq: '' })];
    expect(transactionKey(one)).not.toBe(transactionKey(other));
  });
});

describe('what a message is compared with', () => {
  it('is the one before of its kind, and the same on the hop before', () => {
    const messages = [
      request('INVITE', 0, 1, 0), // 0
      request('INVITE', 1, 2, 0.01), // 1
      answer(200, 'INVITE', 2, 1, 1), // 2
      answer(200, 'INVITE', 1, 0, 1.01), // 3
      answer(200, 'BYE', 1, 0, 5), // 4
      request('INVITE', 0, 1, 9, { cseq: '2 INVITE' }), // 5
      request('INVITE', 1, 2, 9.01, { cseq: '2 INVITE' }), // 6
    ];
    const of = (at: number) => {
      const { before, hop } = comparisonsOf(messages, at);
      return [before, hop].map((one) => (one ? messages.indexOf(one) : null));
    };
    expect(of(0)).toEqual([null, null]);
    expect(of(1)).toEqual([null, 0]);
    expect(of(3)).toEqual([null, 2]);
    expect(of(4)).toEqual([null, null]);
    // The INVITE of ten seconds earlier came to host 0 from nobody.
    expect(of(5)).toEqual([0, null]);
    expect(of(6)).toEqual([1, 5]);
    expect(comparisonsOf(messages, 99)).toEqual({ before: null, hop: null });
  });

  it('tells answers to one method from those to another', () => {
    expect(kindOf(answer(200, 'BYE', 0, 1, 0))).toBe('200 BYE');
    expect(kindOf(request('UPDATE', 0, 1, 0))).toBe('UPDATE');
  });
});
