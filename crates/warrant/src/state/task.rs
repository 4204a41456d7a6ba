//! Tasks and destinations: what an administration function provisions.

use serde::{Deserialize, Serialize};

use super::text::check_text;
use crate::error::Refused;
use crate::secret_text::SecretText;
use crate::uuid::Uuid;

/// Of a warrant that an administration function has provisioned as a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Task {
    /// Which task.
    pub xid: Uuid,
    /// The administration function.
    pub admf: String,
    /// The warrant that this one ends when it is approved.
    pub replaces: Option<u32>,
    /// What else was provisioned.
    pub content: TaskContent,
    /// The administration function has deactivated it, or it was replaced.
    pub(crate) is_removed: bool,
}

/// What the warrant of a task does not say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskContent {
    /// Where it is delivered.
    pub destinations: Vec<Uuid>,
    /// The text by which whoever has provisioned it knows it again.
    pub details: SecretText,
}

impl TaskContent {
    pub(crate) fn check(&self) -> Result<(), Refused> {
        check_text("details", &self.details, 16_384)?;
        let is_right = (1..=MOST_DESTINATIONS).contains(&self.destinations.len());
        let problem = "a task has 1 to 16 destinations";
        if is_right { Ok(()) } else { Err(Refused::Field { field: "destinations", problem }) }
    }
}

/// Where product of tasks is delivered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Destination {
    /// The agency whose mediation function it is.
    pub agency: String,
    /// The text by which whoever has provisioned it knows it again.
    pub details: SecretText,
}

const MOST_DESTINATIONS: usize = 16;
