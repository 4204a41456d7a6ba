// An API to develop the page with: `RINGTAP=target/debug/ringtap npm run mock`, then `npm run dev`.
//
// Anybody may log in; the name chooses what is seen: `viewer` may not see signalling or listen, `code` is asked for a
// second factor, `locked` is locked out, `wrong` is wrong. A search with the word `slow` takes four seconds, with `cut`
// reaches its time limit, with `broken` fails. MOCK_WITHOUT=/alarms,/audit leaves parts of the API out.
import { createServer } from 'node:http';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join, normalize } from 'node:path';
import { answer } from './answers.js';

const PORT = Number(process.env.PORT ?? 8444);
const DIST = join(import.meta.dirname, '..', 'dist');
const POLICY = "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'";
const TYPES = { html: 'text/html; charset=utf-8', js: 'text/javascript', css: 'text/css', svg: 'image/svg+xml', txt: 'text/plain; charset=utf-8' };

createServer(async (request, response) => {
  const url = new URL(request.url, 'http://mock');
  if (url.pathname.startsWith('/api/v1/') || url.pathname === '/openapi.json') {
    let body = '';
    for await (const piece of request) body += piece;
    try {
      await answer(request, response, url, body ? JSON.parse(body) : null);
    } catch (error) {
      console.error(error);
      if (!response.headersSent) response.writeHead(500).end();
    }
    return;
  }
  page(url.pathname, response);
}).listen(PORT, '127.0.0.1', () => console.log(`http://127.0.0.1:${PORT}`));

function page(path, response) {
  const wanted = join(DIST, normalize(decodeURIComponent(path)));
  const file = wanted.startsWith(DIST) && existsSync(wanted) && statSync(wanted).isFile() ? wanted : join(DIST, 'index.html');
  if (!existsSync(file)) return void response.writeHead(404).end('npm run build makes the page');
  const type = TYPES[file.split('.').pop()] ?? 'application/octet-stream';
  response.writeHead(200, { 'Content-Type': type, 'Content-Security-Policy': POLICY, 'X-Content-Type-Options': 'nosniff' });
  response.end(readFileSync(file));
}
