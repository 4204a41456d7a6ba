//! Challenges: what an authenticator signs, so that no earlier answer is worth anything.
//!
//! Anybody may ask for a challenge, so none is stored: it has its time, and an HMAC under a key of this
//! process. What is stored is which ones were answered rightly, until they expire.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};

use hmac::{Hmac, KeyInit, Mac};
use ringtap_model::Nanos;
use sha2::Sha256;
use zeroize::Zeroizing;

use crate::error::Error;
use crate::random::random;

/// What a challenge is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose<'a> {
    /// This person makes a passkey.
    Create(&'a str),
    /// Somebody logs in.
    LogIn,
}

impl Purpose<'_> {
    /// What the browser has to say it was asked for (section 5.8.1).
    pub(crate) fn client_data_type(self) -> &'static str {
        match self {
            Self::Create(_) => "webauthn.create",
            Self::LogIn => "webauthn.get",
        }
    }
}

/// Makes challenges, and knows them again.
pub(crate) struct Challenges {
    key: Zeroizing<[u8; 32]>,
    /// Those that were answered, and when they were made.
    used: Mutex<HashMap<Vec<u8>, Nanos>>,
}

impl Challenges {
    pub(crate) fn new() -> Result<Self, Error> {
        Ok(Self { key: random()?, used: Mutex::default() })
    }

    /// A new one.
    pub(crate) fn make(&self, purpose: Purpose<'_>, now: Nanos) -> Result<Vec<u8>, Error> {
        let mut challenge = now.micros().to_be_bytes().to_vec();
        challenge.extend_from_slice(&random::<16>()?[..]);
        let mac = self.mac(purpose, &challenge).finalize().into_bytes();
        challenge.extend_from_slice(mac.as_slice());
        Ok(challenge)
    }

    /// Whether it was made here for that purpose, in the last minutes.
    pub(crate) fn is_of(&self, challenge: &[u8], purpose: Purpose<'_>, now: Nanos) -> bool {
        let Some((said, mac)) = challenge.split_at_checked(LENGTH) else { return false };
        made(said).is_some_and(|made| now >= made && now - made < LIFE)
            && self.mac(purpose, said).verify_slice(mac).is_ok()
    }

    /// Uses one up that was answered rightly. False if it was answered before, or if so many were in the
    /// last minutes that this one could not be stored.
    pub(crate) fn use_up(&self, challenge: &[u8], now: Nanos) -> bool {
        let mut used = self.used();
        used.retain(|_, made| now - *made < LIFE);
        let made = made(challenge).unwrap_or(now);
        used.len() < MOST && used.insert(challenge.to_vec(), made).is_none()
    }

    fn mac(&self, purpose: Purpose<'_>, said: &[u8]) -> Hmac<Sha256> {
        // HMAC has keys of any length.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.key[..]) else { unreachable!("any length") };
        mac.update(said);
        mac.update(purpose.client_data_type().as_bytes());
        if let Purpose::Create(person) = purpose {
            mac.update(person.as_bytes());
        }
        mac
    }

    fn used(&self) -> MutexGuard<'_, HashMap<Vec<u8>, Nanos>> {
        self.used.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// When it was made.
fn made(challenge: &[u8]) -> Option<Nanos> {
    challenge.first_chunk().map(|micros| Nanos::from_micros(u64::from_be_bytes(*micros)))
}

/// Bytes before the HMAC: a time and 128 random bits.
const LENGTH: usize = 8 + 16;
/// How long somebody may look for the key.
pub(crate) const LIFE: Nanos = Nanos::from_secs(300);
/// Challenges answered in that time: more people than a console has.
const MOST: usize = 16_384;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_challenge_is_good_once_for_its_purpose_and_its_time() {
        let (challenges, other) = (Challenges::new().unwrap(), Challenges::new().unwrap());
        let now = Nanos::from_secs(1_000_000);
        let create = Purpose::Create("ana");
        let challenge = challenges.make(create, now).unwrap();
        assert!(challenges.is_of(&challenge, create, now));
        assert!(challenges.is_of(&challenge, create, now + LIFE - Nanos(1)));
        assert!(!challenges.is_of(&challenge, create, now + LIFE), "expired");
        assert!(!challenges.is_of(&challenge, create, now - Nanos::from_secs(1)), "of the future");
        assert!(!challenges.is_of(&challenge, Purpose::Create("bob"), now));
        assert!(!challenges.is_of(&challenge, Purpose::LogIn, now));
        assert!(!other.is_of(&challenge, create, now), "of another process");
        for at in 0..challenge.len() {
            let mut changed = challenge.clone();
            changed[at] ^= 1;
            assert!(!challenges.is_of(&changed, create, now), "{at}");
            assert!(!challenges.is_of(&challenge[..at], create, now), "{at}");
        }
        assert!(challenges.use_up(&challenge, now) && !challenges.use_up(&challenge, now));
        // What has expired is forgotten.
        assert!(challenges.use_up(&challenges.make(create, now + LIFE).unwrap(), now + LIFE));
        assert_eq!(challenges.used().len(), 1);
    }
}
