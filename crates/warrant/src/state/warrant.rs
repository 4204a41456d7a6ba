//! Warrants.

use ringtap_model::Nanos;
use serde::{Deserialize, Serialize};

use super::task::Task;
use super::text::check_text;
use crate::error::Refused;
use crate::hex::sha256_hex;
use crate::liid::Liid;
use crate::order::{CountryCode, Delivers, Order, PayloadKey};
use crate::secret_text::SecretText;
use crate::target::Target;

/// What an officer enters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewWarrant {
    /// Identifies the interception to the agency.
    pub liid: Liid,
    /// The number of the case.
    pub case_number: SecretText,
    /// The court or authority that has ordered it.
    pub authority: SecretText,
    /// The law and the order that it rests on.
    pub legal_basis: SecretText,
    /// Who asked for it.
    pub requester: SecretText,
    /// Whose law it is by.
    pub authorisation_country: CountryCode,
    /// Where it is delivered.
    pub delivery_country: CountryCode,
    /// Name of the agency that it is delivered to.
    pub agency: String,
    /// Number of the mediation function, where there are several.
    #[serde(default)]
    pub mediation_function: Option<u32>,
    /// Identifies the operator to the agency.
    pub operator: String,
    /// From this time on.
    #[serde(rename = "begins_us")]
    pub begins: Nanos,
    /// Before this time.
    #[serde(rename = "ends_us")]
    pub ends: Nanos,
    /// Which part is delivered.
    pub delivers: Delivers,
    /// Encrypts payloads.
    #[serde(default)]
    pub payload_key: Option<PayloadKey>,
    /// Whom it is about.
    pub targets: Vec<Target>,
}

impl NewWarrant {
    /// Each target once; times in microseconds, as acts have them.
    pub(crate) fn normalised(mut self) -> Self {
        self.targets.sort_unstable();
        self.targets.dedup();
        self.begins = Nanos::from_micros(self.begins.micros());
        self.ends = Nanos::from_micros(self.ends.micros());
        self
    }

    pub(crate) fn check(&self, time: Nanos) -> Result<(), Refused> {
        let texts = [
            ("case number", &self.case_number, 128),
            ("authority", &self.authority, 512),
            ("legal basis", &self.legal_basis, 1024),
            ("requester", &self.requester, 512),
        ];
        texts.into_iter().try_for_each(|(field, text, most)| check_text(field, text, most))?;
        let is_name = |text: &str, most, others: &[u8]| {
            let is_right = |byte: u8| byte.is_ascii_alphanumeric() || others.contains(&byte);
            !text.is_empty() && text.len() <= most && text.bytes().all(is_right)
        };
        if !is_name(&self.agency, 64, b".-_") {
            let problem = "1 to 64 letters, digits, `.`, `-` and `_`";
            return Err(Refused::Field { field: "agency", problem });
        }
        if !is_name(&self.operator, 16, b".-_ ") {
            let problem = "1 to 16 letters, digits, spaces, `.`, `-` and `_`";
            return Err(Refused::Field { field: "operator", problem });
        }
        if self.ends <= self.begins || self.ends <= time {
            return Err(Refused::Period);
        }
        let is_in_order = self.targets.is_sorted_by(|one, other| one < other);
        if !(1..=MOST_TARGETS).contains(&self.targets.len()) || !is_in_order {
            return Err(Refused::Targets);
        }
        Ok(())
    }
}

/// That an interception was stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StopProof {
    /// When it was.
    #[serde(rename = "at_us")]
    pub at: Nanos,
    /// The time of the last content, if there was any.
    #[serde(rename = "last_content_us")]
    pub last_content: Option<Nanos>,
    /// Who or what stopped it.
    pub by: String,
}

/// An extension, by an order of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Extension {
    /// The new end.
    #[serde(rename = "ends_us")]
    pub ends: Nanos,
    /// The number of the order that extends it.
    pub reference: SecretText,
    /// The court or authority that has ordered it.
    pub authority: SecretText,
}

/// An extension that was entered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct EnteredExtension {
    pub(crate) extension: Extension,
    pub(crate) entered_by: SecretText,
    #[serde(rename = "entered_us")]
    pub(crate) entered: Nanos,
    pub(crate) approved_by: Option<SecretText>,
    #[serde(rename = "approved_us")]
    pub(crate) approved: Option<Nanos>,
}

/// Where a warrant is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It waits for another officer.
    Draft,
    /// Approved; it waits for its begin.
    Waiting,
    /// In force.
    Active,
    /// Its time is over.
    Ended,
    /// An officer has ended it.
    Withdrawn,
}

impl Status {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Draft => "draft",
            Self::Waiting => "waiting",
            Self::Active => "active",
            Self::Ended => "ended",
            Self::Withdrawn => "withdrawn",
        }
    }
}

