// Keys of the keyboard. A view names its keys while it is shown; `?` lists those that work now.

import { untrack } from 'svelte';

export interface Key {
  /** As `KeyboardEvent.key` says it: `/`, `j`, `Enter`, `Escape`, `[`, ` `. */
  key: string;
  /** What it does, in the viewer's words. */
  about: string;
  run: (event: KeyboardEvent) => void;
  /** Also while somebody types: Escape. */
  whileTyping?: boolean;
}

let groups = $state.raw<{ title: string; keys: Key[] }[]>([]);

/** The keys that work now, the latest view's first. */
export function keys(): { title: string; keys: Key[] }[] {
  return groups;
}

/**
 * Names keys until the function that it returns is called: `$effect(() => bind('Calls', [...]))`. Those of everywhere are the
 * last, whenever they are named: a view may mean something else by one of them.
 */
export function bind(title: string, named: Key[], isEverywhere = false): () => void {
  const group = { title, keys: named };
  // An effect that names keys must not depend on the list of them.
  untrack(() => (groups = isEverywhere ? [...groups, group] : [group, ...groups]));
  return () => {
    groups = groups.filter((other) => other !== group);
  };
}

/** Listens. Called once. */
export function listen(): void {
  addEventListener('keydown', (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (document.querySelector('dialog[open]')) return;
    const typing = isTyping(event.target);
    for (const group of groups) {
      const key = group.keys.find((key) => key.key === event.key && (!typing || key.whileTyping));
      if (!key) continue;
      if (pressesControl(event)) return;
      event.preventDefault();
      key.run(event);
      return;
    }
  });
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return !['checkbox', 'radio', 'button', 'range'].includes(target.type);
  return target.isContentEditable || target.matches('textarea, select');
}

/** Enter and the space bar belong to the control that has the focus; to a link the space bar means nothing. */
function pressesControl(event: KeyboardEvent): boolean {
  if (event.key !== 'Enter' && event.key !== ' ') return false;
  const controls = 'button, summary, input, [role=tab]';
  return event.target instanceof HTMLElement && event.target.matches(event.key === ' ' ? controls : `a[href], ${controls}`);
}
