//! Drift of the sender's clock against the capture's.

use crate::track::PlacedPayload;

/// Maps the sender's time to the capture's.
#[derive(Clone, Copy, Debug)]
pub(super) struct DriftCorrection {
    origin: i64,
    /// Relative slowness of the sender's clock; 0 if unknown.
    slope: f64,
}

impl DriftCorrection {
    /// None.
    pub(super) fn none() -> Self {
        Self { origin: 0, slope: 0.0 }
    }

    /// Estimates the drift from the delays of a track's packets. In each ten seconds the least delayed packet
    /// gives the clock difference. Only a straight line is drift: a route change is a step, and a bad network
    /// scatters; both are ignored.
    pub(super) fn of(entries: &[PlacedPayload], clock: u64) -> Self {
        let [first, .., last] = entries else { return Self::none() };
        let window = 10 * clock as i64;
        if first.run != last.run || last.start - first.start < MIN_WINDOWS * window {
            return Self::none();
        }
        let mut least: Vec<(f64, f64)> = Vec::new();
        let mut open = i64::MIN;
        for entry in entries {
            let number = (entry.start - first.start) / window;
            let point = ((entry.start - first.start) as f64, f64::from(entry.delay));
            match least.last_mut() {
                Some(last) if number == open => {
                    if point.1 < last.1 {
                        *last = point;
                    }
                }
                _ => {
                    open = number;
                    least.push(point);
                }
            }
        }
        let Some((slope, scatter)) = line(&least) else { return Self::none() };
        let total = (slope * (last.start - first.start) as f64).abs();
        let audible = total >= clock as f64 * AUDIBLE;
        if least.len() < MIN_WINDOWS as usize || !audible || slope.abs() > MAX_DRIFT || scatter > total / 10.0
        {
            return Self::none();
        }
        Self { origin: first.start, slope }
    }

    /// Converts a position to capture time.
    pub(super) fn place(&self, ticks: i64) -> i64 {
        if self.slope == 0.0 {
            ticks
        } else {
            ticks + ((ticks - self.origin) as f64 * self.slope).round() as i64
        }
    }

    /// In millionths; positive where the sender is slow.
    pub(super) fn ppm(&self) -> f64 {
        self.slope * 1e6
    }
}

/// Slope of the least-squares line, and the root mean square of the residuals.
fn line(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let variance: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
    if points.len() < 2 || variance == 0.0 {
        return None;
    }
    let slope = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum::<f64>() / variance;
    let left: f64 = points.iter().map(|point| (point.1 - y - slope * (point.0 - x)).powi(2)).sum();
    Some((slope, (left / count).sqrt()))
}

/// A minute.
const MIN_WINDOWS: i64 = 6;
/// Seconds: a smaller drift is inaudible.
const AUDIBLE: f64 = 0.02;
/// Clocks of telephones differ by less than 0.1 %.
const MAX_DRIFT: f64 = 1e-3;
