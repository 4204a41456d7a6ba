//! Signatures: Ed25519 (RFC 8032) over lines of text.
//!
//! A signed line is JSON, a tab, the signature of the JSON as 128 hex digits (if there is no key: `-` and the
//! CRC32C of the JSON as 8 hex digits), and a line feed. It can be checked without this program:
//!
//! ```text
//! cut -f1 FILE | tr -d '\n' > text; cut -f2 FILE | xxd -r -p > signature
//! openssl pkeyutl -verify -pubin -inkey sign.pub -rawin -in text -sigfile signature
//! ```

use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use ed25519_dalek::pkcs8::{
    DecodePrivateKey, DecodePublicKey, EncodePrivateKey, EncodePublicKey, KeypairBytes,
};
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::error::Error;
use crate::hex::{hex, unhex};
use crate::trust::random::random;
use crate::trust::remote_keys::RemoteKeys;
use crate::trust::secret_file as secret;

/// An Ed25519 key that signs segments and log entries, here or in another process.
#[derive(Clone)]
pub struct Signer(Holder);

#[derive(Clone)]
enum Holder {
    /// One place in memory; the crate wipes it.
    Here(Arc<SigningKey>),
    Remote(RemoteKeys, PublicKey),
}

impl Signer {
    /// Reads a key: PKCS#8 as PEM, as `openssl genpkey -algorithm ed25519` writes it, or its 32 bytes as 64
    /// hex digits.
    ///
    /// # Errors
    ///
    /// The file cannot be read, others may read it, or it holds no such key.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let bytes = secret::read(path)?;
        let text = std::str::from_utf8(&bytes).unwrap_or_default();
        let key = match unhex::<32>(text.trim()) {
            Some(seed) => Some(SigningKey::from_bytes(&seed)),
            None => SigningKey::from_pkcs8_pem(text).ok(),
        };
        key.map(Self::here).ok_or_else(|| {
            Error::key(
                path,
                "it is no Ed25519 key; make one with `openssl genpkey -algorithm ed25519`, or write its \
                 32 bytes as 64 hex digits",
            )
        })
    }

    /// Makes a new key: its private and its public part, as PEM.
    ///
    /// # Errors
    ///
    /// The operating system has no randomness.
    pub fn generate() -> Result<(Zeroizing<String>, String), Error> {
        let mut seed = Zeroizing::new([0; 32]);
        random(&mut seed[..])?;
        let key = SigningKey::from_bytes(&seed);
        let failed = || Error::key(Path::new("the new key"), "it cannot be written as PEM");
        // OpenSSL reads version 1 of PKCS#8, which has the private part alone.
        let private = KeypairBytes { secret_key: *seed, public_key: None };
        let private = private.to_pkcs8_pem(LineEnding::LF).map_err(|_| failed())?;
        let public = key.verifying_key().to_public_key_pem(LineEnding::LF).map_err(|_| failed())?;
        Ok((private, public))
    }

    /// From the 32 bytes of a key.
    pub fn of(seed: &[u8; 32]) -> Self {
        Self::here(SigningKey::from_bytes(seed))
    }

    fn here(key: SigningKey) -> Self {
        Self(Holder::Here(Arc::new(key)))
    }

    /// Held by another process; None if it has none.
    pub fn of_process(keys: &RemoteKeys) -> Option<Self> {
        keys.signer().map(|public| Self(Holder::Remote(keys.clone(), PublicKey(public))))
    }

    /// The key that verifies signatures.
    pub fn public(&self) -> PublicKey {
        match &self.0 {
            Holder::Here(key) => PublicKey(key.verifying_key().to_bytes()),
            Holder::Remote(_, public) => *public,
        }
    }

    /// Signs a text.
    pub(crate) fn sign(&self, text: &str) -> Result<[u8; 64], Error> {
        match &self.0 {
            Holder::Here(key) => Ok(key.sign(text.as_bytes()).to_bytes()),
            Holder::Remote(keys, _) => keys.sign(text),
        }
    }
}

impl fmt::Debug for Signer {
    /// Does not print the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signer({})", self.public())
    }
}

/// The public part of a signing key. As text: 64 hex digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublicKey(pub [u8; 32]);

