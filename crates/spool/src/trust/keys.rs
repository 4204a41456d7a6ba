//! The keys of a segment's owners, wrapped, in a file beside it: `.keys`.
//!
//! A header and rows of 96 bytes each, little endian, with a CRC32C in their last four bytes. A chunk's
//! marker names its row.
//!
//! | header | | row | |
//! |---|---|---|---|
//! | 0 | `RTSK` | 0 | owner |
//! | 4 | version, 1 | 8 | when the key was made |
//! | 8 | which master key, 16 bytes | 16 | 3: a key; 4: forgotten (1 and 2: the same with an older hash) |
//! | 24 | salt, 32 bytes | 24 | count of keys under this salt |
//! | | | 32 | the key, wrapped: 32 bytes and the tag of 16 |
//!
//! The wrapping key is HKDF-SHA-256 (RFC 5869) of the master key and the salt, which each start of a writer
//! makes anew. The count is the nonce: no nonce is used twice. An erased row keeps its first 32 bytes. In
//! place of the wrapped key it has the SHA-256 of bytes 32 to 91 as they were, and zeros: so the hash of the
//! row can be computed as before, the segment's seal still matches, and every byte that is left is proven.
//! (Of kinds 1 and 2 it has the hash of the whole row, which leaves the first 32 bytes unproven.)

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use aes_gcm::aead::{AeadInOut, Key, KeyInit};
use aes_gcm::{Aes256Gcm, Nonce, Tag};
use hkdf::Hkdf;
use ringtap_model::Nanos;
use sha2::{Digest, Sha256};
use zeroize::{Zeroize, Zeroizing};

use crate::error::Error;
use crate::segment::marker::{u32_at, u64_at};
use crate::trust::master_key::{Holder, MasterKey};
use crate::trust::random::random;
use crate::trust::remote_keys::{OpenedKey, Session};
use crate::trust::secret::{Secret, wipe_stack};

/// Bytes of a row, and of the header.
pub(crate) const ROW: usize = 96;
const MAGIC: [u8; 4] = *b"RTSK";
const VERSION: u32 = 1;
const OLD_KEY: u32 = 1;
const OLD_FORGOTTEN: u32 = 2;
const KEY: u32 = 3;
const FORGOTTEN: u32 = 4;
const WRAPPED: usize = 32;
const TAG: usize = 64;
const CRC: usize = 92;
const INFO: &[u8] = b"ringtap spool, keys of owners, 1";

/// The bytes of a row, or of the header.
pub(crate) type Bytes = [u8; ROW];

/// The key that encrypts the packets of one owner.
pub(crate) type OwnerKey = Zeroizing<[u8; 32]>;

/// Makes keys, and wraps them.
pub(crate) enum Wrapper {
    /// With a master key of this process.
    Here(Box<LocalWrapper>),
    /// By the process that holds the master key.
    Remote(Session),
}

/// Wraps with a key of its own.
pub(crate) struct LocalWrapper {
    cipher: Aes256Gcm,
    header: Bytes,
    made: u64,
}

impl Wrapper {
    pub(crate) fn new(master: &MasterKey) -> Result<Self, Error> {
        let secret = match master.holder() {
            Holder::Here(secret) => secret,
            Holder::Remote(keys, _) => return keys.session().map(Self::Remote),
        };
        let mut header = [0; ROW];
        header[..4].copy_from_slice(&MAGIC);
        header[4..8].copy_from_slice(&VERSION.to_le_bytes());
        header[8..24].copy_from_slice(&master.id());
        random(&mut header[24..56])?;
        seal_row(&mut header);
        let cipher = wrapping(secret, &header[24..56]);
        Ok(Self::Here(Box::new(LocalWrapper { cipher, header, made: 0 })))
    }

    /// The header of every key file of this writer.
    pub(crate) fn header(&self) -> &Bytes {
        match self {
            Self::Here(local) => &local.header,
            Self::Remote(session) => &session.header,
        }
    }

