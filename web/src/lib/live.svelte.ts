// What happens now, as the server tells it every second. Closed while the page is not in sight.

import { apiUrl } from './api';
import { present } from './session.svelte';
import type { LiveState } from './types';

/** An event of `/live`, with the parts that the OpenAPI document leaves open as the daemon's control socket writes them. */
export interface LiveNow extends Omit<LiveState, 'workers' | 'store' | 'spool'> {
  workers?: { source: string; packets: number; ring_pct: number; cpu_ms: number; ended: boolean; silent_ms: number }[] | null;
  store?: { ok: boolean; written: number; waiting: number; outbox: number; dropped: number } | null;
  spool?: LiveSpool | null;
}

interface LiveSpool {
  ok: boolean;
  bytes: number;
  far_bytes: number;
  free_pct: number | null;
  far_lost: boolean;
  failures: number;
  held: number;
}

export class Live {
  now = $state.raw<LiveNow | null>(null);
  /** The connection was lost and is being made again. */
  isLost = $state(false);
  /** The server has no such events: 404, or it may not be seen. */
  isRefused = $state(false);
  private source: EventSource | null = null;

  /** Listens until the function that it returns is called. */
  listen(): () => void {
    const seen = () => (document.visibilityState === 'visible' ? this.open() : this.close());
    document.addEventListener('visibilitychange', seen);
    seen();
    return () => {
      document.removeEventListener('visibilitychange', seen);
      this.close();
    };
  }

  private open(): void {
    if (this.source) return;
    const source = new EventSource(apiUrl('/live'));
    this.source = source;
    source.addEventListener('now', (event) => {
      this.now = JSON.parse((event as MessageEvent<string>).data) as LiveNow;
      this.isLost = false;
      this.isRefused = false;
    });
    source.addEventListener('error', () => {
      this.isLost = true;
      if (source.readyState !== EventSource.CLOSED) return;
      // An answer other than 200 ends it for good: without a session the page of the log-in appears.
      this.source = null;
      this.isRefused = true;
      void present.begin();
    });
  }

  private close(): void {
    this.source?.close();
    this.source = null;
  }
}
