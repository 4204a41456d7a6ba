// How much an alarm matters, in a shape and a colour.

export const SHAPES: Record<string, string> = { critical: '◆', warning: '▲', info: '●' };

export function colour(severity: string): string {
  return severity === 'critical' ? 'poor' : severity === 'warning' ? 'fair' : 'soft';
}
