//! The engine's configuration where no file has one.

use std::hash::{BuildHasher, RandomState};

use ringtap_capture::host;
use ringtap_engine::Config;

/// The engine's configuration for files and for `live`. Senders must not be able to predict which keys share
/// a slot of a table, in files neither.
pub(crate) fn engine_config() -> Config {
    let seed = RandomState::new().hash_one("ringtap");
    Config { seed, memory: host::quarter_of_memory(), ..Config::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_run_hashes_with_a_seed_of_its_own_and_has_a_bound_for_memory() {
        let [one, other] = [engine_config(), engine_config()];
        assert_ne!(one.seed, other.seed);
        assert!(one.memory >= 1 << 20);
    }
}
