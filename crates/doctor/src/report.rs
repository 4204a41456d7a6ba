//! Findings, and the report that collects them.

use serde::Serialize;

/// How serious a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// As it should be.
    Good,
    /// For information; whether it matters depends on the use.
    Note,
    /// Reduces quality or packet rate.
    Warn,
    /// Loses packets or records, or makes figures wrong.
    Bad,
}

/// The judgement of one property.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How serious it is.
    pub level: Level,
    /// `machine`, the name of an interface, or `store`.
    pub area: String,
    /// The property, in a word or two.
    pub topic: &'static str,
    /// What was found.
    pub is: String,
    /// Why it matters, in a sentence; `None` if the level is good.
    pub why: Option<&'static str>,
    /// Commands for a root shell that would fix it; they are never run.
    pub mend: Vec<String>,
}

impl Finding {
    pub(crate) fn mend(&mut self, command: impl Into<String>) -> &mut Self {
        self.mend.push(command.into());
        self
    }
}

/// Collects findings of one area at a time, in order.
pub(crate) struct Report {
    pub(crate) area: String,
    pub(crate) findings: Vec<Finding>,
}

impl Report {
    pub(crate) fn add(
        &mut self,
        level: Level,
        topic: &'static str,
        is: impl Into<String>,
        why: Option<&'static str>,
    ) -> &mut Finding {
        let area = self.area.clone();
        let at = self.findings.len();
        self.findings.push(Finding { level, area, topic, is: is.into(), why, mend: Vec::new() });
        &mut self.findings[at]
    }

    pub(crate) fn good(&mut self, topic: &'static str, is: impl Into<String>) {
        self.add(Level::Good, topic, is, None);
    }

    pub(crate) fn note(
        &mut self,
        topic: &'static str,
        is: impl Into<String>,
        why: &'static str,
    ) -> &mut Finding {
        self.add(Level::Note, topic, is, Some(why))
    }

    pub(crate) fn warn(
        &mut self,
        topic: &'static str,
        is: impl Into<String>,
        why: &'static str,
    ) -> &mut Finding {
        self.add(Level::Warn, topic, is, Some(why))
    }

    pub(crate) fn bad(
        &mut self,
        topic: &'static str,
        is: impl Into<String>,
        why: &'static str,
    ) -> &mut Finding {
        self.add(Level::Bad, topic, is, Some(why))
    }
}
