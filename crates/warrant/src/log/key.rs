//! The key of a register, and what is derived from it.
//!
//! A register has one master key: 32 bytes from a file or a command, kept apart from its directory. By HKDF
//! (RFC 5869) with the salt of the register come from it a key that seals acts, and the seed of the Ed25519
//! key (RFC 8032) that signs them. So whoever has the directory alone reads nothing and signs nothing, and
//! whoever has the public key proves the chain without reading it.

use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::str::FromStr;

use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use ed25519_dalek::pkcs8::{DecodePublicKey, EncodePublicKey};
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use hkdf::Hkdf;
use sha2::Sha256;
use zeroize::Zeroizing;

use crate::error::Error;
use crate::hex::{hex, unhex};
use crate::log::files;

/// The master key of a register: it opens and signs everything.
#[derive(Clone)]
pub struct RegisterKey(Zeroizing<[u8; 32]>);

impl RegisterKey {
    /// Reads a file: 32 bytes, or 64 hex digits.
    ///
    /// # Errors
    ///
    /// The file cannot be read, others may read it, or it holds something else.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let bytes = files::read_short(path).map_err(|error| Error::io(path, "read", error))?;
        let wrong = |problem: &str| Error::Key { path: path.to_owned(), problem: problem.to_owned() };
        let mode = std::fs::metadata(path).map_err(|error| Error::io(path, "read", error))?.mode();
        if mode & 0o077 != 0 {
            return Err(wrong("others may read it; run `chmod 600` on it, and think about who did"));
        }
        let neither = "it holds neither 32 bytes nor 64 hex digits; make one with `openssl rand -hex 32`";
        Self::parse(&bytes).ok_or_else(|| wrong(neither))
    }

    /// Runs a shell command and reads the key from its output, for example from a vault.
    ///
    /// # Errors
    ///
    /// The command fails, or prints something else.
    pub fn of_command(command: &str) -> Result<Self, Error> {
        let path = Path::new(command);
        let run = Command::new("/bin/sh").args(["-c", command]).stdin(Stdio::null()).output();
        let output = run.map_err(|error| Error::io(path, "run", error))?;
        let bytes = Zeroizing::new(output.stdout);
        let wrong = |problem: String| Error::Key { path: path.to_owned(), problem };
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let said = said.lines().next().unwrap_or("it says nothing").to_owned();
            return Err(wrong(format!("the command fails ({}): {said}", output.status)));
        }
        let neither = "the command prints neither 32 bytes nor 64 hex digits";
        Self::parse(&bytes).ok_or_else(|| wrong(neither.to_owned()))
    }

    /// From its bytes.
    pub fn of(bytes: Zeroizing<[u8; 32]>) -> Self {
        Self(bytes)
    }

    /// Makes a new key, in a file, mode 0600, that is not there yet: 64 hex digits.
    ///
    /// # Errors
    ///
    /// The file is there, or cannot be written.
    pub fn make(path: &Path) -> Result<Self, Error> {
        if path.exists() {
            let problem = "it is there already".to_owned();
            return Err(Error::Key { path: path.to_owned(), problem });
        }
        let key = Self(random()?);
        let text = Zeroizing::new(hex(&key.0[..]) + "\n");
        files::create_whole(path, text.as_bytes()).map_err(|error| Error::io(path, "written", error))?;
        Ok(key)
    }

    /// A key for another purpose, from which neither the master key nor that of the register is found.
    pub fn derived(&self, purpose: &str) -> Zeroizing<[u8; 32]> {
        let mut key = Zeroizing::new([0; 32]);
        let info = [b"ringtap warrant register, elsewhere: ", purpose.as_bytes()].concat();
        // It fails only for keys of more than 255 hashes.
        let _ = Hkdf::<Sha256>::new(None, &self.0[..]).expand(&info, &mut key[..]);
        key
    }

    /// What signs product where there is no register: with a key of its own.
    pub fn product_signer(&self) -> ProductSigner {
        ProductSigner(SigningKey::from_bytes(&self.derived("signature of product")))
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let mut key = Zeroizing::new([0; 32]);
        // 32 hex digits are half a key, not 32 bytes.
        if bytes.len() == key.len() && !bytes.iter().all(u8::is_ascii_hexdigit) {
            key.copy_from_slice(bytes);
            return Some(Self(key));
        }
        let text = Zeroizing::new(std::str::from_utf8(bytes.trim_ascii()).ok()?.to_ascii_lowercase());
        *key = unhex(&text)?;
        Some(Self(key))
    }
}

