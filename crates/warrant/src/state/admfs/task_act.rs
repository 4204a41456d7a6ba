//! What an administration function does.

use serde::{Deserialize, Serialize};

use crate::state::task::{Destination, TaskContent};
use crate::state::warrant::{Extension, NewWarrant};
use crate::uuid::Uuid;

/// What an administration function did.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum TaskAct {
    /// A task, or what takes the place of one.
    Entered {
        id: u32,
        xid: Uuid,
        modifies: bool,
        warrant: Box<NewWarrant>,
        content: TaskContent,
    },
    /// A task goes on, longer or with other words.
    Amended {
        id: u32,
        extension: Option<Extension>,
        content: TaskContent,
    },
    /// One task, or all of them.
    Ended {
        xid: Option<Uuid>,
    },
    DestinationSet {
        did: Uuid,
        modifies: bool,
        destination: Destination,
    },
    /// One destination, or all of them.
    DestinationRemoved {
        did: Option<Uuid>,
    },
}
