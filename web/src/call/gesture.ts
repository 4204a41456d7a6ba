// A click or a drag along a time axis.

/** Shorter drags are clicks of an unsteady hand. */
const CLICK = 6;

export interface Span {
  from: number;
  until: number;
}

export interface Gesture {
  /** While it is dragged, null when it is over; positions from the left edge of the element. */
  drag: (span: Span | null) => void;
  click: (x: number) => void;
  done: (span: Span) => void;
}

/** Follows the pointer that was pressed in `event`. */
export function follow(event: PointerEvent, { drag, click, done }: Gesture): void {
  if (event.button !== 0 || !(event.currentTarget instanceof Element)) return;
  const box = event.currentTarget;
  const left = box.getBoundingClientRect().left;
  const start = event.clientX - left;
  const ended = new AbortController();
  const spanTo = (x: number): Span => ({ from: Math.min(start, x - left), until: Math.max(start, x - left) });
  let span: Span | null = null;
  const on = (name: string, run: (next: PointerEvent) => void) =>
    box.addEventListener(name, (next) => next instanceof PointerEvent && run(next), { signal: ended.signal });
  const end = () => {
    ended.abort();
    drag(null);
  };
  on('pointermove', (next) => {
    span = spanTo(next.clientX);
    if (span.until - span.from <= CLICK) span = null;
    drag(span);
  });
  on('pointerup', () => {
    end();
    if (span) done(span);
    else click(start);
  });
  on('pointercancel', end);
  box.setPointerCapture(event.pointerId);
}