impl fmt::Debug for RegisterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RegisterKey")
    }
}

/// Random bytes.
pub(crate) fn random<const N: usize>() -> Result<Zeroizing<[u8; N]>, Error> {
    let mut bytes = Zeroizing::new([0; N]);
    getrandom::fill(&mut bytes[..]).map_err(|error| Error::Random(error.to_string()))?;
    Ok(bytes)
}

/// What is derived from a master key and the salt of a register.
pub(crate) struct Keys {
    pub(crate) seal: Zeroizing<[u8; 32]>,
    /// The crate wipes it.
    signer: SigningKey,
}

impl Keys {
    pub(crate) fn new(master: &RegisterKey, salt: &[u8; 32]) -> Self {
        let hkdf = Hkdf::<Sha256>::new(Some(salt), &master.0[..]);
        let derived = |info: &[u8]| {
            let mut key = Zeroizing::new([0; 32]);
            // It fails only for keys of more than 255 hashes.
            let _ = hkdf.expand(info, &mut key[..]);
            key
        };
        let seal = derived(b"ringtap warrant register: acts");
        Self { seal, signer: SigningKey::from_bytes(&derived(b"ringtap warrant register: signature")) }
    }

    pub(crate) fn public(&self) -> PublicKey {
        PublicKey(self.signer.verifying_key().to_bytes())
    }

    /// As 128 hex digits.
    pub(crate) fn sign(&self, text: &str) -> String {
        hex(&self.signer.sign(text.as_bytes()).to_bytes())
    }
}

/// Signs what product is with the key of a register.
#[derive(Clone)]
pub struct ProductSigner(SigningKey);

impl ProductSigner {
    pub(crate) fn new(keys: &Keys) -> Self {
        Self(keys.signer.clone())
    }

    /// Signs a text: 128 hex digits. One of more than 64 octets, so that it is never the hash of an act.
    pub fn sign(&self, text: &str) -> String {
        debug_assert!(text.len() > 64, "what the register signs has 64 octets");
        hex(&self.0.sign(text.as_bytes()).to_bytes())
    }

    /// The key that verifies it: that of the register.
    pub fn public_key(&self) -> PublicKey {
        PublicKey(self.0.verifying_key().to_bytes())
    }
}

impl fmt::Debug for ProductSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProductSigner")
    }
}

/// The public part of the key that signs a register. As text: 64 hex digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublicKey(pub [u8; 32]);

impl PublicKey {
    /// Reads a file: PEM, as `openssl pkey -pubout` writes it, or 64 hex digits.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or holds no such key.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let bytes = files::read_short(path).map_err(|error| Error::io(path, "read", error))?;
        let text = std::str::from_utf8(&bytes).unwrap_or_default();
        let of_pem = || Some(Self(VerifyingKey::from_public_key_pem(text).ok()?.to_bytes()));
        text.trim().parse().ok().or_else(of_pem).ok_or_else(|| Error::Key {
            path: path.to_owned(),
            problem: "it is no public Ed25519 key; give the `sign.pub` of the register, or 64 hex digits"
                .to_owned(),
        })
    }

    /// As OpenSSL writes it.
    pub(crate) fn pem(&self) -> Option<String> {
        VerifyingKey::from_bytes(&self.0).ok()?.to_public_key_pem(LineEnding::LF).ok()
    }

    /// Whether a [`ProductSigner`] with this key made the signature of the text.
    pub fn has_signed_product(&self, text: &str, signature: &str) -> bool {
        text.len() > 64 && self.has_signed(text, signature)
    }

    /// Whether this key made the signature, 128 hex digits, of the text.
    pub(crate) fn has_signed(&self, text: &str, signature: &str) -> bool {
        let Some(signature) = unhex(signature) else { return false };
        let key = VerifyingKey::from_bytes(&self.0);
        key.is_ok_and(|key| key.verify_strict(text.as_bytes(), &Signature::from_bytes(&signature)).is_ok())
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl FromStr for PublicKey {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        unhex(text).map(Self).ok_or_else(|| "write a public key as 64 hex digits".to_owned())
    }
}
