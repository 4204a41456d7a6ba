import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vitest/config';

/** Where `npm run dev` passes requests of the API on to: a daemon, or `npm run mock`. */
const api = process.env['RINGTAP_API'] ?? 'http://127.0.0.1:8444';

export default defineConfig({
  plugins: [svelte()],
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
