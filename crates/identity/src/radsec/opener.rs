//! Opens the records of one direction.

use std::fmt;

use ring::aead::{
    AES_128_GCM, AES_256_GCM, Aad, Algorithm, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey,
};
use ring::{hkdf, hmac};
use zeroize::Zeroizing;

use super::keys::Keys;
use super::record::{HEADER, Kind, ServerHello};

/// The key of one direction, and the number of the next record.
pub(super) struct Opener {
    suite: Suite,
    key: LessSafeKey,
    iv: [u8; 12],
    /// TLS 1.3: what the next key is made of.
    secret: Option<Zeroizing<Vec<u8>>>,
    sequence: u64,
}

impl fmt::Debug for Opener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Opener({})", self.sequence)
    }
}

/// What a cipher is made of.
#[derive(Clone, Copy)]
struct Suite {
    cipher: &'static Algorithm,
    /// Of the key derivation.
    hash: (hkdf::Algorithm, hmac::Algorithm),
    /// TLS 1.2: eight octets of the nonce are in the record.
    has_explicit_nonce: bool,
}

impl ServerHello {
    /// Whether its cipher is read.
    pub(super) fn is_supported(&self) -> bool {
        self.suite().is_some()
    }

    fn suite(&self) -> Option<Suite> {
        let sha256 = (hkdf::HKDF_SHA256, hmac::HMAC_SHA256);
        let sha384 = (hkdf::HKDF_SHA384, hmac::HMAC_SHA384);
        let (cipher, hash) = match (self.is_13, self.cipher) {
            (true, 0x1301) => (&AES_128_GCM, sha256),
            (true, 0x1302) => (&AES_256_GCM, sha384),
            (true, 0x1303) => (&CHACHA20_POLY1305, sha256),
            // RSA, DHE-RSA, ECDHE-ECDSA, ECDHE-RSA (RFC 5288, RFC 5289).
            (false, 0x009c | 0x009e | 0xc02b | 0xc02f) => (&AES_128_GCM, sha256),
            (false, 0x009d | 0x009f | 0xc02c | 0xc030) => (&AES_256_GCM, sha384),
            // RFC 7905.
            (false, 0xcca8..=0xccaa) => (&CHACHA20_POLY1305, sha256),
            _ => return None,
        };
        let has_explicit_nonce =
            !self.is_13 && cipher.key_len() > 0 && !std::ptr::eq(cipher, &CHACHA20_POLY1305);
        Some(Suite { cipher, hash, has_explicit_nonce })
    }
}

impl Opener {
    /// Of the client's direction (0) or the server's (1).
    pub(super) fn new(half: usize, client: &[u8; 32], server: &ServerHello, keys: &Keys) -> Option<Self> {
        let suite = server.suite()?;
        if server.is_13 {
            return Self::of_secret(suite, keys.traffic[half].clone()?);
        }
        let master = keys.master.as_ref()?;
        // RFC 5246 section 6.3: MAC keys, which AEAD has none of, then the keys, then their IVs.
        let iv_len = if suite.has_explicit_nonce { 4 } else { 12 };
        let key_len = suite.cipher.key_len();
        let seed = [&b"key expansion"[..], &server.random, client].concat();
        let block = expand_12(suite.hash.1, master, &seed, 2 * (key_len + iv_len));
        let key = block.get(half * key_len..(half + 1) * key_len)?;
        let ivs = block.get(2 * key_len..)?;
        let mut iv = [0; 12];
        iv[..iv_len].copy_from_slice(ivs.get(half * iv_len..(half + 1) * iv_len)?);
        let key = LessSafeKey::new(UnboundKey::new(suite.cipher, key).ok()?);
        Some(Self { suite, key, iv, secret: None, sequence: 0 })
    }

    /// Of a traffic secret (RFC 8446 section 7.3).
    fn of_secret(suite: Suite, secret: Zeroizing<Vec<u8>>) -> Option<Self> {
        let key = expand_13(suite.hash.0, &secret, "key", suite.cipher.key_len())?;
        let key = LessSafeKey::new(UnboundKey::new(suite.cipher, &key).ok()?);
        let iv = *expand_13(suite.hash.0, &secret, "iv", 12)?.first_chunk()?;
        Some(Self { suite, key, iv, secret: Some(secret), sequence: 0 })
    }