impl PublicKey {
    /// Reads a file: PEM, as `openssl pkey -pubout` writes it, or 64 hex digits.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or holds no such key.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let bytes = std::fs::read(path).map_err(|error| Error::io(path, "read", error))?;
        let text = std::str::from_utf8(&bytes).unwrap_or_default();
        let read = text.trim().parse().ok();
        read.or_else(|| Some(Self(VerifyingKey::from_public_key_pem(text).ok()?.to_bytes()))).ok_or_else(
            || Error::key(path, "it is no public Ed25519 key; write one with `openssl pkey -in KEY -pubout`"),
        )
    }

    /// Reads a set of keys: a file with one key or several, each as in [`read`](Self::read), or a directory
    /// of such files.
    ///
    /// # Errors
    ///
    /// A file cannot be read, or holds something else.
    pub fn read_all(path: &Path) -> Result<Vec<Self>, Error> {
        let mut keys = Vec::new();
        for path in secret::files_at(path)? {
            let text = std::fs::read_to_string(&path).map_err(|error| Error::io(&path, "read", error))?;
            let parsed: Option<Vec<Self>> = match text.contains(PEM) {
                true => text.split(PEM).skip(1).map(|rest| Self::of_pem(&format!("{PEM}{rest}"))).collect(),
                false => text.split_whitespace().map(|word| word.parse().ok()).collect(),
            };
            let parsed = parsed.filter(|keys| !keys.is_empty()).ok_or_else(|| {
                Error::key(&path, "it holds something else than public Ed25519 keys, as PEM or 64 hex digits")
            });
            keys.extend(parsed?);
        }
        Ok(keys)
    }

    fn of_pem(text: &str) -> Option<Self> {
        Some(Self(VerifyingKey::from_public_key_pem(text.trim_end()).ok()?.to_bytes()))
    }

    fn signed(&self, text: &str, signature: &[u8; 64]) -> bool {
        let digest = Sha256::new().chain_update(self.0).chain_update(signature).chain_update(text);
        let digest: [u8; 32] = digest.finalize().into();
        if VERIFIED.with_borrow(|verified| verified.contains(&digest)) {
            return true;
        }
        let is_signed = VerifyingKey::from_bytes(&self.0)
            .is_ok_and(|key| key.verify_strict(text.as_bytes(), &Signature::from_bytes(signature)).is_ok());
        if is_signed {
            VERIFIED.with_borrow_mut(|verified| {
                if verified.len() >= MOST_VERIFIED {
                    verified.clear();
                }
                verified.insert(digest);
            });
        }
        is_signed
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

/// Where a key begins.
const PEM: &str = "-----BEGIN PUBLIC KEY-----";

thread_local! {
    /// SHA-256 of key, signature and text of lines whose signature is right. A seal is looked at several
    /// times in a verification and an export, and a signature takes as long as hashing 100 KB.
    static VERIFIED: RefCell<HashSet<[u8; 32]>> = RefCell::default();
}

/// So many are remembered: 300 KB.
const MOST_VERIFIED: usize = 4096;

/// The text is not 64 hex digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAKey;

impl FromStr for PublicKey {
    type Err = NotAKey;

    fn from_str(text: &str) -> Result<Self, NotAKey> {
        unhex(text).map(Self).ok_or(NotAKey)
    }
}

/// A signed line, with its line feed.
///
/// # Errors
///
/// The process that holds the key does not answer.
pub(crate) fn line(signer: Option<&Signer>, json: &str) -> Result<String, Error> {
    let signature = match signer {
        Some(signer) => hex(&signer.sign(json)?),
        None => checksum(json),
    };
    Ok(format!("{json}\t{signature}\n"))
}

/// In place of a signature: it reveals failures of a disk, no more.
fn checksum(json: &str) -> String {
    format!("-{:08x}", ringtap_cpu::crc32c(0, json.as_bytes()))
}

/// The text of a line and its signature.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'a> {
    pub(crate) json: &'a str,
    signature: Option<[u8; 64]>,
}

impl<'a> Line<'a> {
    /// Parses a line with its line feed; None if it is not exactly one.
    pub(crate) fn parse(bytes: &'a [u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?.strip_suffix('\n')?;
        let (json, signature) = text.split_once('\t')?;
        let signature = match signature {
            // As earlier versions wrote it.
            "-" => None,
            checked if checked.starts_with('-') => {
                if checked != checksum(json) {
                    return None;
                }
                None
            }
            hex => Some(unhex(hex)?),
        };
        (!json.contains('\n')).then_some(Self { json, signature })
    }