    /// A new key, and its row. None if the operating system has no randomness, or the process that holds the
    /// master key has ended.
    pub(crate) fn make(&mut self, owner: u64, at: Nanos) -> Option<(OwnerKey, Bytes)> {
        match self {
            Self::Here(local) => local.make(owner, at),
            Self::Remote(session) => session.make(owner, at),
        }
    }
}

impl LocalWrapper {
    fn make(&mut self, owner: u64, at: Nanos) -> Option<(OwnerKey, Bytes)> {
        let mut key = OwnerKey::default();
        random(&mut key[..]).ok()?;
        let mut row = [0; ROW];
        row[0..8].copy_from_slice(&owner.to_le_bytes());
        row[8..16].copy_from_slice(&at.0.to_le_bytes());
        row[16..20].copy_from_slice(&KEY.to_le_bytes());
        row[24..32].copy_from_slice(&self.made.to_le_bytes());
        self.made += 1;
        row[WRAPPED..TAG].copy_from_slice(&key[..]);
        let (head, rest) = row.split_at_mut(WRAPPED);
        let (wrapped, rest) = rest.split_at_mut(TAG - WRAPPED);
        let tag = self.cipher.encrypt_inout_detached(&nonce(head), head, wrapped.into()).ok()?;
        rest[..16].copy_from_slice(&tag);
        seal_row(&mut row);
        Some((key, row))
    }
}

fn wrapping(master: &Secret, salt: &[u8]) -> Aes256Gcm {
    let mut key = Zeroizing::new([0; 32]);
    // It fails only for more than 8 KiB.
    let made = Hkdf::<Sha256>::new(Some(salt), master.bytes()).expand(INFO, &mut key[..]);
    debug_assert!(made.is_ok());
    let cipher = Aes256Gcm::new(&Key::<Aes256Gcm>::from(*key));
    wipe_stack();
    cipher
}

/// The count of keys, from the bytes before the wrapped key.
fn nonce(head: &[u8]) -> Nonce<<Aes256Gcm as aes_gcm::AeadCore>::NonceSize> {
    let mut nonce = [0; 12];
    nonce[..8].copy_from_slice(&head[24..32]);
    nonce.into()
}

fn seal_row(row: &mut Bytes) {
    let crc = ringtap_cpu::crc32c(0, &row[..CRC]);
    row[CRC..].copy_from_slice(&crc.to_le_bytes());
}

fn is_whole(row: &Bytes) -> bool {
    u32_at(row, CRC) == Some(ringtap_cpu::crc32c(0, &row[..CRC]))
}

/// Whether these bytes begin with the header of a key file.
pub(crate) fn is_header(bytes: &[u8]) -> bool {
    bytes[..4] == MAGIC
        && u32_at(bytes, 4) == Some(VERSION)
        && u32_at(bytes, CRC) == Some(ringtap_cpu::crc32c(0, &bytes[..CRC]))
}

/// A row on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyRow {
    /// Who has the master key can open it.
    Key(Bytes),
    /// The key was erased: nobody can open it.
    Forgotten(Bytes),
    /// The row is not as it was written.
    Damaged,
}

impl KeyRow {
    pub(crate) fn of(row: &Bytes) -> Self {
        let is_blank = row[TAG..CRC].iter().all(|byte| *byte == 0);
        match u32_at(row, 16) {
            Some(KEY | OLD_KEY) if is_whole(row) => Self::Key(*row),
            Some(FORGOTTEN | OLD_FORGOTTEN) if is_whole(row) && is_blank => Self::Forgotten(*row),
            _ => Self::Damaged,
        }
    }

    pub(crate) fn owner(&self) -> Option<u64> {
        match self {
            Self::Key(row) | Self::Forgotten(row) => u64_at(row, 0),
            Self::Damaged => None,
        }
    }

    pub(crate) fn made(&self) -> Option<Nanos> {
        match self {
            Self::Key(row) | Self::Forgotten(row) => u64_at(row, 8).map(Nanos),
            Self::Damaged => None,
        }
    }

