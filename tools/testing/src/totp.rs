//! An authenticator app: codes by RFC 6238, computed apart from those of the console.

use hmac::{Hmac, KeyInit, Mac};
use ringtap_model::Nanos;

/// The code that an app shows at that time for a secret in base32.
pub fn code(secret: &str, now: Nanos) -> String {
    let bits: String = secret
        .chars()
        .map(|letter| "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".find(letter).unwrap_or_default())
        .map(|value| format!("{value:05b}"))
        .collect();
    let key: Vec<u8> = bits
        .as_bytes()
        .chunks_exact(8)
        .map(|bits| bits.iter().fold(0, |byte, bit| byte << 1 | (bit - b'0')))
        .collect();
    let Ok(mut mac) = Hmac::<sha1::Sha1>::new_from_slice(&key) else { unreachable!("any length is right") };
    mac.update(&(now.0 / STEP.0).to_be_bytes());
    let hash = mac.finalize().into_bytes();
    let at = usize::from(hash[19] % 16);
    let number = hash[at..at + 4].iter().fold(0, |number: u64, byte| number << 8 | u64::from(*byte));
    format!("{:06}", number % (1 << 31) % 1_000_000)
}

/// The code of the step after this one, which is valid from now on for more than a minute: for tests that
/// ask something of a machine that may be slow.
pub fn lasting_code(secret: &str, now: Nanos) -> String {
    code(secret, now + STEP)
}

const STEP: Nanos = Nanos::from_secs(30);
