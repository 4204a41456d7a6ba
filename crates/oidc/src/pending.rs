//! What binds an answer of the provider to the browser that asked.
//!
//! Anybody may begin a login, so nothing is stored for it. The browser gets a cookie of a time, 128 random
//! bits and an HMAC under a key of this process; `state`, `nonce` and the verifier of PKCE are other HMACs of
//! the same. What is stored is which were answered.

use std::collections::{HashSet, VecDeque};
use std::sync::{Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use ringtap_model::Nanos;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// Makes what binds, and knows it again.
pub(crate) struct Pending {
    key: Zeroizing<[u8; 32]>,
    used: Mutex<Used>,
}

/// Those that were answered, the oldest first.
#[derive(Default)]
struct Used {
    known: HashSet<[u8; LENGTH]>,
    order: VecDeque<[u8; LENGTH]>,
}

/// A login that has begun: what is sent to the provider, and what the browser keeps.
pub(crate) struct Bound {
    /// For the cookie.
    pub(crate) cookie: Zeroizing<String>,
    /// Comes back with the answer (RFC 6749 section 10.12).
    pub(crate) state: String,
    /// Comes back in the ID token (OpenID Connect Core 1.0 section 3.1.2.1).
    pub(crate) nonce: String,
    /// Proves at the token endpoint who has asked (RFC 7636 section 4.1).
    pub(crate) verifier: Zeroizing<String>,
}

impl Bound {
    /// What the provider is told of the verifier beforehand (RFC 7636 section 4.2, S256).
    pub(crate) fn challenge(&self) -> String {
        URL_SAFE_NO_PAD.encode(Sha256::digest(self.verifier.as_bytes()))
    }
}

impl Pending {
    /// With a new key: what another process has begun is not known here.
    pub(crate) fn new() -> Result<Self, getrandom::Error> {
        let mut key = Zeroizing::new([0; 32]);
        getrandom::fill(&mut key[..])?;
        Ok(Self { key, used: Mutex::default() })
    }

    /// Begins a login.
    pub(crate) fn begin(&self, now: Nanos) -> Result<Bound, getrandom::Error> {
        let mut begun = [0; LENGTH];
        let (time, random) = begun.split_at_mut(8);
        time.copy_from_slice(&now.micros().to_be_bytes());
        getrandom::fill(random)?;
        Ok(self.bound(&begun))
    }

    /// The login that a browser has begun, if the answer is to it, which it is only once.
    pub(crate) fn answered(
        &self,
        cookie: Option<&str>,
        state: &str,
        now: Nanos,
    ) -> Result<Bound, &'static str> {
        let cookie = cookie.ok_or("this browser has not asked for it, or too long ago")?;
        let bytes = URL_SAFE_NO_PAD.decode(cookie).ok().filter(|bytes| bytes.len() == LENGTH + MAC);
        let begun: [u8; LENGTH] =
            bytes.and_then(|bytes| bytes.first_chunk().copied()).ok_or("the cookie cannot be read")?;
        let bound = self.bound(&begun);
        if !is_same(&bound.cookie, cookie) {
            return Err("the cookie is not of this console, which may have been started again");
        }
        if !is_same(&bound.state, state) {
            return Err("the answer is to the question of another browser");
        }
        let made = Nanos::from_micros(u64::from_be_bytes(begun.first_chunk().copied().unwrap_or_default()));
        if now < made || now - made >= LIFE {
            return Err("it was asked for too long ago");
        }
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        if !used.known.insert(begun) {
            return Err("it was answered before");
        }
        used.order.push_back(begun);
        // What gives way has a code that the provider accepts once as well.
        if used.order.len() > MOST
            && let Some(oldest) = used.order.pop_front()
        {
            used.known.remove(&oldest);
        }
        Ok(bound)
    }

    fn bound(&self, begun: &[u8; LENGTH]) -> Bound {
        let derived = |label| URL_SAFE_NO_PAD.encode(self.mac(label, begun));
        Bound {
            cookie: Zeroizing::new(URL_SAFE_NO_PAD.encode([&begun[..], &self.mac("cookie", begun)].concat())),
            state: derived("state"),
            nonce: derived("nonce"),
            verifier: Zeroizing::new(derived("verifier")),
        }
    }

    fn mac(&self, label: &str, begun: &[u8; LENGTH]) -> [u8; MAC] {
        // HMAC has keys of any length.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.key[..]) else { unreachable!("any length") };
        mac.update(begun);
        mac.update(label.as_bytes());
        mac.finalize().into_bytes().into()
    }
}

fn is_same(one: &str, other: &str) -> bool {
    one.as_bytes().ct_eq(other.as_bytes()).into()
}

/// A time and 128 random bits.
const LENGTH: usize = 8 + 16;
const MAC: usize = 32;
/// How long somebody may take to log in at the provider.
pub(crate) const LIFE: Nanos = Nanos::from_secs(600);
/// Answers that are remembered.
const MOST: usize = 16_384;

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Nanos = Nanos::from_secs(1_795_255_200);

    #[test]
    fn an_answer_is_to_the_browser_that_asked_once_and_in_time() {
        let (pending, other) = (Pending::new().unwrap(), Pending::new().unwrap());
        let bound = pending.begin(NOW).unwrap();
        let cookie = Some(bound.cookie.as_str());
        let stranger = pending.begin(NOW).unwrap();
        let parts = [&bound.state, &bound.nonce, &*bound.verifier, &stranger.state];
        assert!(parts.iter().all(|one| parts.iter().filter(|other| one == *other).count() == 1));
        assert!(pending.answered(None, &bound.state, NOW).is_err());
        assert!(pending.answered(Some(&stranger.cookie), &bound.state, NOW).is_err(), "another browser");
        assert!(pending.answered(cookie, &bound.nonce, NOW).is_err());
        assert!(pending.answered(cookie, "", NOW).is_err());
        assert!(other.answered(cookie, &bound.state, NOW).is_err(), "another process");
        assert!(pending.answered(cookie, &bound.state, NOW + LIFE).is_err(), "too late");
        assert!(pending.answered(cookie, &bound.state, NOW - Nanos::from_secs(1)).is_err(), "too early");
        let again = pending.answered(cookie, &bound.state, NOW + LIFE - Nanos(1_000)).unwrap();
        assert_eq!((&again.nonce, &*again.verifier), (&bound.nonce, &*bound.verifier));
        assert!(pending.answered(cookie, &bound.state, NOW).is_err(), "a second time");
    }

    #[test]
    fn a_changed_cookie_is_refused_and_the_table_has_a_ceiling() {
        let pending = Pending::new().unwrap();
        let bound = pending.begin(NOW).unwrap();
        let bytes = URL_SAFE_NO_PAD.decode(&*bound.cookie).unwrap();
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            let changed = URL_SAFE_NO_PAD.encode(changed);
            assert!(pending.answered(Some(&changed), &bound.state, NOW).is_err(), "{at}");
            let cut = URL_SAFE_NO_PAD.encode(&bytes[..at]);
            assert!(pending.answered(Some(&cut), &bound.state, NOW).is_err(), "{at}");
        }
        for _ in 0..MOST + 5 {
            let bound = pending.begin(NOW).unwrap();
            pending.answered(Some(&bound.cookie), &bound.state, NOW).unwrap();
        }
        let used = pending.used.lock().unwrap();
        assert_eq!((used.known.len(), used.order.len()), (MOST, MOST));
    }
}
