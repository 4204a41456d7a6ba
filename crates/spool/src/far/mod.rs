pub(crate) mod storage;
pub(crate) mod transfer;
