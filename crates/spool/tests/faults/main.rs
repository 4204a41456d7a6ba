//! Faults of every kind, single and in pairs, on a small spool that is signed and sealed: each is found and
//! named, nothing crashes, and no packet is read that was not written.
//!
//! `make faults` runs a million. A fault is reproduced by its number:
//!
//! ```text
//! RINGTAP_FAULT=4711 cargo test -p ringtap-spool --test faults
//! ```
//!
//! With `RINGTAP_FAULTS` as well, so many from that number on: a million in parts.
//!
//! If `RINGTAP_PROGRAM` names the built program, the first thousand faults go through it as well.

mod check;
mod dice;
mod excuse;
mod fault;
mod forge;
mod program;
mod sample;
mod table;
mod tree;

use std::env;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;

use check::Checker;
use dice::Dice;
use fault::{Fault, Generator};
use program::Program;
use sample::Sample;
use table::Table;
use tree::Tree;

/// Faults that the ordinary tests try.
const SAMPLE: u64 = 1_500;
/// Faults that were missed once: chunks read twice because the other fault hid what would have told, another
/// copy's keys put back, a restart after an earlier state, a seal put back beside a deleted segment; the
/// newest seal and the head of its chain damaged before a restart; a key put back whose order is cut out;
/// zeros behind the log; a segment put back whose order to delete it is damaged; a chunk of an open segment
/// that says it is not sealed; a deleted segment put back together with the log before its order; a chunk of
/// an open segment copied over another.
const MISSED: [u64; 15] = [
    11_706, 16_300, 22_319, 36_626, 38_821, 39_468, 75_138, 115_804, 137_859, 165_862, 285_473, 516_952,
    558_751, 808_234, 1_111_021,
];
/// One fault in so many is followed by a restart of the writer.
const RESTARTS: u64 = 20;
/// One fault in so many is a pair.
const PAIRS: u64 = 3;
/// So many go through the program, if there is one.
const PROGRAM: u64 = 1_000;

fn number(name: &str) -> Option<u64> {
    env::var(name).ok().map(|value| value.parse().unwrap_or_else(|_| panic!("{name}={value}: not a number")))
}

/// A directory in memory if there is one: a disk would be the slowest part.
fn scratch() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let dir = if memory.is_dir() { memory.to_owned() } else { env::temp_dir() };
    tempfile::Builder::new().prefix("ringtap-faults").tempdir_in(dir).expect("a directory")
}

#[test]
fn faults_that_were_missed_once_are_found() {
    let home = scratch();
    let sample = Sample::write(home.path());
    let (table, program) = (Mutex::new(Table::default()), Mutex::new(None));
    for number in MISSED {
        let next = AtomicU64::new(number);
        work(&sample, &home.path().join("thread"), &next, number + 1, &table, &program);
    }
    let table = table.into_inner().expect("no thread has failed");
    assert!(table.misses.is_empty(), "{}", table.misses.join("\n"));
    assert_eq!(table.faults(), MISSED.len() as u64);
}

#[test]
fn every_fault_is_found_and_named_and_exports_nothing_false() {
    let home = scratch();
    let sample = Sample::write(home.path());
    let (first, count) = match number("RINGTAP_FAULT") {
        Some(first) => (first, number("RINGTAP_FAULTS").unwrap_or(1)),
        None => (0, number("RINGTAP_FAULTS").unwrap_or(SAMPLE)),
    };
    let (next, table) = (AtomicU64::new(first), Mutex::new(Table::default()));
    let program = Mutex::new(Program::of_environment(home.path(), &sample));
    thread::scope(|scope| {
        for thread in 0..thread::available_parallelism().map_or(1, usize::from).min(8) {
            let (sample, next, table, program) = (&sample, &next, &table, &program);
            let dir = home.path().join(format!("thread{thread}"));
            scope.spawn(move || work(sample, &dir, next, first + count, table, program));
        }
    });
    let table = table.into_inner().expect("no thread has failed");
    println!("{table}");
    assert!(table.misses.is_empty(), "{} faults passed:\n{}", table.misses.len(), table.misses.join("\n"));
    assert!(table.faults() == count, "{} of {count} were tried", table.faults());
}

/// Tries faults until none is left.
#[expect(clippy::print_stdout, reason = "a million take an hour: it says how far it is")]
fn work(
    sample: &Sample,
    dir: &Path,
    next: &AtomicU64,
    end: u64,
    table: &Mutex<Table>,
    program: &Mutex<Option<Program>>,
) {
    let mut tree = Tree::new(&sample.now, dir.to_owned());
    let generator = Generator::new(sample);
    let checker = Checker::new(sample);
    loop {
        let number = next.fetch_add(1, Relaxed);
        if number >= end {
            return;
        }
        let mut dice = Dice::of(number);
        let faults = draw(&generator, &mut dice, &mut tree);
        let restart = dice.one_in(RESTARTS);
        let mut verdict = checker.check(&mut tree, &faults, restart);
        if number < PROGRAM
            && !tree.is_spoiled()
            && verdict.is_noticed()
            && let Some(program) = &*program.lock().expect("no thread has failed")
        {
            verdict.through_program = true;
            verdict.problems.extend(program.check(&mut tree));
        }
        let mut table = table.lock().expect("no thread has failed");
        table.add(number, &faults, restart, &verdict);
        drop(table);
        tree.restore();
        if number % 10_000 == 9_999 {
            println!("{} faults", number + 1);
        }
    }
}

/// Draws and carries out one fault or two.
fn draw(generator: &Generator<'_>, dice: &mut Dice, tree: &mut Tree) -> Vec<Fault> {
    let wanted = if dice.one_in(PAIRS) { 2 } else { 1 };
    let mut faults = Vec::new();
    while faults.len() < wanted {
        faults.extend(generator.draw(dice, tree));
        faults.retain(|fault| !fault.is_undone(tree));
    }
    faults
}
