//! What a fault must lead to.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use ringtap_spool::{Finding, SpoolWriter};

use crate::fault::{Fault, ROLL_BACK, SISTER};
use crate::sample::{self, Sample};
use crate::tree::Tree;

/// How closely a fault was named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Naming {
    /// Not at all.
    Missed,
    /// Not at all, and it could not be.
    Excused,
    /// By a neighbour in its chain: where a segment was cut out, the next one is named.
    Neighbour,
    /// By its file.
    File,
    /// By its file and offset.
    Offset,
}

/// What became of a fault or a pair of faults.
#[derive(Default)]
pub(crate) struct Verdict {
    /// Of each fault.
    pub(crate) naming: Vec<Naming>,
    /// It was found only with the heads that were noted elsewhere.
    pub(crate) needs_head: bool,
    /// It went through the program as well.
    pub(crate) through_program: bool,
    /// What went wrong.
    pub(crate) problems: Vec<String>,
}

impl Verdict {
    /// Whether any of the faults was named.
    pub(crate) fn is_noticed(&self) -> bool {
        self.naming.iter().any(|naming| *naming > Naming::Excused)
    }
}

/// Checks what is found of faults.
pub(crate) struct Checker<'a> {
    sample: &'a Sample,
}

impl<'a> Checker<'a> {
    pub(crate) fn new(sample: &'a Sample) -> Self {
        Self { sample }
    }

    /// Verifies and reads the spool, and after a restart again.
    pub(crate) fn check(&self, tree: &mut Tree, faults: &[Fault], restart: bool) -> Verdict {
        let mut verdict = Verdict::default();
        let caught = catch_unwind(AssertUnwindSafe(|| self.look(tree, faults, &mut verdict)));
        if let Err(panic) = caught {
            verdict.problems.push(format!("it crashed: {}", message(&panic)));
        }
        if restart {
            tree.spoil();
            let caught = catch_unwind(AssertUnwindSafe(|| self.restart(tree.dir(), faults, &mut verdict)));
            if let Err(panic) = caught {
                verdict.problems.push(format!("it crashed after a restart: {}", message(&panic)));
            }
        }
        verdict
    }

    fn look(&self, tree: &Tree, faults: &[Fault], verdict: &mut Verdict) {
        let dir = tree.dir();
        let named =
            |findings: &[Finding]| faults.iter().map(|fault| self.naming(tree, fault, findings)).collect();
        let mut findings = sample::look(dir, Vec::new()).findings;
        verdict.naming = named(&findings);
        if verdict.naming.iter().any(|naming| *naming <= Naming::Excused) {
            let with_heads = sample::look(dir, self.sample.heads.clone()).findings;
            let naming: Vec<Naming> = named(&with_heads);
            verdict.needs_head = naming > verdict.naming;
            (findings, verdict.naming) = (with_heads, naming);
        }
        if verdict.naming.contains(&Naming::Missed) {
            let shown: Vec<String> = findings.iter().map(ToString::to_string).collect();
            verdict.problems.push(format!("not named; found: {shown:?}"));
        }
        self.read(dir, faults, "", verdict);
    }

    fn read(&self, dir: &Path, faults: &[Fault], when: &str, verdict: &mut Verdict) {
        // Whose segments are signed by the same key is not asked when they are read; `verify` names them.
        let has_sister = faults.iter().any(|fault| fault.kind == SISTER);
        let packets = sample::packets(dir);
        let mut seen = std::collections::BTreeSet::new();
        for packet in &packets {
            let is_sisters = has_sister && self.sample.sister_packets.contains(packet);
            if !is_sisters && !self.sample.packets.contains(packet) {
                verdict
                    .problems
                    .push(format!("a packet that was not written, or was forgotten, is read{when}"));
                return;
            }
            if !seen.insert(packet) {
                verdict.problems.push(format!("a packet is read twice{when}"));
                return;
            }
        }
    }

    fn naming(&self, tree: &Tree, fault: &Fault, findings: &[Finding]) -> Naming {
        let naming = findings.iter().map(|finding| fault.naming(finding)).max().unwrap_or(Naming::Missed);
        if naming == Naming::Missed && fault.excuse(self.sample, tree).is_some() {
            Naming::Excused
        } else {
            naming
        }
    }

    /// A writer that starts must not make a fault look lawful.
    fn restart(&self, dir: &Path, faults: &[Fault], verdict: &mut Verdict) {
        // A spool that it refuses to write to is noticed.
        let Ok(writer) = SpoolWriter::open(sample::settings(dir)) else { return };
        let told = (writer.written().quarantined(), writer.written().disagreements());
        writer.close(ringtap_model::Nanos::from_secs(1_795_230_000));
        // An earlier state is found by what was noted elsewhere, also if another fault was named at once.
        let needs_head = verdict.needs_head || faults.iter().any(|fault| fault.kind == ROLL_BACK);
        let heads = if needs_head { self.sample.heads.clone() } else { Vec::new() };
        let is_silent = sample::look(dir, heads).findings.is_empty() && told == (Vec::new(), Vec::new());
        if is_silent && verdict.is_noticed() {
            verdict.problems.push("after a restart nothing is found any more".to_owned());
        }
        self.read(dir, faults, " after a restart", verdict);
    }
}

fn message(panic: &Box<dyn std::any::Any + Send>) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string)).unwrap_or_default()
}
