//! Codes of an authenticator app: TOTP (RFC 6238) with SHA-1, 6 digits and steps of 30 s, which every app
//! knows.

use hmac::{Hmac, KeyInit, Mac};
use ringtap_model::Nanos;
use sha1::Sha1;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use crate::error::Error;
use crate::people::qr;
use crate::random::random;

/// The secret that a person's app shares, 160 bits (RFC 4226 section 4, R6).
pub(crate) type Secret = Zeroizing<[u8; 20]>;

/// A secret as it is shown once.
#[derive(Clone, Debug)]
pub struct TotpSecret {
    /// In base32, to be typed.
    pub secret: Zeroizing<String>,
    /// As `otpauth://` URI, which apps read from a QR code.
    pub uri: Zeroizing<String>,
}

impl TotpSecret {
    pub(crate) fn new(secret: &Secret, name: &str) -> Self {
        let text = Zeroizing::new(base32(&secret[..]));
        // A name has no characters that a URI does not, but for `@`, which it may have in a path.
        let uri = format!("otpauth://totp/ringtap:{name}?secret={}&issuer=ringtap", *text);
        Self { secret: text, uri: Zeroizing::new(uri) }
    }

    /// The URI as a QR code, an SVG image.
    pub fn qr_svg(&self) -> Zeroizing<String> {
        qr::svg(&self.uri)
    }

    /// The URI as a QR code, for a terminal of some 60 columns that knows colours.
    pub fn qr_lines(&self) -> Zeroizing<String> {
        qr::lines(&self.uri)
    }
}

pub(crate) fn generate() -> Result<Secret, Error> {
    random()
}

/// The step of a code that is valid now; none if it is wrong, or its step is not after `last`, the step of
/// the newest code that was accepted (section 5.2: a code is accepted once). One step before and one after
/// the present one are valid, for clocks that differ (section 6).
pub(crate) fn accepted(secret: &Secret, code: &str, last: u64, now: Nanos) -> Option<u64> {
    let code: String = code.chars().filter(|letter| *letter != ' ').collect();
    let present = now.0 / STEP.0;
    // All are computed, whichever it is.
    let steps = [present.saturating_sub(1), present, present + 1];
    let fitting = steps.map(|step| {
        let expected = format!("{:06}", truncated(&secret[..], step) % 1_000_000);
        bool::from(expected.as_bytes().ct_eq(code.as_bytes()))
    });
    let found = steps.into_iter().zip(fitting).filter(|(step, fits)| *fits && *step > last);
    found.map(|(step, _)| step).next()
}

/// HOTP before it is shortened to digits (RFC 4226 section 5.3).
fn truncated(secret: &[u8], counter: u64) -> u32 {
    // HMAC has keys of any length.
    let Ok(mut mac) = Hmac::<Sha1>::new_from_slice(secret) else { unreachable!("any length is right") };
    mac.update(&counter.to_be_bytes());
    let hash: [u8; 20] = mac.finalize().into_bytes().into();
    let offset = usize::from(hash[19] & 0xf);
    let mut four = [0; 4];
    four.copy_from_slice(&hash[offset..offset + 4]);
    u32::from_be_bytes(four) & 0x7fff_ffff
}

/// RFC 4648 section 6, without padding: 20 bytes need none.
fn base32(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let bit = |at: usize| bytes.get(at / 8).is_some_and(|byte| byte >> (7 - at % 8) & 1 == 1);
    let letter = |at: usize| (0..5).fold(0, |value, i| value << 1 | usize::from(bit(at * 5 + i)));
    (0..(bytes.len() * 8).div_ceil(5)).map(|at| char::from(LETTERS[letter(at)])).collect()
}

const STEP: Nanos = Nanos::from_secs(30);

#[cfg(test)]
mod tests {
    use super::*;

    const RFC: &[u8; 20] = b"12345678901234567890";

    /// RFC 6238 appendix B, the rows of SHA-1: 8 digits there.
    #[test]
    fn the_vectors_of_rfc_6238() {
        for (time, code) in [
            (59, 94_287_082),
            (1_111_111_109, 7_081_804),
            (1_111_111_111, 14_050_471),
            (1_234_567_890, 89_005_924),
            (2_000_000_000, 69_279_037),
            (20_000_000_000, 65_353_130),
        ] {
            assert_eq!(truncated(RFC, time / 30) % 100_000_000, code, "{time}");
        }
    }

    /// RFC 4226 appendix D.
    #[test]
    fn the_vectors_of_rfc_4226() {
        let codes =
            [755_224, 287_082, 359_152, 969_429, 338_314, 254_676, 287_922, 162_583, 399_871, 520_489];
        for (counter, code) in codes.into_iter().enumerate() {
            assert_eq!(truncated(RFC, counter as u64) % 1_000_000, code, "{counter}");
        }
    }

    #[test]
    fn a_code_is_valid_in_its_step_and_those_beside_it_and_once() {
        let secret = Secret::new(*RFC);
        let at = |seconds| Nanos::from_secs(seconds);
        // Step 1 is from 30 s to 60 s.
        for (seconds, valid) in [(0, true), (30, true), (59, true), (89, true), (90, false)] {
            assert_eq!(accepted(&secret, "287 082", 0, at(seconds)), valid.then_some(1), "{seconds} s");
        }
        assert_eq!(accepted(&secret, "287082", 1, at(59)), None, "used before");
        assert_eq!(accepted(&secret, "755224", 1, at(31)), None, "an earlier one");
        assert_eq!(accepted(&secret, "359152", 1, at(59)), Some(2), "the next one");
        for wrong in ["", "287083", "2870820", "28708", "94287082", "２８７０８２"] {
            assert_eq!(accepted(&secret, wrong, 0, at(59)), None, "{wrong}");
        }
    }

    #[test]
    fn a_secret_as_apps_read_it() {
        // As `printf 12345678901234567890 | base32` writes it.
        let shown = TotpSecret::new(&Secret::new(*RFC), "ana@example.com");
        assert_eq!(*shown.secret, "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ");
        let uri =
            "otpauth://totp/ringtap:ana@example.com?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=ringtap";
        assert_eq!(*shown.uri, uri);
    }
}