/// A warrant of a register, as officers and auditors see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Warrant {
    /// Its number in the register, by which people name it: it tells nothing.
    pub id: u32,
    /// What was entered; its end with extensions.
    pub entered: NewWarrant,
    /// The task that it is, where an administration function has provisioned it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<Task>,
    /// Who entered it.
    pub entered_by: SecretText,
    /// When.
    #[serde(rename = "entered_at_us")]
    pub entered_at: Nanos,
    /// Who approved it: another person.
    pub approved_by: Option<SecretText>,
    /// When.
    #[serde(rename = "approved_at_us")]
    pub approved_at: Option<Nanos>,
    /// Approved ones, and at the end perhaps one that waits.
    pub(crate) extensions: Vec<EnteredExtension>,
    /// Who withdrew it, when, and why.
    pub withdrawn: Option<(SecretText, Nanos, SecretText)>,
    /// Who noted what, when.
    pub notes: Vec<(SecretText, Nanos, SecretText)>,
    /// When the service began, the last time.
    #[serde(rename = "begun_us")]
    pub begun: Option<Nanos>,
    /// When it was noticed that it had ended.
    #[serde(rename = "ended_us")]
    pub ended: Option<Nanos>,
    /// That the service has stopped.
    pub stopped: Vec<StopProof>,
    /// How often it was looked at, whole.
    pub looks: u64,
    /// Who looked last, and when.
    pub last_look: Option<(SecretText, Nanos)>,
}

impl Warrant {
    pub(crate) fn new(id: u32, entered: NewWarrant, by: SecretText, at: Nanos) -> Self {
        Self {
            id,
            entered,
            task: None,
            entered_by: by,
            entered_at: at,
            approved_by: None,
            approved_at: None,
            extensions: Vec::new(),
            withdrawn: None,
            notes: Vec::new(),
            begun: None,
            ended: None,
            stopped: Vec::new(),
            looks: 0,
            last_look: None,
        }
    }

    /// Its status at a time of the register.
    pub fn status(&self, time: Nanos) -> Status {
        match () {
            () if self.withdrawn.is_some() => Status::Withdrawn,
            () if self.ended.is_some() || time >= self.entered.ends => Status::Ended,
            () if self.approved_at.is_none() => Status::Draft,
            () if time < self.entered.begins => Status::Waiting,
            () => Status::Active,
        }
    }

    /// Whether it can come into force, or is.
    pub(crate) fn is_over(&self, time: Nanos) -> bool {
        matches!(self.status(time), Status::Ended | Status::Withdrawn)
    }

    /// Whether this officer can approve something of it: what somebody else has entered, while it counts.
    pub fn waits_for(&self, name: &str, time: Nanos) -> bool {
        let entered_by = match self.approved_at {
            None => Some(&*self.entered_by),
            Some(_) => self.pending_extension().map(|(_, by)| by),
        };
        !self.is_over(time) && entered_by.is_some_and(|by| by != name)
    }

    /// The extension that waits for its approval.
    pub fn pending_extension(&self) -> Option<(&Extension, &str)> {
        let last = self.extensions.last().filter(|last| last.approved.is_none())?;
        Some((&last.extension, &last.entered_by))
    }

    /// When its newest extension was entered.
    pub fn last_extended(&self) -> Option<Nanos> {
        self.extensions.last().map(|last| last.entered)
    }

    /// Its extensions: each with who entered it and who approved it.
    pub fn extensions(&self) -> impl Iterator<Item = (&Extension, &str, Option<&str>)> {
        self.extensions
            .iter()
            .map(|entered| (&entered.extension, &*entered.entered_by, entered.approved_by.as_deref()))
    }

    /// Approves the extension that waits.
    pub(super) fn approve_extension(&mut self, by: &SecretText, time: Nanos) -> Result<(), Refused> {
        let entered = self.extensions.last_mut().filter(|last| last.approved.is_none());
        let entered = entered.ok_or(Refused::NothingToApprove)?;
        (entered.approved_by, entered.approved) = (Some(by.clone()), Some(time));
        self.entered.ends = entered.extension.ends;
        Ok(())
    }

    /// SHA-256, as hex digits, of the whole record that an approval is about: what was entered and by whom,
    /// and extensions.
    pub fn hash(&self) -> String {
        // Serialising texts and numbers cannot fail.
        let whole = (self.id, &self.entered, &self.entered_by, self.entered_at, &self.extensions);
        let mut text = zeroize::Zeroizing::new(serde_json::to_vec(&whole).unwrap_or_default());
        if let Some(task) = &self.task {
            text.extend(serde_json::to_vec(&(task.xid, &task.admf, task.replaces)).unwrap_or_default());
        }
        sha256_hex(&text)
    }

    /// What it asks of the service.
    pub(crate) fn order(&self) -> Order {
        let entered = &self.entered;
        Order {
            liid: entered.liid.clone(),
            authorisation_country: entered.authorisation_country,
            delivery_country: entered.delivery_country,
            delivers: entered.delivers,
            targets: entered.targets.clone(),
            agency: entered.agency.clone(),
            mediation_function: entered.mediation_function,
            operator: entered.operator.clone(),
            begins: entered.begins,
            ends: entered.ends,
            payload_key: entered.payload_key.clone(),
        }
    }
}

/// Targets of one warrant.
const MOST_TARGETS: usize = 256;
