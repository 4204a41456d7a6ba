//! Telephone events as tones (RFC 4733 section 3.2, ITU-T Q.23).

use std::f64::consts::TAU;

use crate::track::{SideInfo, SilentPacket};

/// One event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Tone {
    /// In ticks of the RTP clock.
    pub(super) start: i64,
    pub(super) ticks: i64,
    low: f64,
    high: f64,
    /// Amplitude of each of the two sines.
    amplitude: f64,
}

/// The tones in the packets of a track. The packets of an event share a timestamp; the longest duration is
/// the final one.
pub(super) fn tones(silent: &[SilentPacket]) -> Vec<Tone> {
    let mut tones: Vec<Tone> = Vec::new();
    for other in silent {
        let SideInfo::Event { event, volume, ticks } = other.info else { continue };
        let Some((low, high)) = frequencies(event) else { continue };
        let ticks = i64::from(ticks);
        match tones.last_mut() {
            Some(last) if last.start == other.start => last.ticks = last.ticks.max(ticks),
            _ => {
                // Volume is the power in -dBm0 (section 2.3.5); 0 dBm0 is 3.17 dB below the largest sine of
                // mu-law.
                let amplitude = 32_768.0 * 10_f64.powf(-(f64::from(volume) + 3.17) / 20.0) / 2_f64.sqrt();
                tones.push(Tone { start: other.start, ticks, low, high, amplitude });
            }
        }
    }
    tones
}

/// Events 0 to 15 are the digits, *, # and A to D.
fn frequencies(event: u8) -> Option<(f64, f64)> {
    let (row, column) = match event {
        1..=9 => ((event - 1) / 3, (event - 1) % 3),
        10 => (3, 0),
        0 => (3, 1),
        11 => (3, 2),
        12..=15 => (event - 12, 3),
        _ => return None,
    };
    Some((LOW[usize::from(row)], HIGH[usize::from(column)]))
}

impl Tone {
    /// Adds the tone's sample at `seconds` after its start.
    pub(super) fn add(&self, seconds: f64, sample: &mut i16) {
        let value = (TAU * self.low * seconds).sin() + (TAU * self.high * seconds).sin();
        *sample = (f64::from(*sample) + value * self.amplitude) as i16;
    }
}

const LOW: [f64; 4] = [697.0, 770.0, 852.0, 941.0];
const HIGH: [f64; 4] = [1_209.0, 1_336.0, 1_477.0, 1_633.0];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_keypad() {
        assert_eq!(frequencies(5), Some((770.0, 1_336.0)));
        assert_eq!(frequencies(0), Some((941.0, 1_336.0)));
        assert_eq!(frequencies(10), Some((941.0, 1_209.0)));
        assert_eq!(frequencies(15), Some((941.0, 1_633.0)));
        assert_eq!(frequencies(16), None, "flash hook");
    }

    #[test]
    fn packets_of_one_event_are_one_tone() {
        let packet = |start, ticks| SilentPacket {
            start,
            sequence: 0,
            run: 0,
            info: SideInfo::Event { event: 1, volume: 10, ticks },
        };
        let found = tones(&[packet(0, 160), packet(0, 320), packet(0, 320), packet(800, 80)]);
        let spans: Vec<(i64, i64)> = found.iter().map(|tone| (tone.start, tone.ticks)).collect();
        assert_eq!(spans, [(0, 320), (800, 80)]);
    }
}
