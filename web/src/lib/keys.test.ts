import { expect, it } from 'vitest';
import { bind, keys } from './keys.svelte';

it('a view means what it says by a key, whenever those of everywhere are named', () => {
  const titles = () => keys().map((group) => group.title);
  const key = [{ key: '/', about: '', run: () => {} }];
  const page = bind('page', key);
  const everywhere = bind('everywhere', key, true);
  const dialog = bind('dialog', key);
  expect(titles()).toEqual(['dialog', 'page', 'everywhere']);
  [page, everywhere, dialog].forEach((end) => end());
  expect(titles()).toEqual([]);
});
