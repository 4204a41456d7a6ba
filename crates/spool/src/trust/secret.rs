//! 32 secret bytes in one place of memory.

use std::sync::Arc;

use ringtap_cpu::{SecretPage, keep_in_memory};
use zeroize::Zeroize;

/// A secret. Clones share its one place in memory, which is wiped when the last of them is dropped.
#[derive(Clone)]
pub(crate) struct Secret(Arc<Wiped>);

struct Wiped(Box<SecretPage>);

impl Drop for Wiped {
    fn drop(&mut self) {
        self.0.0[..LENGTH].zeroize();
    }
}

impl Secret {
    /// Has the bytes written where they stay. None if that fails.
    pub(crate) fn written(write: impl FnOnce(&mut [u8; LENGTH]) -> Option<()>) -> Option<Self> {
        let mut page = Box::new(SecretPage([0; _]));
        // Where the system does not permit it, the secret may get into swap space.
        keep_in_memory(&mut page);
        let mut secret = Wiped(page);
        write(secret.0.0.first_chunk_mut()?)?;
        Some(Self(Arc::new(secret)))
    }

    pub(crate) fn bytes(&self) -> &[u8; LENGTH] {
        // A page has more.
        self.0.0.0.first_chunk().unwrap_or_else(|| unreachable!())
    }
}

/// Overwrites the part of the stack that functions used which were called before: the digests of other crates
/// leave copies of what they digested.
#[inline(never)]
pub(crate) fn wipe_stack() {
    let mut used = [0xff_u8; 16 << 10];
    used.zeroize();
    std::hint::black_box(&mut used);
}

/// Bytes of a secret.
const LENGTH: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_share_one_place() {
        let secret = Secret::written(|bytes| {
            bytes.fill(7);
            Some(())
        });
        let secret = secret.unwrap();
        let clone = secret.clone();
        assert_eq!((clone.bytes(), clone.bytes().as_ptr()), (&[7; 32], secret.bytes().as_ptr()));
        drop(secret);
        assert_eq!(clone.bytes(), &[7; 32]);
        assert!(Secret::written(|_| None).is_none());
    }
}
