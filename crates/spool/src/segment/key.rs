//! Keys of owners.

use ringtap_model::Endpoint;
use sha2::{Digest, Sha256};

/// The key of an owner: 64 bits of SHA-256 over the parts of its name. Who knows the name knows the key; a
/// sender can hardly make two calls share one.
pub fn key<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> u64 {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part);
    }
    let mut key = [0; 8];
    key.copy_from_slice(&digest.finalize()[..8]);
    u64::from_le_bytes(key)
}

/// The key of a media stream: sender, receiver, SSRC. Streams of several calls may share a key; their times
/// differ.
pub fn of_stream(src: Endpoint, dst: Endpoint, ssrc: u32) -> u64 {
    let (src, dst) = (src.to_string(), dst.to_string());
    key([&b"stream"[..], src.as_bytes(), dst.as_bytes(), &ssrc.to_be_bytes()])
}

/// The key of a call's signalling: its Call-ID.
pub fn of_call(call_id: &[u8]) -> u64 {
    key([&b"call"[..], call_id])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_tell_apart() {
        let end = |last, port| Endpoint::new([192, 0, 2, last].into(), port);
        let keys = [
            of_stream(end(1, 1), end(2, 2), 3),
            of_stream(end(2, 2), end(1, 1), 3),
            of_stream(end(1, 1), end(2, 2), 4),
            of_stream(end(1, 11), end(2, 2), 3),
            of_call(b"a"),
            of_call(b""),
            key([&b"ab"[..], b"c"]),
            key([&b"a"[..], b"bc"]),
        ];
        for (place, key) in keys.iter().enumerate() {
            assert!(!keys[..place].contains(key));
        }
    }
}