    /// What the seal says of the row: also if it has been erased since.
    fn digest(&self) -> Option<[u8; 32]> {
        match self {
            Self::Key(row) if u32_at(row, 16) == Some(OLD_KEY) => Some(whole_digest(row)),
            Self::Key(row) => Some(digest(&row[..WRAPPED], &wrapped_digest(row))),
            Self::Forgotten(row) => {
                let before: [u8; 32] = row[WRAPPED..TAG].try_into().ok()?;
                if u32_at(row, 16) == Some(OLD_FORGOTTEN) {
                    return Some(before);
                }
                let mut head = [0; WRAPPED];
                head.copy_from_slice(&row[..WRAPPED]);
                head[16..20].copy_from_slice(&KEY.to_le_bytes());
                Some(digest(&head, &before))
            }
            Self::Damaged => None,
        }
    }
}

fn digest(head: &[u8], wrapped: &[u8; 32]) -> [u8; 32] {
    Sha256::new().chain_update(head).chain_update(wrapped).finalize().into()
}

/// The hash that takes the place of a wrapped key.
fn wrapped_digest(row: &Bytes) -> [u8; 32] {
    Sha256::digest(&row[WRAPPED..CRC]).into()
}

fn whole_digest(row: &Bytes) -> [u8; 32] {
    Sha256::digest(row).into()
}

/// What a seal says of keys: SHA-256 over the header and a hash of each row. Erasing keys does not change it.
#[derive(Clone, Default)]
pub(crate) struct Proof(Sha256);

impl Proof {
    /// Adds the next bytes of the file: in whole rows, except at the end.
    pub(crate) fn update(&mut self, bytes: &[u8], offset: u64) {
        let (header, rows) = bytes.split_at(if offset == 0 { ROW.min(bytes.len()) } else { 0 });
        self.0.update(header);
        let (rows, rest) = rows.as_chunks::<ROW>();
        for row in rows {
            self.0.update(KeyRow::of(row).digest().unwrap_or_else(|| whole_digest(row)));
        }
        self.0.update(rest);
    }

    pub(crate) fn end(self) -> [u8; 32] {
        self.0.finalize().into()
    }
}

/// The proof of a whole file.
pub(crate) fn proof(bytes: &[u8]) -> [u8; 32] {
    let mut proof = Proof::default();
    proof.update(bytes, 0);
    proof.end()
}

/// The row once its key is erased.
pub(crate) fn forgotten(row: &Bytes) -> Bytes {
    let (kind, before) = match u32_at(row, 16) {
        Some(OLD_KEY) => (OLD_FORGOTTEN, whole_digest(row)),
        _ => (FORGOTTEN, wrapped_digest(row)),
    };
    let mut gone = *row;
    gone[16..20].copy_from_slice(&kind.to_le_bytes());
    gone[WRAPPED..TAG].copy_from_slice(&before);
    gone[TAG..CRC].zeroize();
    seal_row(&mut gone);
    gone
}

/// An open key file.
#[derive(Debug)]
pub(crate) struct Keys {
    file: File,
    /// None if it is damaged.
    header: Option<Bytes>,
}

impl Keys {
    pub(crate) fn open(file: File) -> io::Result<Self> {
        let mut header = [0; ROW];
        let whole = match file.read_exact_at(&mut header, 0) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => false,
            other => {
                other?;
                is_header(&header)
            }
        };
        Ok(Self { file, header: whole.then_some(header) })
    }

    /// None if the file has no such row.
    pub(crate) fn row(&self, number: u32) -> io::Result<Option<KeyRow>> {
        let mut row = [0; ROW];
        match self.file.read_exact_at(&mut row, at(number)) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            other => other.map(|()| Some(KeyRow::of(&row))),
        }
    }

    /// All complete rows, in order.
    pub(crate) fn rows(&self) -> io::Result<Vec<KeyRow>> {
        let rows = (self.file.metadata()?.len() / ROW as u64).saturating_sub(1);
        let mut bytes = vec![0; rows as usize * ROW];
        self.file.read_exact_at(&mut bytes, ROW as u64)?;
        let (rows, _) = bytes.as_chunks::<ROW>();
        Ok(rows.iter().map(KeyRow::of).collect())
    }

    /// Opens the key of a row with the master key that wrapped it.
    ///
    /// # Errors
    ///
    /// The process that holds the master key does not answer.
    pub(crate) fn unwrap(&self, row: &KeyRow, masters: &[MasterKey]) -> Result<Unwrapped, Error> {
        match (&self.header, row) {
            (Some(header), KeyRow::Key(bytes)) => unwrap(header, bytes, masters),
            _ => Ok(Unwrapped::Damaged),
        }
    }

    /// Overwrites rows.
    pub(crate) fn forget(&self, rows: &[(u32, Bytes)]) -> io::Result<()> {
        for (number, row) in rows {
            self.file.write_all_at(&forgotten(row), at(*number))?;
        }
        self.file.sync_data()
    }
}

