//! What a hook is, and what all hooks share.

use std::path::PathBuf;
use std::time::Duration;

use ringtap_anonymise::Tokens;
use ringtap_model::{Call, CallState, Recorded};
use ringtap_notify::Http;
use ringtap_search::Site;
use serde::{Deserialize, Serialize};

/// What a service works on.
#[derive(Clone, Debug)]
pub struct ServiceSettings {
    /// The hooks.
    pub hooks: Vec<Hook>,
    /// The directory of the records.
    pub records: PathBuf,
    /// The directory of the recorded packets, if there is one.
    pub spool: Option<PathBuf>,
    /// The directory of its own state, which exists.
    pub directory: PathBuf,
    /// Hides numbers, for hooks that ask for it.
    pub tokens: Option<Tokens>,
    /// What this machine is called in what is delivered.
    pub host: String,
    /// Waits after failures: the first, and the longest.
    pub pace: (Duration, Duration),
}

/// What `site:` in queries stands for: the networks that have names at that moment, or why they cannot be
/// read.
pub type KnownSites = Box<dyn Fn() -> Result<Vec<Site>, String> + Send>;

/// What is given the calls that have ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hook {
    /// A name for people: in the log, the metrics and what is delivered.
    pub name: String,
    /// Which calls.
    pub event: HookEvent,
    /// Which of them, in the search language; empty is all.
    pub query: String,
    /// Who gets them.
    pub target: HookTarget,
    /// What it gets of their sound.
    pub sound: HookSound,
    /// Numbers are replaced by tokens.
    pub mask: bool,
    /// How long after its record was stored a call is delivered.
    pub delay: Duration,
    /// How long a delivery may take.
    pub timeout: Duration,
    /// Deliveries at the same time.
    pub at_once: usize,
    /// Calls that may wait.
    pub queue: usize,
    /// Attempts to deliver a call.
    pub tries: u32,
}

/// Which calls a hook gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookEvent {
    /// All that have ended.
    Finished,
    /// Those of which packets were recorded.
    Recorded,
}

/// Who gets calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum HookTarget {
    /// A program, on its standard input.
    Command(HookCommand),
    /// A server, by HTTP POST.
    Url(Http),
}

/// A program, started without a shell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookCommand {
    /// Its path and its arguments.
    pub program: Vec<String>,
    /// Its environment: `NAME=VALUE`, or `NAME` of a variable that is passed on.
    pub environment: Vec<String>,
    /// Bytes of memory that each of its processes may map; 0 is any number.
    pub memory: u64,
}

/// What of a call's sound is delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookSound {
    /// Nothing.
    None,
    /// A WAV file, whose path is in the document.
    Path,
    /// A WAV file, as a second part of the request.
    Upload,
}

impl HookEvent {
    /// Its name in the configuration and in documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Recorded => "recorded",
        }
    }

    /// Whether it is about such a call.
    pub fn includes(self, call: &Call) -> bool {
        self == Self::Finished || call.recorded != Recorded::None
    }
}

/// Whether a call may go on: in the daemon's next run, which replaces its record.
pub(crate) fn is_in_progress(call: &Call) -> bool {
    matches!(call.state, CallState::Active | CallState::Ringing | CallState::Trying)
}
