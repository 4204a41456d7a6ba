//! A request, and what became of it.

use std::fmt;
use std::str::FromStr;

use ringtap_model::Nanos;
use serde::{Deserialize, Serialize};

use super::ages::{DataAges, MONTHS};
use super::subject::Subject;
use crate::error::Refused;
use crate::hex::sha256_hex;
use crate::secret_text::SecretText;
use crate::state::produced::ProducedFile;
use crate::state::text::check_text;

/// Which data is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Category {
    /// Calls: with whom, when, and how they ended.
    Telephony,
    /// Access to the Internet: log-ins, log-offs and addresses.
    InternetAccess,
}

impl Category {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Telephony, Self::InternetAccess];

    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Telephony => "telephony",
            Self::InternetAccess => "internet-access",
        }
    }
}

impl FromStr for Category {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|category| category.name() == text);
        found.ok_or_else(|| "a category is `telephony` or `internet-access`".to_owned())
    }
}

/// What an officer enters of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewRequest {
    /// The number of the case.
    pub case_number: SecretText,
    /// The authority that asks.
    pub authority: SecretText,
    /// The law and the order that it rests on.
    pub legal_basis: SecretText,
    /// When it was received.
    #[serde(rename = "received_us")]
    pub received: Nanos,
    /// Communications from this time on are asked for.
    #[serde(rename = "from_us")]
    pub from: Nanos,
    /// Communications before this time are asked for.
    #[serde(rename = "until_us")]
    pub until: Nanos,
    /// Which data is asked for.
    pub categories: Vec<Category>,
    /// Whom it is about.
    pub subjects: Vec<Subject>,
}

impl NewRequest {
    /// Subjects and categories once each; times in microseconds, as acts have them.
    pub(crate) fn normalised(mut self) -> Self {
        self.subjects.sort_unstable();
        self.subjects.dedup();
        self.categories.sort_unstable();
        self.categories.dedup();
        for time in [&mut self.received, &mut self.from, &mut self.until] {
            *time = Nanos::from_micros(time.micros());
        }
        self
    }

    pub(crate) fn check(&self, time: Nanos) -> Result<(), Refused> {
        check_text("case number", &self.case_number, 128)?;
        check_text("authority", &self.authority, 512)?;
        check_text("legal basis", &self.legal_basis, 1024)?;
        let wrong = |field, problem| Err(Refused::Field { field, problem });
        if self.received > time {
            return wrong("time of receipt", "it is not later than now");
        }
        if self.from >= self.until || self.until > time {
            return wrong(
                "period",
                "it ends after it begins, and not later than now: only what is past is retained",
            );
        }
        let is_once = |sorted: bool, count: usize, most: usize| sorted && (1..=most).contains(&count);
        let categories = &self.categories;
        if !is_once(categories.is_sorted_by(|one, other| one < other), categories.len(), MOST_CATEGORIES) {
            return wrong("categories", "`telephony`, `internet-access`, or both");
        }
        let subjects = &self.subjects;
        if !is_once(subjects.is_sorted_by(|one, other| one < other), subjects.len(), MOST_SUBJECTS) {
            return wrong("subjects", "a request has 1 to 64 of them");
        }
        Ok(())
    }
}

/// What was given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// The files, by which they are known again.
    pub files: Vec<ProducedFile>,
    /// Calls in them.
    pub calls: u64,
    /// Sessions of access in them.
    pub accesses: u64,
    /// The time of the earliest communication.
    #[serde(rename = "earliest_us")]
    pub earliest: Option<Nanos>,
    /// The time of the latest.
    #[serde(rename = "latest_us")]
    pub latest: Option<Nanos>,
    /// How many communications there are of each age, in completed months, when the request was received.
    pub by_month: Vec<u64>,
}

impl Answer {
    /// With these files.
    pub fn new(files: Vec<ProducedFile>, (calls, accesses): (u64, u64), ages: &DataAges) -> Self {
        let DataAges { earliest, latest, by_month, .. } = *ages;
        Self { files, calls, accesses, earliest, latest, by_month: by_month.to_vec() }
    }

    /// Calls and sessions.
    pub fn communications(&self) -> u64 {
        self.calls.saturating_add(self.accesses)
    }

    pub(super) fn check(&self) -> Result<(), Refused> {
        if !(1..=MOST_FILES).contains(&self.files.len()) {
            return Err(Refused::Field { field: "files of the answer", problem: "there are 1 to 16" });
        }
        for file in &self.files {
            check_text("name of a file", &file.name, 255)?;
            if file.sha256.len() != 64 || !file.sha256.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return Err(Refused::Field { field: "hash of a file", problem: "it is 64 hex digits" });
            }
        }
        let (count, is_none) =
            (self.by_month.iter().copied().fold(0, u64::saturating_add), self.earliest.is_none());
        let is_whole =
            count == self.communications() && is_none == (count == 0) && self.by_month.len() == MONTHS;
        if is_whole && self.earliest <= self.latest && is_none == self.latest.is_none() {
            return Ok(());
        }
        Err(Refused::Field { field: "answer", problem: "its figures do not agree" })
    }
}

