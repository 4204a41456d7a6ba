// A call that never was, drawn where nobody sees it: what the browser compiles and learns meanwhile, it need not between the click
// that opens the first call and its ladder. The first then appears as soon as any later one.

import { mount, unmount, type Component } from 'svelte';
import { whenIdle } from '../../lib/idle';
import RehearsedLadder from './RehearsedLadder.svelte';
import RehearsedMedia from './RehearsedMedia.svelte';

/** What is still to be drawn: everything twice, since an engine compiles for speed only what ran before. */
const parts: Component[] = [RehearsedLadder, RehearsedLadder, RehearsedMedia, RehearsedMedia];

/** Draws one part a frame, from when the browser is idle. Returns what ends it; the next time goes on from there. */
export function rehearse(): () => void {
  let end = whenIdle(next);

  function next(): void {
    const part = parts.shift();
    if (part) end = draw(part, next);
  }

  return () => end();
}

/** Draws a part and removes it once it has been laid out, then calls `done`. Returns what removes it before. */
function draw(part: Component, done: () => void): () => void {
  const stage = document.createElement('div');
  // Not `display: none`: what has no size is not drawn.
  stage.style.cssText = 'position: fixed; inset: 0; z-index: -1; overflow: hidden; visibility: hidden; contain: strict';
  stage.inert = true;
  // A tree of its own: nobody who looks for a row of the page, or for an id, finds one of these.
  const drawn = mount(part, { target: stage.attachShadow({ mode: 'closed' }) });
  document.body.append(stage);
  let isOver = false;
  const end = () => {
    if (isOver) return;
    isOver = true;
    cancelAnimationFrame(frame);
    clearTimeout(timer);
    void unmount(drawn);
    stage.remove();
  };
  let timer: ReturnType<typeof setTimeout> | undefined;
  // In that frame its size becomes known, and its rows are made.
  const frame = requestAnimationFrame(() => {
    timer = setTimeout(() => {
      end();
      done();
    });
  });
  return end;
}
