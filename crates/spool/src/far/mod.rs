//! Far storage: what the spool needs of it, and transfers to and from it.

pub(crate) mod remote;
pub(crate) mod service;
pub(crate) mod storage;
pub(crate) mod transfer;
pub(crate) mod transfers;
