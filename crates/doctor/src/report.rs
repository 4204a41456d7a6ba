//! Findings, and the report that collects them.

use serde::Serialize;

/// How it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// As it should be.
    Good,
    /// To be known; whether it matters depends on the use.
    Note,
    /// Costs quality or rate.
    Warn,
    /// Loses packets or records, or makes figures wrong.
    Bad,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How it is.
    pub level: Level,
    /// `machine`, the name of an interface, or `store`.
    pub area: String,
    /// What was looked at, in a word or two.
    pub topic: &'static str,
    /// What is.
    pub is: String,
    /// Why it matters, one sentence; none where all is well.
    pub why: Option<&'static str>,
    /// Commands that would mend it, for a root shell; never run.
    pub mend: Vec<String>,
}

impl Finding {
    pub(crate) fn mend(&mut self, command: impl Into<String>) -> &mut Self {
        self.mend.push(command.into());
        self
    }
}

/// Findings as they come, of one area at a time.
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
