//! The registration record.

use serde::Serialize;

use crate::call::{micros, micros_or_null};
use crate::{Endpoint, Id, Nanos};

/// Where a registration stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RegistrationState {
    /// Accepted and not run out when the input ended.
    Active,
    /// Accepted once, then run out, or never answered.
    Expired,
    /// Removed by the user agent (expires 0).
    Removed,
    /// Answered with a final failure.
    Refused,
}

/// One address of record at one registrar: its REGISTERs from first to last.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename = "registration")]
pub struct Registration {
    /// Derived from the address of record, the Call-ID and the first REGISTER's time and hosts.
    pub id: Id,
    /// Address of record, `user@host` of To (RFC 3261 section 10.2).
    pub aor: String,
    /// Contact URI of the last REGISTER.
    pub contact: Option<String>,
    /// Where the first REGISTER came from.
    pub src: Endpoint,
    /// Where it went.
    pub dst: Endpoint,
    /// User-Agent.
    pub user_agent: Option<String>,
    /// Where it stands.
    pub state: RegistrationState,
    /// Last final answer, 0 when none.
    pub code: u16,
    /// First REGISTER.
    #[serde(rename = "first_us", serialize_with = "micros::serialize")]
    pub first: Nanos,
    /// Last message.
    #[serde(rename = "last_us", serialize_with = "micros::serialize")]
    pub last: Nanos,
    /// When the binding runs out.
    #[serde(rename = "expires_us", serialize_with = "micros_or_null::serialize")]
    pub expires: Option<Nanos>,
    /// REGISTER requests seen, repeats included.
    pub requests: u32,
}
