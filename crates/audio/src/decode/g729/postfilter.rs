//! The postfilter (section 4.2, simplified by annex A): raises pitch and formants above the coding noise.

use super::arithmetic::{add, faded, part};
use super::excitation::{LONGEST, SUBFRAME};
use super::spectrum::Filter;

/// The state of the filters.
#[derive(Clone, Debug)]
pub(super) struct Postfilter {
    /// The residual: [`LONGEST`] samples of the past, then those of the subframe.
    residual: [f32; LONGEST + SUBFRAME],
    /// Before the tilt, the last sample.
    tilt: f32,
    synthesis: [f32; 10],
    gain: f32,
    /// Of the high-pass: two inputs and two outputs, the last first.
    input: [f32; 2],
    output: [f32; 2],
}

impl Postfilter {
    pub(super) fn new() -> Self {
        Self {
            residual: [0.0; LONGEST + SUBFRAME],
            tilt: 0.0,
            synthesis: [0.0; 10],
            gain: 1.0,
            input: [0.0; 2],
            output: [0.0; 2],
        }
    }

    /// Appends a subframe. `speech` is ten samples of the past and then the subframe; without a `delay`, in
    /// comfort noise, the pitch is left as it is. Returns whether it is periodic: one pitch period back
    /// predicts it by more than 3 dB.
    pub(super) fn run(
        &mut self,
        speech: &[f32; 10 + SUBFRAME],
        filter: &Filter,
        delay: Option<usize>,
        out: &mut Vec<i16>,
    ) -> bool {
        let (zeros, poles) = (weighted(filter, 0.55), weighted(filter, 0.7));
        for (window, to) in windows(speech).zip(self.residual[LONGEST..].chunks_exact_mut(8)) {
            let mut sum = *part::<8>(window, 10);
            for (at, zero) in zeros.iter().enumerate() {
                add(&mut sum, *zero, part(window, 9 - at));
            }
            to.copy_from_slice(&sum);
        }
        let (raised, periodic) = delay.map_or_else(|| (self.current(), false), |delay| self.pitch(delay));
        self.residual.copy_within(SUBFRAME.., 0);

        let tilt = tilt(&zeros, &poles);
        let mut line = [0.0; 10 + SUBFRAME];
        line[..10].copy_from_slice(&self.synthesis);
        line[10] = raised[0] - tilt * self.tilt;
        for (to, pair) in line[11..].iter_mut().zip(raised.windows(2)) {
            *to = pair[1] - tilt * pair[0];
        }
        self.tilt = raised[SUBFRAME - 1];
        synthesize(&poles, &mut line);
        self.synthesis.copy_from_slice(&line[SUBFRAME..]);
        self.synthesis = self.synthesis.map(faded);
        let mut filtered = *part(&line, 10);
        self.level(part(speech, 10), &mut filtered);
        self.high_pass(&filtered, out);
        periodic
    }

    fn current(&self) -> [f32; SUBFRAME] {
        *part(&self.residual, LONGEST)
    }

    /// A.4.2.1: the residual and what it was a period before.
    fn pitch(&self, delay: usize) -> ([f32; SUBFRAME], bool) {
        let current = self.current();
        let longest = (delay + 3).min(LONGEST);
        let before = |delay: usize| part::<SUBFRAME>(&self.residual, LONGEST - delay);
        let (mut most, mut best) = (f32::MIN, longest);
        for delay in longest - 6..=longest {
            let found = dot(&current, before(delay));
            if found > most {
                (most, best) = (found, delay);
            }
        }
        let before = before(best);
        let (energy, own) = (dot(before, before), dot(&current, &current));
        if most <= 0.0 || most * most < 0.5 * energy * own {
            return (current, false);
        }
        let share = if most > energy { 1.0 / 3.0 } else { 0.5 * most / (energy + 0.5 * most) };
        (std::array::from_fn(|at| current[at] * (1.0 - share) + before[at] * share), true)
    }

    /// A.4.2.4: as loud as it was.
    fn level(&mut self, before: &[f32; SUBFRAME], after: &mut [f32; SUBFRAME]) {
        let (wanted, found) = (dot(before, before), dot(after, after));
        // Avoid dividing by nearly nothing.
        if found < 1e-6 {
            self.gain = 0.0;
            return;
        }
        // g = 0.9 g + 0.1 target, sample by sample: what it was fades into the target.
        let target = (wanted / found).sqrt();
        let apart = self.gain - target;
        for (sample, fading) in after.iter_mut().zip(&FADING) {
            *sample *= target + apart * fading;
        }
        self.gain = target + apart * FADING[SUBFRAME - 1];
    }

