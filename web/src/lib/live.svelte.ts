// What happens now, as the server tells it every second. Closed while the page is not in sight.

import { apiUrl } from './api';
import { present } from './session.svelte';
import type { LiveNow } from './types';

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