/// Why a request was not met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum RefusalReason {
    /// The authority may not ask for this.
    NotCompetent,
    /// Law or order are missing, or do not cover what is asked for.
    NoLegalBasis,
    /// What is asked for is not clear.
    Unclear,
    /// Such data is not retained.
    NotRetained,
    /// It was deleted at the end of its time.
    Deleted,
    /// It cannot be found or read.
    NotPossible,
    /// The authority has taken the request back.
    Withdrawn,
    /// Another reason.
    Other,
}

impl RefusalReason {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::NotCompetent,
        Self::NoLegalBasis,
        Self::Unclear,
        Self::NotRetained,
        Self::Deleted,
        Self::NotPossible,
        Self::Withdrawn,
        Self::Other,
    ];

    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::NotCompetent => "not-competent",
            Self::NoLegalBasis => "no-legal-basis",
            Self::Unclear => "unclear",
            Self::NotRetained => "not-retained",
            Self::Deleted => "deleted",
            Self::NotPossible => "not-possible",
            Self::Withdrawn => "withdrawn",
            Self::Other => "other",
        }
    }
}

impl fmt::Display for RefusalReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for RefusalReason {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|reason| reason.name() == text);
        found.ok_or_else(|| format!("a reason is one of: {}", Self::ALL.map(Self::name).join(", ")))
    }
}

/// Where a request is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RequestStatus {
    /// It waits for another officer.
    Received,
    /// It waits for its answer.
    Approved,
    /// Data was given.
    Answered,
    /// It was looked for, and there was none.
    NoData,
    /// It was refused, or could not be met.
    Refused,
}

impl RequestStatus {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Received => "received",
            Self::Approved => "approved",
            Self::Answered => "answered",
            Self::NoData => "no-data",
            Self::Refused => "refused",
        }
    }

    /// Whether nothing has been said to the authority.
    pub fn is_waiting(self) -> bool {
        matches!(self, Self::Received | Self::Approved)
    }
}

/// An answer that was given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GivenAnswer {
    /// What it has.
    pub answer: Answer,
    /// Who gave it.
    pub by: SecretText,
    /// When.
    #[serde(rename = "at_us")]
    pub at: Nanos,
}

/// That a request was refused, or could not be met.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refusal {
    /// Why.
    pub reason: RefusalReason,
    /// Why, in words.
    pub text: SecretText,
    /// Who said so.
    pub by: SecretText,
    /// When.
    #[serde(rename = "at_us")]
    pub at: Nanos,
}

/// A request of a register, as officers and auditors see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Request {
    /// Its number in the register, by which people name it: it tells nothing.
    pub id: u32,
    /// What was entered.
    pub entered: NewRequest,
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
    /// How often data was looked for.
    pub searches: u64,
    /// Who did so last, and when; none once that was answered.
    pub searched: Option<(SecretText, Nanos)>,
    /// What was given; the newest is the one that counts.
    pub answers: Vec<GivenAnswer>,
    /// That it was refused.
    pub refused: Option<Refusal>,
    /// Who noted what, when.
    pub notes: Vec<(SecretText, Nanos, SecretText)>,
    /// How often it was looked at, whole.
    pub looks: u64,
    /// Who looked last, and when.
    pub last_look: Option<(SecretText, Nanos)>,
}

impl Request {
    pub(super) fn new(id: u32, entered: NewRequest, by: SecretText, at: Nanos) -> Self {
        Self {
            id,
            entered,
            entered_by: by,
            entered_at: at,
            approved_by: None,
            approved_at: None,
            searches: 0,
            searched: None,
            answers: Vec::new(),
            refused: None,
            notes: Vec::new(),
            looks: 0,
            last_look: None,
        }
    }

    /// Where it is in its life.
    pub fn status(&self) -> RequestStatus {
        match (&self.refused, self.answers.last()) {
            (Some(_), _) => RequestStatus::Refused,
            (None, Some(given)) if given.answer.communications() > 0 => RequestStatus::Answered,
            (None, Some(_)) => RequestStatus::NoData,
            (None, None) if self.approved_at.is_some() => RequestStatus::Approved,
            (None, None) => RequestStatus::Received,
        }
    }

    /// SHA-256, as hex digits, of the whole record that an approval is about: what was entered, by whom and
    /// when.
    pub fn hash(&self) -> String {
        // Serialising texts and numbers cannot fail.
        let whole = ("request", self.id, &self.entered, &self.entered_by, self.entered_at);
        let text = zeroize::Zeroizing::new(serde_json::to_vec(&whole).unwrap_or_default());
        sha256_hex(&text)
    }
}

const MOST_CATEGORIES: usize = Category::ALL.len();
/// Subjects of one request.
const MOST_SUBJECTS: usize = 64;
/// Files of one answer.
const MOST_FILES: usize = 16;
