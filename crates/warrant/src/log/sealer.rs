//! Seals acts: AES-256-GCM with a random nonce, which comes first, in base64. The number of the act and the
//! hash before it are authenticated, so that no act can take another's place. The text has its length (4
//! bytes) in front, and zeros behind it up to a multiple of 2 KiB, so that nearly all acts are equally long.

use aes_gcm::aead::{Aead, Key, KeyInit, Payload};
use aes_gcm::{Aes256Gcm, Nonce};
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use zeroize::Zeroizing;

use crate::error::{Error, Refused};
use crate::log::key::{Keys, random};
use crate::log::line::Position;

pub(crate) fn seal(keys: &Keys, at: &Position, text: &[u8]) -> Result<String, Error> {
    if text.len() > MOST {
        return Err(Refused::Field { field: "text of the act", problem: "it has more than 512 KiB" }.into());
    }
    let padded = (4 + text.len()).next_multiple_of(MULTIPLE);
    let mut plain = Zeroizing::new(Vec::with_capacity(padded));
    plain.extend_from_slice(&(text.len() as u32).to_le_bytes());
    plain.extend_from_slice(text);
    plain.resize(padded, 0);
    let nonce = random::<NONCE>()?;
    let payload = Payload { msg: &plain, aad: &place(at) };
    // It fails only for texts of gigabytes.
    let sealed = cipher(keys).encrypt(&Nonce::from(*nonce), payload).unwrap_or_default();
    Ok(STANDARD_NO_PAD.encode([&nonce[..], &sealed].concat()))
}

/// None if the key is another one, or the text is not as it was sealed.
pub(crate) fn open(keys: &Keys, at: &Position, sealed: &str) -> Option<Zeroizing<Vec<u8>>> {
    let bytes = STANDARD_NO_PAD.decode(sealed).ok()?;
    let (nonce, sealed) = bytes.split_first_chunk::<NONCE>()?;
    let payload = Payload { msg: sealed, aad: &place(at) };
    let mut plain = Zeroizing::new(cipher(keys).decrypt(&Nonce::from(*nonce), payload).ok()?);
    let length = u32::from_le_bytes(*plain.first_chunk()?) as usize;
    let end = length.checked_add(4).filter(|end| *end <= plain.len())?;
    plain.truncate(end);
    plain.drain(..4);
    Some(plain)
}

fn place(at: &Position) -> Vec<u8> {
    [&at.number.to_le_bytes()[..], at.previous.as_bytes()].concat()
}

fn cipher(keys: &Keys) -> Aes256Gcm {
    Aes256Gcm::new(&Key::<Aes256Gcm>::from(*keys.seal))
}

const NONCE: usize = 12;
/// Sealed texts are multiples of so many bytes.
const MULTIPLE: usize = 2048;
/// Bytes of the longest text: its line stays below the longest line.
const MOST: usize = 512 << 10;
