//! Roles, and what each may do.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Something that not everybody may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Right {
    /// Search calls and see their records, statistics and alarms.
    Search,
    /// See messages and ladders.
    Signalling,
    /// See telephone numbers and user names; without it they are masked.
    Numbers,
    /// Listen to calls.
    Listen,
    /// Download packets and records. Sound needs [`Listen`](Self::Listen) as well.
    Export,
    /// Keep, pause, hold and release recordings.
    Hold,
    /// Change rules, retention, alarms and sites.
    Rules,
    /// Change people, their tokens and the configuration.
    Administer,
    /// Read the audit log.
    Audit,
}

impl Right {
    /// All, in the order of the manual.
    pub const ALL: [Self; 9] = [
        Self::Search,
        Self::Signalling,
        Self::Numbers,
        Self::Listen,
        Self::Export,
        Self::Hold,
        Self::Rules,
        Self::Administer,
        Self::Audit,
    ];

    /// As in JSON and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Search => "search",
            Self::Signalling => "signalling",
            Self::Numbers => "numbers",
            Self::Listen => "listen",
            Self::Export => "export",
            Self::Hold => "hold",
            Self::Rules => "rules",
            Self::Administer => "administer",
            Self::Audit => "audit",
        }
    }

    /// What it permits, for people.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Search => "search calls, and see their records, statistics and alarms, and what is kept",
            Self::Signalling => "see messages and ladders",
            Self::Numbers => "see telephone numbers and user names, which are masked otherwise",
            Self::Listen => "listen to calls",
            Self::Export => "download packets and records; sound needs `listen` as well",
            Self::Hold => "keep, pause, hold and release recordings, and see what is on hold",
            Self::Rules => "change rules, retention, alarms and sites",
            Self::Administer => "change people, tokens and the configuration",
            Self::Audit => "read the audit log, and the log of deletions",
        }
    }

    const fn bit(self) -> u16 {
        1 << self as u16
    }
}

impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Right {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = || Self::ALL.map(Self::name).join(", ");
        Self::ALL
            .into_iter()
            .find(|right| right.name() == text)
            .ok_or_else(|| format!("the rights are {}", names()))
    }
}

/// A set of rights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rights(u16);

impl Rights {
    /// No right at all.
    pub const NONE: Self = Self(0);

    /// Whether the right is one of them.
    pub const fn has(self, right: Right) -> bool {
        self.0 & right.bit() != 0
    }

    /// Those that are in both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Each of them, in the order of the manual.
    pub fn iter(self) -> impl Iterator<Item = Right> {
        Right::ALL.into_iter().filter(move |right| self.has(*right))
    }

    const fn of(rights: &[Right]) -> Self {
        let (mut bits, mut at) = (0, 0);
        while at < rights.len() {
            bits |= rights[at].bit();
            at += 1;
        }
        Self(bits)
    }
}

impl FromIterator<Right> for Rights {
    fn from_iter<I: IntoIterator<Item = Right>>(rights: I) -> Self {
        Self(rights.into_iter().fold(0, |bits, right| bits | right.bit()))
    }
}

/// As a list of names.
impl Serialize for Rights {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for Rights {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Vec::<Right>::deserialize(deserializer)?.into_iter().collect())
    }
}

/// What somebody is to the console.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Watches statistics and lists.
    Viewer,
    /// Finds out why calls fail.
    Engineer,
    /// Judges what calls sound like, without knowing whose they are.
    Quality,
    /// Looks at what the others do.
    Auditor,
    /// Answers for recordings: holds, hands over, and looks who did.
    Officer,
    /// Sets all of it up. Could grant itself every right, so has every right.
    Administrator,
}

impl Role {
    /// All, in the order of the manual.
    pub const ALL: [Self; 6] =
        [Self::Viewer, Self::Engineer, Self::Quality, Self::Auditor, Self::Officer, Self::Administrator];

    /// As in JSON and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Engineer => "engineer",
            Self::Quality => "quality",
            Self::Auditor => "auditor",
            Self::Officer => "officer",
            Self::Administrator => "administrator",
        }
    }

    /// What it may do: the one table of that.
    pub const fn rights(self) -> Rights {
        use Right::{Audit, Export, Hold, Listen, Numbers, Search, Signalling};
        match self {
            Self::Viewer => Rights::of(&[Search]),
            Self::Engineer => Rights::of(&[Search, Signalling, Numbers, Export]),
            Self::Quality => Rights::of(&[Search, Signalling, Listen]),
            Self::Auditor => Rights::of(&[Search, Audit]),
            Self::Officer => Rights::of(&[Search, Signalling, Numbers, Listen, Export, Hold, Audit]),
            Self::Administrator => Rights::of(&Right::ALL),
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Role {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = || Self::ALL.map(Self::name).join(", ");
        Self::ALL
            .into_iter()
            .find(|role| role.name() == text)
            .ok_or_else(|| format!("the roles are {}", names()))
    }
}