/// The result of opening a key.
pub(crate) enum Unwrapped {
    Key(OwnerKey),
    /// None of the master keys wrapped it.
    Locked,
    /// The row is not as it was written.
    Damaged,
}

/// Opens the key of a row of a file with that header, with the master key that wrapped it.
///
/// # Errors
///
/// The process that holds the master key does not answer.
pub(crate) fn unwrap(header: &Bytes, row: &Bytes, masters: &[MasterKey]) -> Result<Unwrapped, Error> {
    let Some(master) = masters.iter().find(|master| master.id()[..] == header[8..24]) else {
        return Ok(Unwrapped::Locked);
    };
    let cipher = match master.holder() {
        Holder::Here(secret) => wrapping(secret, &header[24..56]),
        Holder::Remote(keys, _) => {
            return keys.unwrap(header, row).map(|opened| match opened {
                OpenedKey::Key(key) => Unwrapped::Key(key),
                OpenedKey::Locked => Unwrapped::Locked,
                OpenedKey::Damaged => Unwrapped::Damaged,
            });
        }
    };
    let (head, rest) = row.split_at(WRAPPED);
    let mut key = OwnerKey::default();
    key.copy_from_slice(&rest[..32]);
    let Ok(tag) = <[u8; 16]>::try_from(&row[TAG..TAG + 16]) else { return Ok(Unwrapped::Damaged) };
    match cipher.decrypt_inout_detached(&nonce(head), head, (&mut key[..]).into(), &Tag::from(tag)) {
        Ok(()) => Ok(Unwrapped::Key(key)),
        Err(_) => Ok(Unwrapped::Damaged),
    }
}

