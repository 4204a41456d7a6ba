import { svelte } from '@sveltejs/vite-plugin-svelte';
import type { Plugin } from 'vite';
import { defineConfig } from 'vitest/config';

/** Where `npm run dev` passes requests of the API on to: a daemon, or `npm run mock`. */
const api = process.env['RINGTAP_API'] ?? 'http://127.0.0.1:8444';

/**
 * The page of a call is loaded while the list of calls is looked at. With this mark Chromium compiles its functions then, and not
 * one by one when the call is opened; to other browsers it is a comment.
 */
const compiledOnLoad: Plugin = {
  name: 'compiled-on-load',
  apply: 'build',
  renderChunk: {
    // Behind the minifier, which removes comments.
    order: 'post',
    handler: (code, chunk) => (chunk.name === 'CallPage' ? { code: `//# allFunctionsCalledOnLoad\n${code}`, map: null } : null),
  },
};

export default defineConfig({
  plugins: [svelte(), compiledOnLoad],
  build: {
    target: 'es2022',
    // The content security policy is `default-src 'self'`: nothing inline, no data: addresses.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 150,
    manifest: true,
  },
  server: { proxy: { '/api': api, '/openapi.json': api } },
  test: { include: ['src/**/*.test.ts', 'mock/**/*.test.ts', 'tools/*.test.js'], environment: 'node' },
});
