//! Acts: everything that happens to a register.

use ringtap_model::Nanos;
use serde::{Deserialize, Serialize};

use super::admfs::{AdmfAct, TaskAct};
use super::people::{PersonChange, PersonEntry};
use super::produced::ProducedFile;
use super::requests::RequestAct;
use super::warrant::{Extension, NewWarrant, StopProof};
use crate::secret_text::SecretText;
use crate::uuid::Uuid;

/// An act, as it is sealed.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Act {
    /// When, by the register: never before an earlier act.
    #[serde(rename = "time_us")]
    pub(crate) time: Nanos,
    /// What the clock said, where that was earlier.
    #[serde(rename = "clock_us", default, skip_serializing_if = "Option::is_none")]
    pub(crate) clock: Option<Nanos>,
    pub(crate) by: By,
    pub(crate) what: What,
}

impl Act {
    /// What the clock said.
    pub(crate) fn clock(&self) -> Nanos {
        self.clock.unwrap_or(self.time)
    }
}

/// Who did it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum By {
    Person(SecretText),
    /// An administration function, over X1.
    Admf(String),
    /// The service, or the register itself.
    Service,
}

/// What was done.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum What {
    /// The register was set up; the first officer.
    SetUp(PersonEntry),
    PersonProposed(PersonChange),
    /// The number of the act that proposed it.
    PersonConfirmed(u64),
    /// The hash of the new one.
    PassphraseChanged(SecretText),
    /// A wrong passphrase, for this name.
    PassphraseWrong(SecretText),
    Entered {
        id: u32,
        warrant: Box<NewWarrant>,
    },
    Approved {
        id: u32,
        hash: String,
    },
    ExtensionEntered {
        id: u32,
        extension: Extension,
    },
    ExtensionApproved {
        id: u32,
        hash: String,
    },
    Withdrawn {
        id: u32,
        reason: SecretText,
    },
    Noted {
        id: u32,
        text: SecretText,
    },
    /// Captures are about to be read for its product.
    CapturesRead {
        id: u32,
        why: SecretText,
    },
    /// Files of product were made of them.
    Produced {
        id: u32,
        files: Vec<ProducedFile>,
    },
    /// Of a request for retained data.
    Request(RequestAct),
    /// Of those who may provision tasks.
    Admf(AdmfAct),
    /// Of a task or a destination, by this transaction.
    Task {
        transaction: Uuid,
        act: TaskAct,
    },
    /// Somebody with another certificate has used this identifier of an administration function.
    AdmfRefused(String),
    Looked {
        at: Look,
        why: SecretText,
    },
    /// The service has begun to intercept.
    Begun {
        id: u32,
    },
    /// Its time is over; how long ago that was when it was noticed.
    Ended {
        id: u32,
        late: Nanos,
    },
    /// The service has stopped.
    Stopped {
        id: u32,
        proof: StopProof,
    },
    /// The clock is earlier than the register has acted before.
    ClockBack {
        clock: Nanos,
        latest: Nanos,
    },
    /// So many bytes of an act that was never acknowledged were cut off.
    Recovered {
        bytes: u64,
    },
}

/// What somebody looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Look {
    /// One warrant, whole.
    Show(u32),
    /// The list of warrants.
    List,
    /// The acts.
    Acts,
    /// The chain was checked.
    Verify,
    /// The people.
    People,
    /// One request, whole.
    Request(u32),
    /// The list of requests.
    Requests,
    /// The figures of requests.
    Statistics,
    /// The administration functions.
    Admfs,
}
