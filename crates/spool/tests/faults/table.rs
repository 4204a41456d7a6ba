//! What became of all faults, by kind.

use std::collections::BTreeMap;
use std::fmt;

use crate::check::{Naming, Verdict};
use crate::fault::Fault;

/// Misses that are printed in full.
const SHOWN: usize = 40;

#[derive(Default)]
struct Row {
    faults: u64,
    naming: [u64; 5],
    needs_head: u64,
    restarts: u64,
    through_program: u64,
}

/// Counts by kind.
#[derive(Default)]
pub(crate) struct Table {
    single: BTreeMap<&'static str, Row>,
    pairs: Row,
    /// Faults that passed.
    pub(crate) misses: Vec<String>,
}

impl Table {
    /// Number of single faults and pairs.
    pub(crate) fn faults(&self) -> u64 {
        self.single.values().map(|row| row.faults).sum::<u64>() + self.pairs.faults
    }

    pub(crate) fn add(&mut self, number: u64, faults: &[Fault], restart: bool, verdict: &Verdict) {
        let row = match faults {
            [one] => self.single.entry(one.kind).or_default(),
            _ => &mut self.pairs,
        };
        row.faults += 1;
        row.restarts += u64::from(restart);
        row.through_program += u64::from(verdict.through_program);
        row.needs_head += u64::from(verdict.needs_head);
        let naming = verdict.naming.iter().min().copied().unwrap_or(Naming::Missed);
        row.naming[naming as usize] += 1;
        if !verdict.problems.is_empty() && self.misses.len() < SHOWN {
            let texts: Vec<String> =
                faults.iter().map(|fault| format!("{}: {}", fault.kind, fault.text)).collect();
            self.misses.push(format!("{number}: {}: {}", texts.join(" and "), verdict.problems.join("; ")));
        }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "| fault | tried | by file and offset | by file | by its neighbour | only with `--head` \
             | cannot be | missed | restarts | through the program |"
        )?;
        writeln!(f, "|---|---|---|---|---|---|---|---|---|---|")?;
        let mut all = Row::default();
        for (kind, row) in self.single.iter().chain([(&"a pair of these", &self.pairs)]) {
            line(f, kind, row)?;
            all.faults += row.faults;
            all.through_program += row.through_program;
            all.needs_head += row.needs_head;
            all.restarts += row.restarts;
            all.naming.iter_mut().zip(row.naming).for_each(|(sum, count)| *sum += count);
        }
        line(f, "all", &all)
    }
}

fn line(f: &mut fmt::Formatter<'_>, kind: &str, row: &Row) -> fmt::Result {
    let [missed, excused, neighbour, file, offset] = row.naming;
    let Row { faults, needs_head, restarts, through_program, .. } = row;
    write!(
        f,
        "| {kind} | {faults} | {offset} | {file} | {neighbour} | {needs_head} | {excused} | {missed} "
    )?;
    writeln!(f, "| {restarts} | {through_program} |")
}