    /// Section 4.2.5, and twice as loud: the encoder halves what it is given.
    fn high_pass(&mut self, samples: &[f32; SUBFRAME], out: &mut Vec<i16>) {
        let [mut x1, mut x2] = self.input;
        let [mut y1, mut y2] = self.output;
        out.extend(samples.iter().map(|x| {
            // What came last is added last.
            let y = (0.939_805_8 * (x - 2.0 * x1 + x2) - 0.935_892 * y2) + 1.933_073_5 * y1;
            (x2, x1, y2, y1) = (x1, *x, y1, y);
            (2.0 * y + 0.5_f32.copysign(y)) as i16
        }));
        (self.input, self.output) = ([x1, x2].map(faded), [y1, y2].map(faded));
    }
}

/// A(z / g): the coefficients times powers of it.
fn weighted(filter: &Filter, g: f32) -> Filter {
    let mut power = 1.0;
    filter.map(|coefficient| {
        power *= g;
        coefficient * power
    })
}

/// A.4.2.3: how far the formant filter falls, by the first 22 samples of its response; only falling is made
/// up for.
fn tilt(zeros: &Filter, poles: &Filter) -> f32 {
    // Nothing before it, and 24, for the filter makes eight at a time.
    let mut line = [0.0; 10 + 24];
    line[10] = 1.0;
    line[11..21].copy_from_slice(zeros);
    synthesize(poles, &mut line);
    let response = part::<22>(&line, 10);
    let product = dot::<21>(part(response, 0), part(response, 1));
    0.8 * (product / dot(response, response)).max(0.0)
}

/// 1 / A(z), in place: ten samples that went before, then a multiple of eight to be filtered.
///
/// Each sample depends on the previous one, which would dominate the decoding time. So eight are computed at
/// once: first the contribution of the ten samples before them, then that of each input, which is the
/// filter's impulse response.
pub(super) fn synthesize(filter: &Filter, line: &mut [f32]) {
    let mut back = [0.0; 18];
    for (to, coefficient) in back.iter_mut().zip(filter) {
        *to = -coefficient;
    }
    let mut response = [0.0; 16];
    response[8] = 1.0;
    for at in 9..16 {
        response[at] = (8..at).map(|from| back[at - 1 - from] * response[from]).sum();
    }
    let rows: [[f32; 8]; 8] = std::array::from_fn(|at| *part(&response, 8 - at));
    for from in (10..line.len().saturating_sub(7)).step_by(8) {
        let Some(window) = line[from - 10..].first_chunk_mut::<18>() else { return };
        let mut input: [f32; 8] = *part(window, 10);
        // The last sample is there last.
        for (at, value) in window[..10].iter().enumerate() {
            add(&mut input, *value, part(&back, 9 - at));
        }
        let mut output = [0.0; 8];
        for (value, row) in input.iter().zip(&rows) {
            add(&mut output, *value, row);
        }
        window[10..].copy_from_slice(&output);
    }
}

/// Windows of eighteen, eight apart: eight samples and the ten before them.
fn windows(line: &[f32; 10 + SUBFRAME]) -> impl Iterator<Item = &[f32; 18]> {
    (0..SUBFRAME).step_by(8).map(|from| part(line, from))
}

/// In eight lanes, as processors add.
fn dot<const N: usize>(one: &[f32; N], other: &[f32; N]) -> f32 {
    let ((ones, one), (others, other)) = (one.as_chunks::<8>(), other.as_chunks::<8>());
    let mut lanes = [0.0_f32; 8];
    for (a, b) in ones.iter().zip(others) {
        for ((lane, a), b) in lanes.iter_mut().zip(a).zip(b) {
            *lane += a * b;
        }
    }
    one.iter().zip(other).fold(lanes.iter().sum(), |sum, (a, b)| sum + a * b)
}

/// Powers of 0.9 from the first on.
const FADING: [f32; SUBFRAME] = {
    let (mut out, mut power, mut at) = ([0.0; SUBFRAME], 1.0_f64, 0);
    while at < SUBFRAME {
        power *= 0.9;
        out[at] = power as f32;
        at += 1;
    }
    out
};
