// Work that can wait until the browser has nothing else to do.

/** Time for what is in sight to be drawn. */
const DRAWN_MS = 250;
const LATEST_MS = 5000;

/** Calls `action` when the browser is idle, or after some seconds. Returns what cancels it: `$effect(() => whenIdle(action))`. */
export function whenIdle(action: () => void): () => void {
  // Safari has no requestIdleCallback.
  if (typeof requestIdleCallback === 'undefined') {
    const timer = setTimeout(action, DRAWN_MS);
    return () => clearTimeout(timer);
  }
  const request = requestIdleCallback(action, { timeout: LATEST_MS });
  return () => cancelIdleCallback(request);
}

/** The same for elements that are not in sight: the first idle moment may come before the frame with those in sight. */
export function whenDrawn(action: () => void): () => void {
  let end = () => {};
  const timer = setTimeout(() => (end = whenIdle(action)), DRAWN_MS);
  return () => {
    clearTimeout(timer);
    end();
  };
}
