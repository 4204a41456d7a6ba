//! Concealment of lost packets: the pitch continues from both sides.
//!
//! G.711 appendix I repeats the last pitch period and fades it: a telephone does not know what comes next. A
//! recording does. So the sound before the gap is extended forward, the sound after it backward, each with a
//! pitch that matches the other side in phase, and both are cross-faded. Received samples are never changed.

/// Fills `gap`, in place, from the samples on both sides of it; either may be empty. `rate` is in samples a
/// second.
pub(super) fn conceal(past: &[i16], future: &[i16], gap: &mut [i16], rate: u32) {
    gap.fill(0);
    let stride = (rate as usize / 8_000).max(1);
    let past: Vec<f32> = last(past, CONTEXT * stride).iter().map(|sample| f32::from(*sample)).collect();
    let mut future: Vec<f32> =
        future.iter().take(CONTEXT * stride).map(|sample| f32::from(*sample)).collect();
    future.reverse();
    let total = gap.len();
    let periods = [period(&past, stride), period(&future, stride)];
    let near = total <= NEAR * stride;
    let count = if near { total } else { REACH * stride };
    let both = near && periods.iter().all(Option::is_some);
    let side = |signal: &[f32], other: &[f32], own: Option<usize>, beyond: Option<usize>| {
        let Some(own) = own else { return Vec::new() };
        // The other side in the same direction; ignored if it is too far away.
        let end: Vec<f32> =
            other.iter().rev().take(if both { MATCHED * stride } else { 0 }).copied().collect();
        extended(signal, own, count, &end, beyond.unwrap_or(own), stride)
    };
    let forward = side(&past, &future, periods[0], periods[1]);
    let backward = side(&future, &past, periods[1], periods[0]);
    for (at, sample) in gap.iter_mut().enumerate() {
        let behind = total - 1 - at;
        let before = forward.get(at).copied().unwrap_or(0.0);
        let after = backward.get(behind).copied().unwrap_or(0.0);
        // Where both reach, each is weighted by its distance.
        let weight = match (forward.is_empty(), backward.is_empty()) {
            (false, false) if near => (at as f32 + 0.5) / total as f32,
            (false, false) => {
                *sample = (before + after) as i16;
                continue;
            }
            (true, _) => 1.0,
            (_, true) => 0.0,
        };
        *sample = (before * (1.0 - weight) + after * weight) as i16;
    }
}

/// Full volume for 10 ms, then a fifth less every 10 ms (appendix I.2.7).
fn fade(at: usize, stride: usize) -> f32 {
    let tens = at as f32 / (80 * stride) as f32;
    (1.0 - 0.2 * (tens - 1.0).max(0.0)).max(0.0)
}

fn last(samples: &[i16], count: usize) -> &[i16] {
    &samples[samples.len().saturating_sub(count)..]
}

/// Extends `signal` by `count` samples with its last period, so that it meets the `end` on the other side,
/// whose period is `beyond`.
fn extended(
    signal: &[f32],
    period: usize,
    count: usize,
    end: &[f32],
    beyond: usize,
    stride: usize,
) -> Vec<f32> {
    let from = signal.len() - period;
    // The step between the last sample and its repetition is spread over a quarter of the period.
    let (last, begin) = (signal[signal.len() - 1], signal.get(from.wrapping_sub(1)).copied());
    let step = begin.map_or(0.0, |begin| last - begin);
    let quarter = (period / 4).max(1);
    let met = glide(&signal[from..], count, end, beyond);
    // If both sides agree, the sound lasted all along; if only one side has it, it is less and less likely.
    let fades = met.is_none();
    let mut out = met.unwrap_or_else(|| signal[from..].iter().cycle().take(count).copied().collect());
    for (at, value) in out.iter_mut().take(quarter).enumerate() {
        *value += step * (1.0 - (at + 1) as f32 / quarter as f32);
    }
    // Repeated noise buzzes: the less periodic the sound, the softer the extension.
    let gain = 0.3 + 0.7 * repetition(signal, period, stride);
    for (at, value) in out.iter_mut().enumerate() {
        *value *= if fades { gain * fade(at, stride) } else { gain };
    }
    out
}

/// Repeats `cycle` for `count` samples. A voice whose pitch changes in the gap would be out of phase at the
/// other end, so the period glides to that of the other side, and further as needed to meet the `end`.
fn glide(cycle: &[f32], count: usize, end: &[f32], beyond: usize) -> Option<Vec<f32>> {
    let at = |place: f32| {
        let whole = place.max(0.0) as usize;
        let part = place - whole as f32;
        cycle[whole % cycle.len()] * (1.0 - part) + cycle[(whole + 1) % cycle.len()] * part
    };
    // Half or double is the same pitch; a larger difference is not a glide.
    let ratio = cycle.len() as f32 / beyond as f32;
    let glide = [0.5, 1.0, 2.0].map(|times| ratio * times - 1.0);
    let glide = glide.into_iter().find(|glide| glide.abs() < GLIDE).unwrap_or(0.0);
    let whole = count as f32;
    let target = whole + glide * whole / 2.0;
    let energy = end.iter().map(|value| value * value).sum::<f32>();
    let likeness = |shift: i32| {
        let (mut product, mut own) = (0.0, 1.0);
        for (index, value) in end.iter().enumerate() {
            let repeated = at(target + shift as f32 + index as f32 * (1.0 + glide));
            product += repeated * value;
            own += repeated * repeated;
        }
        product / (own * energy.max(1.0)).sqrt()
    };
    let most = (cycle.len() / 2).min(count / 6) as i32;
    let best = (-most..=most)
        .map(|shift| (likeness(shift), shift))
        .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.abs().cmp(&a.1.abs())));
    let (_, shift) = best.filter(|(likeness, _)| *likeness > MIN_LIKENESS)?;
    let place = |index: f32| index + glide * index * index / (2.0 * whole) + shift as f32 * index / whole;
    Some((0..count).map(|index| at(place(index as f32))).collect())
}

