//! Entries of the audit log.

use std::fmt;
use std::str::FromStr;

use ringtap_model::Nanos;
use serde::{Deserialize, Serialize};

use crate::audit::what::What;
use crate::role::Role;

macro_rules! actions {
    ($($(#[$doc:meta])* $action:ident = $name:literal,)*) => {
        /// What kind of thing was done.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[non_exhaustive]
        pub enum Action {
            $($(#[$doc])* #[serde(rename = $name)] $action,)*
        }

        impl Action {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$action),*];

            /// As in JSON and on the command line.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$action => $name,)* }
            }
        }
    };
}

actions! {
    /// Somebody logged in.
    Login = "login",
    /// Somebody tried to.
    LoginFailed = "login_failed",
    /// Somebody logged out, or was logged out.
    Logout = "logout",
    /// Records were searched or counted.
    Search = "search",
    /// A call, or something else about persons, was looked at.
    View = "view",
    /// A call was listened to.
    Listen = "listen",
    /// Something was downloaded.
    Export = "export",
    /// A recording was kept, paused, put on hold, or released.
    Hold = "hold",
    /// Something was made unreadable.
    Forget = "forget",
    /// Rules, alarms, saved searches or the configuration were changed.
    Change = "change",
    /// People, tokens or sessions were changed.
    People = "people",
    /// The audit log was read.
    Audit = "audit",
    /// What was asked for is not permitted.
    Refused = "refused",
    /// The log itself: an incomplete entry was cut off.
    Recovered = "recovered",
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Action {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = || Self::ALL.iter().map(|action| action.name()).collect::<Vec<_>>().join(", ");
        let found = Self::ALL.iter().find(|action| action.name() == text);
        found.copied().ok_or_else(|| format!("the actions are {}", names()))
    }
}

/// Who does something, and from where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Actor {
    /// The person's name; for what was not done through the console, `uid 0` and the like.
    pub who: String,
    /// None if it was not done through the console, or nobody is logged in.
    pub role: Option<Role>,
    /// An address, or `terminal`.
    pub from: String,
}

/// What is to be recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEntry {
    /// When.
    pub time: Nanos,
    /// Who, and from where.
    pub actor: Actor,
    /// What kind of thing.
    pub action: Action,
    /// What, in words. Longer than 4 KiB, it is cut.
    pub what: What,
    /// Why, where a rule demands it or the person says so.
    pub reason: Option<String>,
}

/// An entry as read back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// From 0, without gaps.
    pub number: u64,
    /// When.
    pub time: Nanos,
    /// Who, and from where.
    pub actor: Actor,
    /// What kind of thing.
    pub action: Action,
    /// What, in words.
    pub what: What,
    /// Why.
    pub reason: Option<String>,
    /// The hash of the entry before, as 64 hex digits; 64 zeros for the first.
    pub previous: String,
    /// The hash of this one.
    pub hash: String,
}

/// As on the disk, but for the signature: `what` is one text, with numbers as far as they are shown.
impl Serialize for Entry {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Fields<'a> {
            number: u64,
            time_us: Nanos,
            who: &'a str,
            role: Option<Role>,
            from: &'a str,
            action: Action,
            what: String,
            reason: Option<&'a str>,
            previous: &'a str,
            hash: &'a str,
        }
        let fields = Fields {
            number: self.number,
            time_us: self.time,
            who: &self.actor.who,
            role: self.actor.role,
            from: &self.actor.from,
            action: self.action,
            what: self.what.to_string(),
            reason: self.reason.as_deref(),
            previous: &self.previous,
            hash: &self.hash,
        };
        fields.serialize(serializer)
    }
}

/// An entry was the newest of its log: the log must still have it. As text, on one line: `17:` and 64 hex
/// digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The entry's number.
    pub number: u64,
    /// Its hash.
    pub hash: String,
}

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.number, self.hash)
    }
}

impl FromStr for Head {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = text.split_once(':').and_then(|(number, hash)| {
            let is_hash =
                hash.len() == 64 && hash.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
            is_hash.then_some(Self { number: number.parse().ok()?, hash: hash.to_owned() })
        });
        parsed
            .ok_or_else(|| "write a head as `ringtap audit --verify` prints it: 17: and 64 hex digits".into())
    }
}
