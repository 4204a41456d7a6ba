// Runs after `vite build`: compresses what the console sends, measures the first load against its target, and writes the licences of
// what is in the bundle.
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';

const LARGEST_FIRST_LOAD = 150 * 1024;
const IN_THE_BUNDLE = ['svelte', 'uplot'];

const manifest = JSON.parse(readFileSync('dist/.vite/manifest.json', 'utf8'));
const entry = Object.values(manifest).find((chunk) => chunk.isEntry);
const files = new Set(['index.html']);
const follow = (chunk) => {
  if (files.has(chunk.file)) return;
  files.add(chunk.file);
  (chunk.css ?? []).forEach((file) => files.add(file));
  (chunk.imports ?? []).forEach((name) => follow(manifest[name]));
};
follow(entry);
const bytes = [...files].reduce((sum, file) => sum + gzipSync(readFileSync(`dist/${file}`)).length, 0);
console.log(`first load: ${(bytes / 1024).toFixed(1)} kB gzip of at most ${LARGEST_FIRST_LOAD / 1024}`);
if (bytes > LARGEST_FIRST_LOAD) process.exit(1);

// The console sends these where a browser takes them. The same text gives the same bytes.
for (const name of readdirSync('dist', { recursive: true }).filter((name) => /\.(css|html|js|svg)$/.test(name))) {
  const text = readFileSync(`dist/${name}`);
  const packed = gzipSync(text, { level: 9 });
  if (packed.length < text.length) writeFileSync(`dist/${name}.gz`, packed);
}

const licence = (name) => {
  const folder = `node_modules/${name}`;
  const { version, license } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'));
  const text = ['LICENSE.md', 'LICENSE'].map((file) => {
    try {
      return readFileSync(`${folder}/${file}`, 'utf8');
    } catch {
      return null;
    }
  }).find((found) => found !== null);
  if (!text) throw new Error(`no licence text in ${folder}: look where ${name} keeps it now`);
  return `${name} ${version} (${license})\n\n${text.trim()}\n`;
};
writeFileSync('dist/NOTICES.txt', IN_THE_BUNDLE.map(licence).join('\n----\n\n'));
