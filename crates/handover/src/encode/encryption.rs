//! Payload encryption (TS 102 232-1 clause 7.2.4): AES in CBC mode, with keys of 192 or 256 bits.
//!
//! The initialisation vector is the sequence number, four times. It therefore comes again for each CIN
//! and on each handover interface, and is no secret. What makes the first block of two PDUs differ is the
//! byte counter in front of the payload: it starts at the time in seconds, in the upper 32 bits, and
//! grows with every PDU that the key encrypts. CBC does not authenticate: TLS does.

use aes::cipher::{Array, BlockModeDecrypt, BlockModeEncrypt, KeyIvInit};
use ringtap_model::Nanos;
use zeroize::Zeroizing;

use super::ber::{self, Unsigned};

/// The key that a warrant's payloads are encrypted with.
#[derive(Clone)]
pub enum PayloadKey {
    /// AES-192-CBC: what mediation functions know best.
    Aes192(Zeroizing<[u8; 24]>),
    /// AES-256-CBC.
    Aes256(Zeroizing<[u8; 32]>),
}

impl std::fmt::Debug for PayloadKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Aes192(_) => "PayloadKey::Aes192(..)",
            Self::Aes256(_) => "PayloadKey::Aes256(..)",
        })
    }
}

/// Encrypts the payloads of one warrant.
#[derive(Debug)]
pub(crate) struct Encryption {
    key: PayloadKey,
    byte_counter: u64,
    plain: Vec<u8>,
}

impl Encryption {
    pub(crate) fn new(key: PayloadKey, now: Nanos) -> Self {
        let seconds = now.0 / 1_000_000_000;
        Self { key, byte_counter: (seconds & u64::from(u32::MAX)) << 32, plain: Vec::new() }
    }

    /// The payload of a PDU, which starts with its own head, encrypted: encryptionContainer with the head
    /// of the payload.
    pub(crate) fn container(&mut self, payload: &[u8], part: u8, sequence: u32) -> Vec<u8> {
        let counter = Unsigned::new(self.byte_counter);
        let inner = 2 + counter.contents().len() + payload.len();
        self.plain.clear();
        ber::put_head(&mut self.plain, ber::SEQUENCE, inner);
        ber::put(&mut self.plain, ber::primitive(0), counter.contents());
        // The payload is field 2 of a PS-PDU, and field 1 of EncryptedPayload.
        self.plain.push(ber::constructed(1));
        self.plain.extend_from_slice(&payload[1..]);
        self.byte_counter = self.byte_counter.wrapping_add(self.plain.len() as u64);
        // Zeros fill the last block: the length of the SEQUENCE tells where it ends.
        self.plain.resize(self.plain.len().next_multiple_of(BLOCK), 0);
        cbc(&self.key, sequence, &mut self.plain, true);

        let encryption = match self.key {
            PayloadKey::Aes192(_) => AES_192_CBC,
            PayloadKey::Aes256(_) => AES_256_CBC,
        };
        let fields = 3 + ber::element(self.plain.len()) + 3;
        let mut out = Vec::with_capacity(fields + 12);
        ber::put_head(&mut out, ber::constructed(2), ber::element(fields));
        ber::put_head(&mut out, ber::constructed(4), fields);
        out.extend_from_slice(&[ber::primitive(0), 1, encryption]);
        ber::put(&mut out, ber::primitive(1), &self.plain);
        out.extend_from_slice(&[ber::primitive(2), 1, part]);
        out
    }
}

/// Decrypts an encryptedPayload; None if it is not whole blocks.
pub(crate) fn decrypt(key: &PayloadKey, sequence: u32, encrypted: &[u8]) -> Option<Vec<u8>> {
    let mut plain = encrypted.to_vec();
    if plain.is_empty() || !plain.len().is_multiple_of(BLOCK) {
        return None;
    }
    cbc(key, sequence, &mut plain, false);
    Some(plain)
}

/// `octets` are whole blocks.
fn cbc(key: &PayloadKey, sequence: u32, octets: &mut [u8], encrypts: bool) {
    let mut vector = [0; BLOCK];
    for part in vector.chunks_mut(4) {
        part.copy_from_slice(&sequence.to_be_bytes());
    }
    let (blocks, _) = Array::<u8, _>::slice_as_chunks_mut(octets);
    match (key, encrypts) {
        (PayloadKey::Aes192(key), true) => {
            cbc::Encryptor::<aes::Aes192>::new(&(**key).into(), &vector.into()).encrypt_blocks(blocks);
        }
        (PayloadKey::Aes192(key), false) => {
            cbc::Decryptor::<aes::Aes192>::new(&(**key).into(), &vector.into()).decrypt_blocks(blocks);
        }
        (PayloadKey::Aes256(key), true) => {
            cbc::Encryptor::<aes::Aes256>::new(&(**key).into(), &vector.into()).encrypt_blocks(blocks);
        }
        (PayloadKey::Aes256(key), false) => {
            cbc::Decryptor::<aes::Aes256>::new(&(**key).into(), &vector.into()).decrypt_blocks(blocks);
        }
    }
}

/// Octets of a block of AES.
const BLOCK: usize = 16;
/// encryptionType aES-192-CBC.
const AES_192_CBC: u8 = 3;
/// encryptionType aES-256-CBC.
const AES_256_CBC: u8 = 4;

/// encryptedPayloadType of TS 102 232-1 itself.
pub(crate) const PART_1: u8 = 8;
/// Of TS 102 232-3.
pub(crate) const PART_3: u8 = 3;
/// Of TS 102 232-5.
pub(crate) const PART_5: u8 = 5;
