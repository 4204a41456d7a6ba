//! The key that signs the log, Ed25519 (RFC 8032), in the directory of the log: `sign.pem`, and its public
//! part, `sign.pub`, as OpenSSL writes them.

use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::str::FromStr;

use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use ed25519_dalek::pkcs8::{
    DecodePrivateKey, DecodePublicKey, EncodePrivateKey, EncodePublicKey, KeypairBytes,
};
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};

use crate::error::Error;
use crate::files;
use crate::hex::{hex, unhex_array};
use crate::random::random;

const PRIVATE: &str = "sign.pem";
const PUBLIC: &str = "sign.pub";

/// Signs; the crate wipes the key.
pub(crate) struct LogKey(SigningKey);

impl LogKey {
    /// The key in the directory; none if there is none.
    pub(crate) fn read(dir: &Path) -> Result<Option<Self>, Error> {
        let path = dir.join(PRIVATE);
        let read = files::read_secret(&path).map_err(|error| Error::io(&path, "read", error))?;
        let Some(bytes) = read else { return Ok(None) };
        let metadata = std::fs::metadata(&path).map_err(|error| Error::io(&path, "read", error))?;
        let wrong = |problem| Error::Key { path: path.clone(), problem };
        if metadata.mode() & 0o077 != 0 {
            return Err(wrong("others may read it; run `chmod 600` on it, and think about who did"));
        }
        let text = std::str::from_utf8(&bytes).unwrap_or_default();
        let key = SigningKey::from_pkcs8_pem(text);
        key.map(|key| Some(Self(key))).map_err(|_| wrong("it is no Ed25519 key; restore it from a copy"))
    }

    pub(crate) fn generate() -> Result<Self, Error> {
        Ok(Self(SigningKey::from_bytes(&*random()?)))
    }

    /// Writes it into the directory, the private part last: the key exists once that does.
    pub(crate) fn write(&self, dir: &Path) -> Result<(), Error> {
        let unwritable = |_| Error::Key { path: dir.join(PRIVATE), problem: "it cannot be written as PEM" };
        // OpenSSL reads version 1 of PKCS#8, which has the private part alone.
        let pair = KeypairBytes { secret_key: self.0.to_bytes(), public_key: None };
        let private = pair.to_pkcs8_pem(LineEnding::LF).map_err(unwritable)?;
        let public = self.0.verifying_key().to_public_key_pem(LineEnding::LF);
        let public = public
            .map_err(|_| Error::Key { path: dir.join(PUBLIC), problem: "it cannot be written as PEM" })?;
        for (name, text) in [(PUBLIC, public.as_str()), (PRIVATE, private.as_str())] {
            let path = dir.join(name);
            files::create_whole(&path, text.as_bytes())
                .map_err(|error| Error::io(&path, "written", error))?;
        }
        Ok(())
    }

    pub(crate) fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key().to_bytes())
    }

    /// As 128 hex digits.
    pub(crate) fn sign(&self, text: &str) -> String {
        hex(&self.0.sign(text.as_bytes()).to_bytes())
    }
}

/// The public part of a log's key. As text: 64 hex digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublicKey(pub [u8; 32]);

impl PublicKey {
    /// That in the directory of a log.
    pub(crate) fn of_log(dir: &Path) -> Result<Self, Error> {
        Self::read(&dir.join(PUBLIC))
    }

    /// Reads a file: PEM, as `openssl pkey -pubout` writes it, or 64 hex digits.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or holds no such key.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let read = files::read_secret(path).map_err(|error| Error::io(path, "read", error))?;
        let missing = || Error::io(path, "read", std::io::ErrorKind::NotFound.into());
        let bytes = read.ok_or_else(missing)?;
        let text = std::str::from_utf8(&bytes).unwrap_or_default();
        let read = text.trim().parse().ok();
        let of_pem = || Some(Self(VerifyingKey::from_public_key_pem(text).ok()?.to_bytes()));
        read.or_else(of_pem).ok_or_else(|| Error::Key {
            path: path.to_owned(),
            problem: "it is no public Ed25519 key; give the `sign.pub` of the log, or 64 hex digits",
        })
    }

    /// Whether this key made the signature, 128 hex digits, of the text.
    pub(crate) fn has_signed(&self, text: &str, signature: &str) -> bool {
        let Some(signature) = unhex_array(signature) else { return false };
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
        unhex_array(text).map(Self).ok_or_else(|| "write a public key as 64 hex digits".to_owned())
    }
}
