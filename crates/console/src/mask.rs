//! The key under which numbers are hidden from those who may not see them.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::{Context, bail};

/// The key of this installation: made at the first start, and kept, since tokens would change with it.
pub(crate) fn key(dir: &Path) -> anyhow::Result<[u8; 32]> {
    let path = dir.join("masking.key");
    let named = || format!("the key that hides numbers, {}", path.display());
    match fs::read(&path) {
        Ok(bytes) => match <[u8; 32]>::try_from(&*bytes) {
            Ok(key) => Ok(key),
            Err(_) => bail!("{} has {} bytes instead of 32: restore it from a backup", named(), bytes.len()),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let mut key = [0; 32];
            getrandom::fill(&mut key).map_err(|error| anyhow::anyhow!("no random bytes: {error}"))?;
            let mut file = OpenOptions::new();
            let file = file.write(true).create_new(true).mode(0o600).open(&path);
            let write = |mut file: fs::File| {
                file.write_all(&key)?;
                file.sync_all()
            };
            file.and_then(write).with_context(|| format!("{} cannot be written", named()))?;
            Ok(key)
        }
        Err(error) => Err(error).with_context(|| format!("{} cannot be read", named())),
    }
}
