//! The register of warrants: for its officers and auditors alone.
//!
//! Looks are written (`POST`), since each is an act that has a reason, and no reason stands in an address.

pub(crate) mod acts;
pub(crate) mod changes;
mod entry;
pub(crate) mod list;
pub(crate) mod officer;
pub(crate) mod people;
pub(crate) mod record;
pub(crate) mod session;

use serde::Deserialize;
use utoipa::ToSchema;

use ringtap_warrant::SecretText;

/// Why somebody looks or acts.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Reason)]
pub(crate) struct Why {
    /// The reason, which is recorded: 1 to 1,024 bytes.
    #[schema(value_type = String, example = "yearly audit")]
    pub(crate) why: SecretText,
}
