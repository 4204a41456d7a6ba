//! The program: a command line. A command is a file in `commands`; what it does is in the crates below.
//!
//! | module | holds |
//! |---|---|
//! | `cli`, `commands` | the arguments, one module a command |
//! | `input` | captures to read, in one thread or several |
//! | `filter`, `search` | which calls; those of a database |
//! | `files`, `sound` | a call into files: packets, pages, sound |
//! | `anonymous` | whether names are replaced, and how |
//! | `distant` | the bucket that older segments of a spool are in |
//! | `helper` | the process that decodes with codec libraries |
//! | `write`, `send` | generated frames into a file, onto an interface |
//! | `page` | records for people and programs |
//! | `screen`, `interrupt`, `exit` | the terminal, Ctrl-C, and what the shell is told |
#![forbid(unsafe_code)]

mod anonymous;
mod cli;
mod commands;
mod distant;
mod exit;
mod files;
mod filter;
mod helper;
mod input;
mod interrupt;
mod page;
mod screen;
mod search;
mod send;
mod sound;
mod write;

use std::process::ExitCode;

use clap::Parser;

use crate::cli::{Cli, Command};
use crate::exit::Exit;
use crate::screen::{Colour, Screen};

fn main() -> ExitCode {
    let exit = match Cli::try_parse() {
        Ok(cli) => {
            let mut screen = Screen::standard(cli.color);
            let result = run(cli.command, &mut screen);
            result.unwrap_or_else(|error| Exit::of_error(&error, &mut screen))
        }
        Err(error) => told(&error),
    };
    ExitCode::from(exit as u8)
}

fn run(command: Command, screen: &mut Screen) -> anyhow::Result<Exit> {
    // The daemon listens to signals itself.
    if !matches!(command, Command::Run(_)) {
        interrupt::watch()?;
    }
    match command {
        Command::Analyze(analyze) => analyze.run(screen),
        Command::Call(call) => call.run(screen),
        Command::Extract(extract) => extract.run(screen),
        Command::Calls(calls) => calls.run(screen),
        Command::Generate(generate) => generate.run(screen),
        Command::Compare(compare) => compare.run(screen),
        Command::Mos(mos) => mos.run(screen),
        Command::Run(run) => run.run(screen),
        Command::Keep(keep) => keep.run(screen),
        Command::Pause(pause) => pause.run(screen),
        Command::Resume(resume) => resume.run(screen),
        Command::Rules(rules) => rules.run(screen),
        Command::Live(live) => live.run(screen),
        Command::Export(export) => export.run(screen),
        Command::Anonymise(anonymise) => anonymise.run(screen),
        Command::Verify(verify) => verify.run(screen),
        Command::Forget(forget) => forget.run(screen),
        Command::Key(key) => key.run(screen),
        Command::Hold(hold) => hold.run(screen),
        Command::Holds(holds) => holds.run(screen),
        Command::Release(release) => release.run(screen),
        Command::Doctor(doctor) => doctor.run(screen),
        Command::Bench(bench) => bench.run(screen),
        Command::DecodeHelper => helper::run(),
    }
}

/// Help and version go to standard output; a wrong command line is an error like any other.
fn told(error: &clap::Error) -> Exit {
    if !error.use_stderr() {
        // Nobody reads further: nothing to tell.
        let _ = error.print();
        return Exit::Done;
    }
    let text = error.render().to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text).trim_end();
    Screen::standard(Colour::Never).explain(text);
    Exit::Usage
}
