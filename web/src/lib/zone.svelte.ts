// The zone in which times are shown: the viewer's, or UTC.

const STORED = 'ringtap.zone';

class Zone {
  utc = $state(stored() === 'utc');
  /** Name for `Intl`. */
  name = $derived(this.utc ? 'UTC' : own());

  toggle(): void {
    this.utc = !this.utc;
    try {
      localStorage.setItem(STORED, this.utc ? 'utc' : 'local');
    } catch {
      // A browser that stores nothing shows the viewer's zone next time.
    }
  }
}

export const zone = new Zone();

function own(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC';
}

function stored(): string | null {
  try {
    return localStorage.getItem(STORED);
  } catch {
    return null;
  }
}
