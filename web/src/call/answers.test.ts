import { describe, expect, it } from 'vitest';
import { completed } from './answers';
import { request } from './testing';
import { transactionKey } from './transactions';

describe('the answer of the ladder', () => {
  it('may have messages without CSeq and without their text', () => {
    const bare = { ...request('INVITE', 0, 1, 0), cseq: null, raw: null } as never;
    const { messages } = completed({ hosts: [], messages: [bare], media: [], reason: null });
    expect(messages[0]).toMatchObject({ cseq: '', raw: 'INVITE sip:2@y SIP/2.0\r\n' });
    expect(transactionKey(messages[0]!)).toContain('alone');
  });
});