    /// Whether its numbers count from the change of ciphers, so that each record has to open.
    pub(super) fn is_of_whole_connection(&self) -> bool {
        self.secret.is_none()
    }

    /// Opens a whole record in its place: what it carries. One that does not open leaves all as it was.
    pub(super) fn open<'a>(&mut self, record: &'a mut [u8]) -> Option<(Kind, &'a [u8])> {
        let (header, body) = record.split_at_mut_checked(HEADER)?;
        let mut nonce = self.iv;
        let explicit = if self.suite.has_explicit_nonce { 8 } else { 0 };
        let (own, sealed) = body.split_at_mut_checked(explicit)?;
        let sequence = self.sequence.to_be_bytes();
        match explicit {
            0 => nonce[4..].iter_mut().zip(sequence).for_each(|(byte, own)| *byte ^= own),
            _ => nonce[4..].copy_from_slice(own),
        }
        let aad = match self.secret {
            Some(_) => header.to_vec(),
            None => {
                let len = u16::try_from(sealed.len().checked_sub(self.suite.cipher.tag_len())?).ok()?;
                [&sequence[..], &header[..3], &len.to_be_bytes()].concat()
            }
        };
        let nonce = Nonce::assume_unique_for_key(nonce);
        let kind = Kind::of(header[0]);
        let text = self.key.open_in_place(nonce, Aad::from(aad), sealed).ok()?;
        self.sequence += 1;
        if self.secret.is_none() {
            return Some((kind, text));
        }
        // RFC 8446 section 5.2: the type, and zeros behind it.
        let end = text.iter().rposition(|byte| *byte != 0)?;
        let (text, kind) = (&text[..end], Kind::of(text[end]));
        if kind == Kind::Handshake && text.first() == Some(&KEY_UPDATE) {
            self.update();
        }
        Some((kind, text))
    }

    /// The next key of TLS 1.3 (RFC 8446 section 7.2).
    fn update(&mut self) {
        let Some(secret) = &self.secret else { return };
        let next = expand_13(self.suite.hash.0, secret, "traffic upd", secret.len());
        if let Some(next) = next.and_then(|next| Self::of_secret(self.suite, next)) {
            *self = next;
        }
    }
}

/// The pseudorandom function of TLS 1.2 (RFC 5246 section 5), for a label with its seed.
fn expand_12(hash: hmac::Algorithm, secret: &[u8], seed: &[u8], len: usize) -> Zeroizing<Vec<u8>> {
    let key = hmac::Key::new(hash, secret);
    let mut block = Zeroizing::new(Vec::with_capacity(len + 64));
    let mut a = hmac::sign(&key, seed);
    while block.len() < len {
        block.extend_from_slice(hmac::sign(&key, &[a.as_ref(), seed].concat()).as_ref());
        a = hmac::sign(&key, a.as_ref());
    }
    block.truncate(len);
    block
}

/// HKDF-Expand-Label of RFC 8446 section 7.1, without a context.
fn expand_13(hash: hkdf::Algorithm, secret: &[u8], label: &str, len: usize) -> Option<Zeroizing<Vec<u8>>> {
    struct Length(usize);
    impl hkdf::KeyType for Length {
        fn len(&self) -> usize {
            self.0
        }
    }
    let length = u16::try_from(len).ok()?.to_be_bytes();
    let name = [u8::try_from(label.len() + 6).ok()?];
    let info = [&length[..], &name, b"tls13 ", label.as_bytes(), &[0]];
    let mut out = Zeroizing::new(vec![0; len]);
    let prk = hkdf::Prk::new_less_safe(hash, secret);
    prk.expand(&info, Length(len)).and_then(|okm| okm.fill(&mut out)).ok()?;
    Some(out)
}

/// Type of a handshake message (RFC 8446 section 4.6.3).
const KEY_UPDATE: u8 = 24;
