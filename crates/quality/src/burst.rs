//! How bursty packet loss is.

/// BurstR of G.107 section 7.5: the mean length of the observed loss runs, over the mean length of runs if
/// the same loss were random.
///
/// Random loss of probability p has runs of mean length 1 / (1 - p): BurstR = (lost / bursts) (1 - p), p =
/// lost / expected. 1 is random, above is bursty. Values below 1 are possible: losses are then spread more
/// evenly than at random. G.107 table 3 permits 1 to 8: see [`for_model`].
///
/// `None` without loss, or with impossible counts (no run, more runs than losses, nothing received: with p =
/// 1 the random run has no end).
pub fn burst_ratio(lost: u64, expected: u64, bursts: u64) -> Option<f64> {
    if bursts == 0 || bursts > lost || lost >= expected {
        return None;
    }
    let p = lost as f64 / expected as f64;
    Some(lost as f64 / bursts as f64 * (1.0 - p))
}

/// The burst ratio for the E-model: clamped to the 1 to 8 of G.107 table 3, and random (1) if unknown.
///
/// Loss more even than random is rated as random: the model was not fitted there and would rate it better
/// than any test did.
pub fn for_model(ratio: Option<f64>) -> f64 {
    crate::bounded(ratio.unwrap_or(1.0), 1.0, 1.0, 8.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        assert_eq!(burst_ratio(0, 100, 0), None);
        assert_eq!(burst_ratio(100, 100, 1), None);
        assert_eq!(burst_ratio(1, 100, 2), None);
        assert_eq!(burst_ratio(10, 100, 10), Some(0.9));
        assert_eq!(burst_ratio(10, 100, 2), Some(4.5));
        assert_eq!(for_model(Some(0.9)), 1.0);
        assert_eq!(for_model(Some(40.0)), 8.0);
        assert_eq!(for_model(Some(f64::NAN)), 1.0);
    }

    /// A seeded coin loses packets at random: the ratio is near 1. A two-state chain (G.107 equation 7-30:
    /// BurstR = 1 / (p + q)) with p 0.02, q 0.48 is near 2.
    #[test]
    fn random_and_markov() {
        let mut state = 0x9E37_79B9_7F4A_7C15_u64;
        let mut uniform = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        for (enter, stay, expected) in [(0.05, 0.05, 1.0), (0.02, 0.52, 2.0)] {
            let (mut lost, mut bursts, mut losing) = (0, 0, false);
            for _ in 0..200_000 {
                let next = uniform() < if losing { stay } else { enter };
                lost += u64::from(next);
                bursts += u64::from(next && !losing);
                losing = next;
            }
            let ratio = burst_ratio(lost, 200_000, bursts).unwrap();
            assert!((ratio - expected).abs() < 0.05, "{ratio}");
        }
    }
}