    /// Whether that key signed it.
    pub(crate) fn is_by(&self, key: &PublicKey) -> bool {
        self.signature.is_some_and(|signature| key.signed(self.json, &signature))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// RFC 8032 section 7.1, test 2.
    const SEED: &str = "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb";
    const PUBLIC: &str = "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c";
    const SIGNED: &str = "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da\
                          085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00";

    #[test]
    fn the_vector_of_the_rfc() {
        let signer = Signer::of(&unhex(SEED).unwrap());
        assert_eq!(signer.public().to_string(), PUBLIC);
        assert_eq!(line(Some(&signer), "\x72").unwrap(), format!("r\t{SIGNED}\n"));
        assert_eq!(format!("{signer:?}"), format!("Signer({PUBLIC})"));
    }

    #[test]
    fn a_line_is_that_of_its_signer_alone() {
        let (a, b) = (Signer::of(&[1; 32]), Signer::of(&[2; 32]));
        let text = line(Some(&a), "{\"x\":1}").unwrap();
        let parsed = Line::parse(text.as_bytes()).unwrap();
        assert_eq!(parsed.json, "{\"x\":1}");
        assert!(parsed.is_by(&a.public()) && !parsed.is_by(&b.public()));
        for at in 0..text.len() {
            for bit in 0..8 {
                let mut bad = text.clone().into_bytes();
                bad[at] ^= 1 << bit;
                assert!(
                    !Line::parse(&bad).is_some_and(|line| line.is_by(&a.public())),
                    "byte {at} bit {bit}"
                );
            }
        }
        let unsigned = line(None, "{}").unwrap();
        assert!(!Line::parse(unsigned.as_bytes()).unwrap().is_by(&a.public()));
        for at in 0..unsigned.len() {
            let mut bad = unsigned.clone().into_bytes();
            bad[at] ^= 1;
            assert!(Line::parse(&bad).is_none(), "byte {at}");
        }
        assert!(Line::parse(b"{}\t-\n").is_some(), "a line of an earlier version");
        assert!(Line::parse(b"{}\t-").is_none() && Line::parse(b"").is_none());
    }

    #[test]
    fn keys_from_files() {
        let dir = tempfile::tempdir().unwrap();
        let (private, public) = (dir.path().join("sign.pem"), dir.path().join("sign.pub"));
        // As `openssl genpkey -algorithm ed25519` and `openssl pkey -pubout` wrote them.
        let pem = "-----BEGIN PRIVATE KEY-----\n\
                   MC4CAQAwBQYDK2VwBCIEIEzNCJso/5banbbDRuwRTg9bijGfNaumJNqM9u1PuKb7\n\
                   -----END PRIVATE KEY-----\n";
        std::fs::write(&private, pem).unwrap();
        std::fs::set_permissions(&private, PermissionsExt::from_mode(0o600)).unwrap();
        let pem = "-----BEGIN PUBLIC KEY-----\n\
                   MCowBQYDK2VwAyEAPUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw=\n\
                   -----END PUBLIC KEY-----\n";
        std::fs::write(&public, pem).unwrap();
        let signer = Signer::read(&private).unwrap();
        assert_eq!(signer.public().to_string(), PUBLIC);
        assert_eq!(PublicKey::read(&public).unwrap(), signer.public());
        std::fs::write(&private, SEED).unwrap();
        std::fs::write(&public, format!("{PUBLIC}\n")).unwrap();
        assert_eq!(Signer::read(&private).unwrap().public(), PublicKey::read(&public).unwrap());
        let (made, made_public) = Signer::generate().unwrap();
        std::fs::write(&private, &*made).unwrap();
        std::fs::write(&public, made_public).unwrap();
        assert_eq!(Signer::read(&private).unwrap().public(), PublicKey::read(&public).unwrap());
        assert_ne!(Signer::read(&private).unwrap().public(), signer.public());
        std::fs::write(&private, "secret").unwrap();
        let error = Signer::read(&private).unwrap_err().to_string();
        assert!(error.contains("sign.pem") && error.contains("openssl genpkey"), "{error}");
        assert!(PublicKey::read(&private).unwrap_err().to_string().contains("-pubout"));
    }

    #[test]
    fn sets_of_keys() {
        let dir = tempfile::tempdir().unwrap();
        let pems: Vec<String> = (0..3).map(|_| Signer::generate().unwrap().1).collect();
        let (first, second) = (dir.path().join("a.pub"), dir.path().join("b.pub"));
        std::fs::write(&first, pems[..2].concat()).unwrap();
        std::fs::write(&second, &pems[2]).unwrap();
        assert_eq!(PublicKey::read_all(&second).unwrap(), [PublicKey::read(&second).unwrap()]);
        let all = PublicKey::read_all(dir.path()).unwrap();
        assert_eq!((all.len(), all[2]), (3, PublicKey::read(&second).unwrap()));
        std::fs::write(&second, format!("{}\n{}\n", all[0], all[1])).unwrap();
        assert_eq!(PublicKey::read_all(&second).unwrap(), all[..2]);
        for bad in [String::new(), format!("{} x", all[0]), pems.concat().replacen("MC", "XX", 1)] {
            std::fs::write(&second, bad).unwrap();
            assert!(PublicKey::read_all(dir.path()).unwrap_err().to_string().contains("b.pub"));
        }
    }
}