/// The offset of a row in the file.
pub(crate) const fn at(number: u32) -> u64 {
    (number as u64 + 1) * ROW as u64
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    const NOW: Nanos = Nanos(1_795_219_200_000_000_001);

    fn file(wrapper: &Wrapper, rows: &[Bytes]) -> Keys {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(wrapper.header()).unwrap();
        rows.iter().for_each(|row| file.write_all(row).unwrap());
        Keys::open(file).unwrap()
    }

    #[test]
    fn a_key_comes_back_by_its_master_key_alone() {
        let (master, other) = (MasterKey::of([1; 32]), MasterKey::of([2; 32]));
        let mut wrapper = Wrapper::new(&master).unwrap();
        let (key, row) = wrapper.make(7, NOW).unwrap();
        let (second, second_row) = wrapper.make(7, NOW).unwrap();
        assert_ne!(*key, *second);
        assert!(!row.windows(32).any(|window| window == &key[..]));
        let keys = file(&wrapper, &[row, second_row]);
        let read = keys.row(0).unwrap().unwrap();
        assert_eq!((read.owner(), read.made(), keys.row(2).unwrap()), (Some(7), Some(NOW), None));
        let masters = [other.clone(), master.clone()];
        assert!(matches!(keys.unwrap(&read, &masters), Ok(Unwrapped::Key(it)) if it == key));
        assert!(matches!(keys.unwrap(&read, &[other]), Ok(Unwrapped::Locked)));
        // Not even with a checksum that fits.
        let mut bad = row;
        bad[0] ^= 1;
        seal_row(&mut bad);
        assert!(matches!(keys.unwrap(&KeyRow::of(&bad), &[master]), Ok(Unwrapped::Damaged)));
    }

    #[test]
    fn what_is_forgotten_is_gone_and_can_be_proven() {
        let master = MasterKey::of([1; 32]);
        let mut wrapper = Wrapper::new(&master).unwrap();
        let rows: Vec<Bytes> = (0..3).map(|owner| wrapper.make(owner, NOW).unwrap().1).collect();
        let keys = file(&wrapper, &rows);
        let before: Vec<_> = keys.rows().unwrap().iter().map(KeyRow::digest).collect();
        let whole = |keys: &Keys| {
            let mut bytes = vec![0; 4 * ROW];
            keys.file.read_exact_at(&mut bytes, 0).unwrap();
            bytes
        };
        let proven = proof(&whole(&keys));
        let mut pieces = Proof::default();
        pieces.update(&whole(&keys)[..2 * ROW], 0);
        pieces.update(&whole(&keys)[2 * ROW..], 2 * ROW as u64);
        assert_eq!(pieces.end(), proven);
        keys.forget(&[(1, rows[1])]).unwrap();
        assert_eq!(proof(&whole(&keys)), proven);
        let after = keys.rows().unwrap();
        assert_eq!(after.iter().map(KeyRow::digest).collect::<Vec<_>>(), before);
        assert!(matches!(after[1], KeyRow::Forgotten(_)));
        assert_eq!((after[1].owner(), after[1].made()), (Some(1), Some(NOW)));
        let KeyRow::Forgotten(gone) = after[1] else { unreachable!() };
        let wrapped = &rows[1][WRAPPED..TAG + 16];
        assert!(gone.windows(4).all(|window| !wrapped.windows(4).any(|part| part == window)));
        assert!(matches!(keys.unwrap(&after[1], &[master]), Ok(Unwrapped::Damaged)));
    }

    /// Also if the checksum of the row is written anew.
    #[test]
    fn every_byte_of_a_forgotten_row_is_proven() {
        let mut wrapper = Wrapper::new(&MasterKey::of([1; 32])).unwrap();
        let row = wrapper.make(1, NOW).unwrap().1;
        let file = |row: &Bytes| [*wrapper.header(), *row].concat();
        let proven = proof(&file(&row));
        let gone = forgotten(&row);
        assert_eq!(proof(&file(&gone)), proven);
        for at in 0..CRC {
            let mut bad = gone;
            bad[at] ^= 0x40;
            seal_row(&mut bad);
            assert_ne!(proof(&file(&bad)), proven, "byte {at}");
        }
    }

    /// Rows that an older version wrote.
    #[test]
    fn rows_of_the_older_kind_still_match_their_seals() {
        let mut wrapper = Wrapper::new(&MasterKey::of([1; 32])).unwrap();
        let mut row = wrapper.make(1, NOW).unwrap().1;
        row[16..20].copy_from_slice(&OLD_KEY.to_le_bytes());
        seal_row(&mut row);
        let written: [u8; 32] =
            Sha256::new().chain_update(wrapper.header()).chain_update(Sha256::digest(row)).finalize().into();
        for row in [row, forgotten(&row)] {
            assert_eq!(proof(&[*wrapper.header(), row].concat()), written);
        }
    }

    #[test]
    fn every_changed_byte_of_a_row_is_found() {
        let mut wrapper = Wrapper::new(&MasterKey::of([1; 32])).unwrap();
        let row = wrapper.make(1, NOW).unwrap().1;
        for row in [row, forgotten(&row)] {
            for at in 0..ROW {
                let mut bad = row;
                bad[at] ^= 0x40;
                assert_eq!(KeyRow::of(&bad), KeyRow::Damaged, "byte {at}");
            }
        }
        let header = *wrapper.header();
        for at in 0..ROW {
            let mut bad = header;
            bad[at] ^= 0x40;
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&bad).unwrap();
            assert!(Keys::open(file).unwrap().header.is_none(), "byte {at}");
        }
    }
}
