//! An administration function, and what its tasks may ask for.

use ringtap_model::Nanos;
use serde::{Deserialize, Serialize};

use crate::error::Refused;
use crate::order::CountryCode;
use crate::secret_text::SecretText;
use crate::state::text::check_text;
use crate::state::warrant::NewWarrant;

/// What two officers register of an administration function. Tasks of X1 say nothing of the law that they
/// rest on: the fields from `authority` to `operator` are those of every warrant that it provisions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewAdmf {
    /// The `admfIdentifier` of its messages.
    pub identifier: String,
    /// SHA-256 of each client certificate by which it is known, as hex digits.
    pub certificates: Vec<String>,
    /// Its tasks are in force without an officer's approval.
    pub activates: bool,
    /// The court or authority on whose orders it acts.
    pub authority: SecretText,
    /// The law that its orders rest on.
    pub legal_basis: SecretText,
    /// Who asks for its tasks.
    pub requester: SecretText,
    /// Whose law it is by.
    pub authorisation_country: CountryCode,
    /// Where it is delivered.
    pub delivery_country: CountryCode,
    /// Identifies the operator to the agency.
    pub operator: String,
    /// Agencies that its product may be delivered to.
    pub agencies: Vec<String>,
    /// Its tasks last so many days at most. Without it, each task has to say when it ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest_days: Option<u32>,
}

impl NewAdmf {
    pub(crate) fn normalised(mut self) -> Self {
        self.certificates.iter_mut().for_each(|digits| digits.make_ascii_lowercase());
        self.certificates.sort_unstable();
        self.certificates.dedup();
        self.agencies.sort_unstable();
        self.agencies.dedup();
        self
    }

    pub(crate) fn check(&self) -> Result<(), Refused> {
        let wrong = |field, problem| Err(Refused::Field { field, problem });
        let is_name = |text: &str, most| {
            let is_right = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
            (1..=most).contains(&text.len()) && text.bytes().all(is_right)
        };
        if !is_name(&self.identifier, 64) {
            return wrong("identifier", "1 to 64 letters, digits, `.`, `-` and `_`");
        }
        let is_hash = |hash: &String| {
            hash.len() == 64 && hash.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        };
        if !(1..=MOST_CERTIFICATES).contains(&self.certificates.len())
            || !self.certificates.iter().all(is_hash)
        {
            return wrong("certificates", "1 to 4 certificates");
        }
        if !(1..=MOST_AGENCIES).contains(&self.agencies.len())
            || !self.agencies.iter().all(|agency| is_name(agency, 64))
        {
            return wrong("agencies", "1 to 16 names of letters, digits, `.`, `-` and `_`");
        }
        if self.operator.is_empty() || self.operator.len() > 16 {
            return wrong("operator", "1 to 16 letters, digits, spaces, `.`, `-` and `_`");
        }
        if self.longest_days.is_some_and(|days| !(1..=MOST_DAYS).contains(&days)) {
            return wrong("longest time", "1 to 3,660 days");
        }
        check_text("authority", &self.authority, 512)?;
        check_text("legal basis", &self.legal_basis, 1024)?;
        check_text("requester", &self.requester, 512)
    }

    /// The longest time of a task.
    pub fn longest(&self) -> Option<Nanos> {
        self.longest_days.map(|days| Nanos::from_secs(u64::from(days) * 86_400))
    }
}

/// An administration function that is registered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Admf {
    /// What was registered.
    pub entry: NewAdmf,
    /// Who proposed it.
    pub proposed_by: SecretText,
    /// Who confirmed it: another officer.
    pub confirmed_by: SecretText,
    /// It may do nothing any more.
    pub disabled: bool,
}

impl Admf {
    /// Whether a warrant is one that it may provision.
    pub(crate) fn check(&self, warrant: &NewWarrant) -> Result<(), Refused> {
        if !self.entry.agencies.contains(&warrant.agency) {
            return Err(Refused::NotItsAgency);
        }
        self.check_end(warrant.begins, warrant.ends)
    }

    pub(crate) fn check_end(&self, begins: Nanos, ends: Nanos) -> Result<(), Refused> {
        let is_too_long = self.entry.longest().is_some_and(|longest| ends.since(begins) > longest);
        if is_too_long { Err(Refused::TooLong) } else { Ok(()) }
    }

    /// By whom its tasks are approved, if it may activate them.
    pub(crate) fn delegation(&self) -> Option<SecretText> {
        let (one, other) = (&*self.proposed_by, &*self.confirmed_by);
        let text = || format!("admf:{}, delegated by {one} and {other}", self.entry.identifier);
        self.entry.activates.then(|| text().into())
    }
}

/// So that one can be replaced while the one before it is still used.
const MOST_CERTIFICATES: usize = 4;
const MOST_AGENCIES: usize = 16;
const MOST_DAYS: u32 = 3_660;
