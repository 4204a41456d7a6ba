//! A seeded random generator: the same seed gives the same numbers on every machine.

/// xoshiro256++ of Blackman and Vigna ("Scrambled linear pseudorandom number generators", 2021), seeded by
/// SplitMix64.
///
/// Not for secrets. Written by hand because the numbers are part of what a seed promises: a dependency that
/// changed its generator would change every capture described by a command line.
#[derive(Clone, Debug)]
pub(crate) struct Rng([u64; 4]);

impl Rng {
    /// An independent generator for every `(seed, stream)`.
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        let mut state = mix(seed.wrapping_add(GOLDEN)) ^ stream;
        Self(std::array::from_fn(|_| {
            state = state.wrapping_add(GOLDEN);
            mix(state)
        }))
    }

    pub(crate) fn next_u64(&mut self) -> u64 {
        let [a, b, c, d] = &mut self.0;
        let result = a.wrapping_add(*d).rotate_left(23).wrapping_add(*a);
        let shifted = *b << 17;
        *c ^= *a;
        *d ^= *b;
        *b ^= *c;
        *a ^= *d;
        *c ^= shifted;
        *d = d.rotate_left(45);
        result
    }

    /// From 0 to `end - 1`; 0 where `end` is 0. The bias of the multiplication is below 2^-32 for any `end`
    /// used here.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(end)) >> 64) as u64
    }

    /// From `low` to `high`, both included.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// One of them. The list must not be empty.
    pub(crate) fn one_of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len() as u64) as usize]
    }

    /// From 0 to just below 1, in steps of 2^-53.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// True in this share of cases.
    pub(crate) fn chance(&mut self, share: f64) -> bool {
        // Always draws one number: changing one share leaves all other draws the same.
        self.unit() < share
    }

    /// Exponential with mean 1.
    pub(crate) fn exponential(&mut self) -> f64 {
        -libm::log(1.0 - self.unit())
    }

    /// Standard normal, by Marsaglia's polar method.
    pub(crate) fn normal(&mut self) -> f64 {
        loop {
            let (x, y) = (2.0 * self.unit() - 1.0, 2.0 * self.unit() - 1.0);
            let square = x * x + y * y;
            if square > 0.0 && square < 1.0 {
                // A square root is exact to the last bit everywhere (IEEE 754); a logarithm is not.
                return x * (-2.0 * libm::log(square) / square).sqrt();
            }
        }
    }

    /// Gamma with scale 1, by Marsaglia and Tsang ("A simple method for generating gamma variables", 2000).
    pub(crate) fn gamma(&mut self, shape: f64) -> f64 {
        if shape < 1.0 {
            let boost = libm::exp(-self.exponential() / shape);
            return self.gamma(shape + 1.0) * boost;
        }
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let x = self.normal();
            let v = 1.0 + c * x;
            let v = v * v * v;
            if v <= 0.0 {
                continue;
            }
            let u = 1.0 - self.unit();
            // Their squeeze: what it takes the test takes as well, and nine times in ten no logarithm is
            // needed.
            if u < 1.0 - 0.0331 * x * x * x * x || libm::log(u) < 0.5 * x * x + d - d * v + d * libm::log(v) {
                return d * v;
            }
        }
    }

    /// Inverse Gaussian, by Michael, Schucany and Haas (1976).
    pub(crate) fn inverse_gaussian(&mut self, mean: f64, shape: f64) -> f64 {
        let y = self.normal();
        let y = mean * y * y;
        let root = (y * (4.0 * shape + y)).sqrt();
        // x = mean + mean / (2 shape) * (y - root), without the cancellation of a small x.
        let x = mean * 2.0 * shape / (2.0 * shape + y + root);
        if self.unit() * (mean + x) <= mean { x } else { mean * mean / x }
    }
}

/// The finalizer of SplitMix64: every bit of the value changes half of the result's.
pub(crate) fn mix(value: u64) -> u64 {
    let value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ value >> 31
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: usize = 200_000;

    /// Mean and standard deviation of many draws.
    fn moments(mut draw: impl FnMut(&mut Rng) -> f64) -> (f64, f64) {
        let mut rng = Rng::new(7, 0);
        let values: Vec<f64> = (0..DRAWS).map(|_| draw(&mut rng)).collect();
        let mean = values.iter().sum::<f64>() / DRAWS as f64;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / DRAWS as f64;
        (mean, variance.sqrt())
    }

    fn near((mean, sd): (f64, f64), expected_mean: f64, expected_sd: f64) {
        assert!((mean / expected_mean - 1.0).abs() < 0.02, "mean {mean}, not {expected_mean}");
        assert!((sd / expected_sd - 1.0).abs() < 0.05, "deviation {sd}, not {expected_sd}");
    }

    /// The state 1, 2, 3, 4 and its first numbers, worked out from the published algorithm.
    #[test]
    fn the_published_sequence() {
        let mut rng = Rng([1, 2, 3, 4]);
        let first: [u64; 4] = std::array::from_fn(|_| rng.next_u64());
        assert_eq!(first, [41_943_041, 58_720_359, 3_588_806_011_781_223, 3_591_011_842_654_386]);
    }

    #[test]
    fn seeds_and_streams_differ() {
        let first = |seed, stream| Rng::new(seed, stream).next_u64();
        let numbers = [first(0, 0), first(0, 1), first(1, 0), first(1, 1)];
        for (index, number) in numbers.iter().enumerate() {
            assert!(!numbers[..index].contains(number));
        }
    }

    #[test]
    fn distributions_have_their_moments() {
        near(moments(|rng| rng.unit()), 0.5, (1.0_f64 / 12.0).sqrt());
        near(moments(Rng::exponential), 1.0, 1.0);
        near(moments(|rng| 10.0 + rng.normal()), 10.0, 1.0);
        near(moments(|rng| rng.gamma(4.0)), 4.0, 2.0);
        near(moments(|rng| rng.gamma(0.5)), 0.5, 0.5_f64.sqrt());
        // Deviation: sqrt(mean^3 / shape).
        near(moments(|rng| rng.inverse_gaussian(3.0, 27.0)), 3.0, 1.0);
        near(moments(|rng| rng.inverse_gaussian(2.0, 1.0)), 2.0, 8.0_f64.sqrt());
    }

    #[test]
    fn ranges_are_kept() {
        let mut rng = Rng::new(1, 1);
        let mut seen = [false; 5];
        for _ in 0..1000 {
            seen[rng.between(3, 7) as usize - 3] = true;
            assert_eq!(rng.below(1), 0);
            assert!((0.0..1.0).contains(&rng.unit()));
        }
        assert_eq!(seen, [true; 5]);
        assert!(!rng.chance(0.0) && rng.chance(1.0));
    }
}
