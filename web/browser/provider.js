// An identity provider (OpenID Connect) that knows one person, and lets it in without a question.
import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';

export class Provider {
  /** The next person who comes: a name and groups; or null, who is sent back without a code. */
  person = { name: 'ida', groups: ['voice'] };
  codes = new Map();
  key = generateKeyPairSync('ec', { namedCurve: 'P-256' });

  async start() {
    this.server = createServer((request, response) => void this.answer(request, response)).listen(0, '127.0.0.1');
    await once(this.server, 'listening');
    // Another site than 127.0.0.1 to a browser.
    this.issuer = `http://localhost:${this.server.address().port}`;
    return this;
  }

  stop() {
    this.server.closeAllConnections();
    this.server.close();
  }

  async answer(request, response) {
    const { pathname, searchParams } = new URL(request.url, this.issuer);
    const json = (value) => response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(value));
    const go = (to) => response.writeHead(302, { Location: to }).end();
    if (pathname === '/.well-known/openid-configuration') {
      const at = (path) => `${this.issuer}${path}`;
      json({ issuer: this.issuer, authorization_endpoint: at('/authorize'), token_endpoint: at('/token'), jwks_uri: at('/jwks'), end_session_endpoint: at('/logout') });
    } else if (pathname === '/jwks') {
      json({ keys: [{ ...this.key.publicKey.export({ format: 'jwk' }), kid: 'one', use: 'sig' }] });
    } else if (pathname === '/authorize') {
      const back = new URL(searchParams.get('redirect_uri'));
      back.searchParams.set('state', searchParams.get('state'));
      if (this.person === null) back.searchParams.set('error', 'access_denied');
      else back.searchParams.set('code', this.code(searchParams));
      go(back);
    } else if (pathname === '/token') {
      const form = new URLSearchParams((await request.setEncoding('utf8').toArray()).join(''));
      const known = this.codes.get(form.get('code'));
      const hash = createHash('sha256').update(form.get('code_verifier') ?? '').digest('base64url');
      if (known?.challenge !== hash) return response.writeHead(400).end('{"error":"invalid_grant"}');
      this.codes.delete(form.get('code'));
      json({ id_token: this.token(known), access_token: 'access', token_type: 'Bearer' });
    } else if (pathname === '/logout') {
      this.person = null;
      go(searchParams.get('post_logout_redirect_uri'));
    } else {
      response.writeHead(404).end();
    }
  }

  code(asked) {
    const code = randomBytes(16).toString('hex');
    this.codes.set(code, { challenge: asked.get('code_challenge'), nonce: asked.get('nonce'), client: asked.get('client_id'), ...this.person });
    return code;
  }

  token({ name, groups, nonce, client }) {
    const now = Math.floor(Date.now() / 1000);
    const claims = { iss: this.issuer, aud: client, sub: `id of ${name}`, nonce, iat: now, exp: now + 300, preferred_username: name, groups };
    const signed = [{ alg: 'ES256', kid: 'one' }, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
    const signature = sign('sha256', Buffer.from(signed), { key: this.key.privateKey, dsaEncoding: 'ieee-p1363' });
    return `${signed}.${signature.toString('base64url')}`;
  }
}
