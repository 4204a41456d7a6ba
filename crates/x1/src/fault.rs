//! Errors of X1 (TS 103 221-1 clause 6.7).

/// Why a message is refused. It does not repeat what was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// `errorCode`.
    pub(crate) code: u16,
    /// `errorDescription`.
    pub(crate) text: String,
}

impl Fault {
    pub(crate) fn new(code: u16, text: impl Into<String>) -> Self {
        Self { code, text: text.into() }
    }

    /// The message is not as the schema has it.
    pub(crate) fn schema(text: impl Into<String>) -> Self {
        Self::new(SCHEMA, text)
    }
}

pub(crate) const GENERIC: u16 = 1000;
pub(crate) const SCHEMA: u16 = 1010;
pub(crate) const VERSION: u16 = 1020;
/// The ADMF is not that of the certificate.
pub(crate) const CERTIFICATE: u16 = 1030;
/// The message is for another network element.
pub(crate) const NE: u16 = 1060;
pub(crate) const UNSUPPORTED: u16 = 1080;
pub(crate) const XID_EXISTS: u16 = 2010;
pub(crate) const NO_XID: u16 = 2020;
pub(crate) const DID_EXISTS: u16 = 2030;
pub(crate) const NO_DID: u16 = 2040;
pub(crate) const ACTIVATE: u16 = 3000;
pub(crate) const MODIFY: u16 = 3001;
pub(crate) const TARGET: u16 = 3010;
pub(crate) const TARGETS_TOGETHER: u16 = 3020;
pub(crate) const SEVERAL_DESTINATIONS: u16 = 3030;
/// What is delivered, and where, do not fit.
pub(crate) const DELIVERY: u16 = 3040;
pub(crate) const SERVICE: u16 = 3050;
pub(crate) const DEACTIVATE: u16 = 4000;
pub(crate) const DEACTIVATE_ALL: u16 = 5000;
pub(crate) const CREATE_DESTINATION: u16 = 6000;
pub(crate) const MODIFY_DESTINATION: u16 = 6001;
pub(crate) const ADDRESS: u16 = 6020;
pub(crate) const REMOVE_DESTINATION: u16 = 7000;
pub(crate) const DESTINATION_IN_USE: u16 = 7010;
pub(crate) const REMOVE_ALL_DESTINATIONS: u16 = 8000;
pub(crate) const DESTINATIONS_IN_USE: u16 = 8010;
/// Of reports: a warning.
pub(crate) const WARNING: u16 = 9010;
/// Of reports: something is missing, and the task goes on.
pub(crate) const NOT_TERMINATING: u16 = 9020;
/// Of reports: the task does not go on.
pub(crate) const TERMINATING: u16 = 9030;