/// Similarity of the last 10 ms to those one period before, 0 to 1.
fn repetition(signal: &[f32], period: usize, stride: usize) -> f32 {
    let count = (COMPARED * stride).min(signal.len() - period);
    let from = signal.len() - count;
    let (mut product, mut one, mut other) = (0.0, 1.0, 1.0);
    for at in from..signal.len() {
        product += signal[at] * signal[at - period];
        one += signal[at] * signal[at];
        other += signal[at - period] * signal[at - period];
    }
    (product / (one * other).sqrt()).max(0.0)
}

/// The lag at which the end of the signal is most like what was before it, 2.5 to 20 ms. Appendix I.2.2
/// compares 20 ms, to find the pitch of a voice; at the edge of a gap, the nearest 5 ms are a better guide.
fn period(signal: &[f32], stride: usize) -> Option<usize> {
    let likeness = |lag: usize, step: usize| {
        let window = (WINDOW * stride).min(signal.len() - lag);
        let from = signal.len() - window;
        let (mut product, mut energy) = (0.0, 1.0);
        for at in (from..signal.len()).step_by(step) {
            product += signal[at] * signal[at - lag];
            energy += signal[at - lag] * signal[at - lag];
        }
        product / energy.sqrt()
    };
    let longest = (LONGEST * stride).min(signal.len().saturating_sub(SHORTEST * stride));
    let shortest = SHORTEST * stride;
    if longest < shortest {
        return None;
    }
    let best = |lags: &mut dyn Iterator<Item = usize>, step: usize| {
        lags.map(|lag| (likeness(lag, step), lag)).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, lag)| lag)
    };
    // At high rates search coarsely first: the pitch lies below 4 kHz.
    let rough = best(&mut (shortest..=longest).step_by(stride), stride)?;
    if stride == 1 {
        return Some(rough);
    }
    best(&mut (rough.saturating_sub(stride).max(shortest)..=(rough + stride).min(longest)), stride)
}

// At 8000 samples a second.
const SHORTEST: usize = 20;
const LONGEST: usize = 160;
/// 5 ms are compared to find the period, 10 ms to judge it.
const WINDOW: usize = 40;
const COMPARED: usize = 80;
/// Samples on the other side to match, and the minimum likeness.
const MATCHED: usize = 80;
const MIN_LIKENESS: f32 = 0.5;
/// Largest glide of the pitch in a gap.
const GLIDE: f32 = 0.25;
/// Samples used on each side.
pub(super) const CONTEXT: usize = COMPARED + LONGEST;
/// A gap up to this length is one sound if both sides agree.
const NEAR: usize = 800;
/// The extension has faded after 60 ms.
const REACH: usize = 480;

#[cfg(test)]
mod tests {
    use super::*;

    fn sine(count: usize, period: f32) -> Vec<i16> {
        (0..count).map(|at| ((at as f32 * std::f32::consts::TAU / period).sin() * 8_000.0) as i16).collect()
    }

    #[test]
    fn a_tone_goes_on() {
        for (rate, period) in [(8_000, 53.0), (16_000, 90.0), (48_000, 300.0)] {
            let stride = rate as usize / 8_000;
            let all = sine(1_000 * stride, period);
            let hole = 400 * stride..560 * stride;
            let mut gap = vec![0; hole.len()];
            conceal(&all[..hole.start], &all[hole.end..], &mut gap, rate);
            let worst = gap.iter().zip(&all[hole]).map(|(a, b)| (i32::from(*a) - i32::from(*b)).abs()).max();
            assert!(worst < Some(1_800), "{rate}: {worst:?}");
        }
    }

    #[test]
    fn a_long_gap_fades_and_rises() {
        let all = sine(400, 50.0);
        let mut gap = vec![1; 4_000];
        conceal(&all, &all, &mut gap, 8_000);
        assert!(gap[480..3_520].iter().all(|sample| *sample == 0));
        assert!(
            gap[..80].iter().any(|sample| *sample > 7_000)
                && gap[3_900..].iter().any(|sample| *sample > 7_000)
        );
    }

    #[test]
    fn nothing_on_a_side() {
        let all = sine(400, 50.0);
        for (past, future) in [(&all[..], &[][..]), (&[][..], &all[..]), (&all[..3], &[]), (&[], &[])] {
            for length in [0, 1, 160, 1_000] {
                conceal(past, future, &mut vec![7; length], 8_000);
            }
        }
        let mut gap = [9; 160];
        conceal(&[], &[], &mut gap, 8_000);
        assert_eq!(gap, [0; 160]);
    }
}
