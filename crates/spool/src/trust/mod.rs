//! Encryption, signatures and proofs.

pub(crate) mod chain;
pub(crate) mod chain_end;
pub(crate) mod chunk_sealer;
pub(crate) mod deletion_entry;
pub(crate) mod deletion_log;
pub(crate) mod deletion_summary;
pub(crate) mod head;
pub(crate) mod key_service;
pub(crate) mod keys;
pub(crate) mod master_key;
pub(crate) mod open_list;
pub(crate) mod open_segment;
pub(crate) mod provenance;
pub(crate) mod random;
pub(crate) mod recovery;
pub(crate) mod remote_keys;
pub(crate) mod seal;
pub(crate) mod secret;
pub(crate) mod secret_file;
pub(crate) mod sign;
pub(crate) mod signed_file;
pub(crate) mod unsigned_list;
pub(crate) mod verify;
