//! The master key: it opens everything that is sealed.

use std::fmt;
use std::path::Path;
use std::process::{Command, Stdio};

use sha2::{Digest, Sha256};
use zeroize::{Zeroize, Zeroizing};

use crate::error::Error;
use crate::hex::{hex, unhex_into};
use crate::trust::random::random;
use crate::trust::remote_keys::RemoteKeys;
use crate::trust::secret::{Secret, wipe_stack};
use crate::trust::secret_file as secret;

/// 32 bytes that wrap the keys of owners, here or in another process.
#[derive(Clone)]
pub struct MasterKey(Holder);

/// Who has the bytes.
#[derive(Clone)]
pub(crate) enum Holder {
    Here(Secret),
    Remote(RemoteKeys, [u8; 16]),
}

impl MasterKey {
    /// Reads a file: 32 bytes, or 64 hex digits.
    ///
    /// # Errors
    ///
    /// The file cannot be read, others may read it, or it holds something else.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let bytes = secret::read(path)?;
        Self::parse(&bytes).ok_or_else(|| {
            Error::key(
                path,
                "it holds neither 32 bytes nor 64 hex digits; make one with `openssl rand -hex 32`",
            )
        })
    }

    /// Reads a set of keys: a file with one key, or with one on each line as 64 hex digits, or a directory of
    /// such files.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read), for any of them.
    pub fn read_all(path: &Path) -> Result<Vec<Self>, Error> {
        let mut keys = Vec::new();
        for path in secret::files_at(path)? {
            let bytes = secret::read_long(&path)?;
            let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
            let parsed: Option<Vec<Self>> = match Self::parse(&bytes) {
                Some(key) => Some(vec![key]),
                None => lines.map(Self::parse).collect(),
            };
            let parsed = parsed.filter(|keys| !keys.is_empty()).ok_or_else(|| {
                Error::key(
                    &path,
                    "it holds neither a master key nor lines of 64 hex digits, one for each key",
                )
            });
            keys.extend(parsed?);
        }
        Ok(keys)
    }

    /// Runs a shell command and reads the key from its output, for example from a vault.
    ///
    /// # Errors
    ///
    /// The command fails, or prints something else.
    pub fn of_command(command: &str) -> Result<Self, Error> {
        let name = Path::new(command);
        let output = Command::new("/bin/sh")
            .args(["-c", command])
            .stdin(Stdio::null())
            .output()
            .map_err(|error| Error::io(name, "run", error))?;
        let bytes = Zeroizing::new(output.stdout);
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let said = said.lines().next().unwrap_or("it says nothing").to_owned();
            return Err(Error::key(name, &format!("the command fails ({}): {said}", output.status)));
        }
        Self::parse(&bytes)
            .ok_or_else(|| Error::key(name, "the command prints neither 32 bytes nor 64 hex digits"))
    }

    /// From its bytes.
    pub fn of(mut bytes: [u8; 32]) -> Self {
        let copied = Secret::written(|place| {
            place.copy_from_slice(&bytes);
            Some(())
        });
        bytes.zeroize();
        // Copying does not fail.
        Self(Holder::Here(copied.unwrap_or_else(|| unreachable!())))
    }

    /// Held by another process; None if it has none.
    pub fn of_process(keys: &RemoteKeys) -> Option<Self> {
        keys.master().map(|id| Self(Holder::Remote(keys.clone(), id)))
    }

    /// Makes a new key, as 64 hex digits.
    ///
    /// # Errors
    ///
    /// The operating system has no randomness.
    pub fn generate() -> Result<Zeroizing<String>, Error> {
        let mut bytes = Zeroizing::new([0; 32]);
        random(&mut bytes[..])?;
        Ok(Zeroizing::new(hex(&bytes[..])))
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        // 32 hex digits are half a key, not 32 bytes.
        let digits = bytes.iter().all(u8::is_ascii_hexdigit);
        let secret = match digits {
            false if bytes.len() == 32 => Secret::written(|place| {
                place.copy_from_slice(bytes);
                Some(())
            }),
            _ => {
                let text = Zeroizing::new(bytes.trim_ascii().to_ascii_lowercase());
                Secret::written(|place| unhex_into(&text, place))
            }
        };
        Some(Self(Holder::Here(secret?)))
    }

    pub(crate) fn holder(&self) -> &Holder {
        &self.0
    }

    /// Identifies a master key, without revealing it.
    pub(crate) fn id(&self) -> [u8; 16] {
        let secret = match &self.0 {
            Holder::Here(secret) => secret,
            Holder::Remote(_, id) => return *id,
        };
        let digest =
            Sha256::new().chain_update(b"ringtap master key").chain_update(secret.bytes()).finalize();
        wipe_stack();
        let mut id = [0; 16];
        id.copy_from_slice(&digest[..16]);
        id
    }
}

impl fmt::Debug for MasterKey {
    /// Does not print the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MasterKey")
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    impl MasterKey {
        fn bytes(&self) -> &[u8; 32] {
            match &self.0 {
                Holder::Here(secret) => secret.bytes(),
                Holder::Remote(..) => unreachable!(),
            }
        }
    }

    #[test]
    fn keys_from_files_and_commands() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("master");
        let write = |content: &[u8]| {
            std::fs::write(&path, content).unwrap();
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
            MasterKey::read(&path)
        };
        let made = MasterKey::generate().unwrap();
        assert_ne!(*made, *MasterKey::generate().unwrap());
        let key = write(format!("{}\n", *made).as_bytes()).unwrap();
        assert_eq!(write(key.bytes()).unwrap().bytes(), key.bytes());
        assert_eq!(write(made.to_uppercase().as_bytes()).unwrap().id(), key.id());
        assert_eq!(format!("{key:?}"), "MasterKey");
        assert!(write(&made.as_bytes()[..32]).is_err());
        assert!(write(b"short").unwrap_err().to_string().contains("openssl rand -hex 32"));
        assert!(MasterKey::of_command(&format!("cat {}", path.display())).is_err());
        write(key.bytes()).unwrap();
        assert_eq!(MasterKey::of_command(&format!("cat {}", path.display())).unwrap().bytes(), key.bytes());
        let error = MasterKey::of_command("echo no vault >&2; exit 3").unwrap_err().to_string();
        assert!(error.contains("no vault") && error.contains("exit status: 3"), "{error}");
        assert_ne!(MasterKey::of([1; 32]).id(), MasterKey::of([2; 32]).id());
    }
}
