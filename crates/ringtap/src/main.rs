//! The command line. Each command is a file in `commands`; its logic is in the crates below.
//!
//! | module | holds |
//! |---|---|
//! | `cli`, `commands` | the arguments, one module a command |
//! | `input` | captures to read, in one thread or several |
//! | `filter`, `query`, `order` | filters and searches that select records; the order of a table |
//! | `files`, `sound` | the files of a call: packets, pages, sound |
//! | `embed` | the sound of calls, to embed into a page |
//! | `anonymous` | the options of anonymisation |
//! | `people_args`, `person` | the directory of the console; who runs a command |
//! | `kpi_args` | the configuration that names trunks |
//! | `spool_args` | the spool whose packets a command reads |
//! | `distant` | the bucket with older segments of a spool |
//! | `helper` | the helper process for codec libraries |
//! | `write`, `send` | write generated frames to a file, send them on an interface |
//! | `page`, `pager` | prints records for people and programs |
//! | `screen`, `interrupt`, `exit` | the terminal, Ctrl-C, and the exit status |
#![forbid(unsafe_code)]

mod anonymous;
mod assumed;
mod call_lines;
mod cli;
mod commands;
mod distant;
mod duration;
mod embed;
mod engine_config;
mod exit;
mod files;
mod filter;
mod helper;
mod identity;
mod input;
mod interrupt;
mod join;
mod keys;
mod kpi_args;
mod legs;
mod limit;
mod order;
mod page;
mod pager;
mod people_args;
mod person;
mod query;
mod screen;
mod send;
mod sound;
mod spool_args;
mod store_args;
mod subscriber_files;
mod write;

use std::process::ExitCode;

use clap::Parser;
use ringtap_report::time::{self, Zone};
use rustix::fs::Mode;
use rustix::process::umask;

use crate::cli::{Cli, Command};
use crate::exit::Exit;
use crate::screen::{Colour, Screen};

/// Records are freed by other threads than those that made them, and with the C library's allocator the two
/// wait for each other: docs/decisions/023-files-on-all-cores.md.
#[cfg(all(feature = "jemalloc", target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    // Whatever the service manager or a shell allows: evidence is not for everybody on this machine.
    let before = umask(Mode::empty());
    umask(before | Mode::RWXO | Mode::WGRP);
    let exit = match Cli::try_parse() {
        Ok(cli) => {
            let mut screen = Screen::standard(cli.color);
            if cli.command.shows_times() {
                let usual = if screen.terminal { Zone::local } else { || Zone::UTC };
                time::show_in(cli.tz.unwrap_or_else(usual));
            }
            let result = run(cli.command, &mut screen);
            result.unwrap_or_else(|error| Exit::of_error(&error, &mut screen))
        }
        Err(error) => report_usage(&error),
    };
    ExitCode::from(exit as u8)
}

fn run(command: Command, screen: &mut Screen) -> anyhow::Result<Exit> {
    // Those that drop privileges have one thread until then, and handle signals themselves.
    if !matches!(command, Command::Run(_) | Command::Hooks(_) | Command::DaemonProcess) {
        interrupt::watch()?;
    }
    match command {
        Command::Analyze(analyze) => analyze.run(screen),
        Command::Call(call) => call.run(screen),
        Command::Report(report) => report.run(screen),
        Command::Extract(extract) => extract.run(screen),
        Command::Calls(calls) => calls.run(screen),
        Command::Streams(streams) => streams.run(screen),
        Command::Registrations(registrations) => registrations.run(screen),
        Command::Messages(messages) => messages.run(screen),
        Command::Users(users) => users.run(screen),
        Command::Identity(identity) => identity.run(screen),
        Command::Availability(availability) => availability.run(screen),
        Command::Kpis(kpis) => kpis.run(screen),
        Command::Open(open) => open.run(screen),
        Command::Console(console) => console.run(screen),
        Command::Hooks(hooks) => hooks.run(screen),
        Command::Why(why) => why.run(screen),
        Command::Alarms(alarms) => alarms.run(screen),
        Command::Acknowledge(acknowledge) => acknowledge.run(screen),
        Command::Silence(silence) => silence.run(screen),
        Command::Generate(generate) => generate.run(screen),
        Command::Compare(compare) => compare.run(screen),
        Command::Mos(mos) => mos.run(screen),
        Command::Run(run) => run.run(screen),
        Command::Status(status) => status.run(screen),
        Command::Keep(keep) => keep.run(screen),
        Command::Pause(pause) => pause.run(screen),
        Command::Resume(resume) => resume.run(screen),
        Command::Rules(rules) => rules.run(screen),
        Command::Clock(clock) => clock.run(screen),
        Command::Live(live) => live.run(screen),
        Command::Export(export) => export.run(screen),
        Command::Anonymise(anonymise) => anonymise.run(screen),
        Command::Verify(verify) => verify.run(screen),
        Command::Forget(forget) => forget.run(screen),
        Command::Key(key) => key.run(screen),
        Command::Hold(hold) => hold.run(screen),
        Command::Holds(holds) => holds.run(screen),
        Command::Release(release) => release.run(screen),
        Command::Audit(audit) => audit.run(screen),
        Command::Warrant(warrant) => warrant.run(screen),
        Command::Disclosure(disclosure) => disclosure.run(screen),
        Command::Doctor(doctor) => doctor.run(screen),
        Command::Bench(bench) => bench.run(screen),
        Command::Mcp(mcp) => mcp.run(screen),
        Command::Man(man) => man.run(&cli::visible(), screen),
        Command::Completions(completions) => completions.run(cli::visible(), screen),
        Command::DecodeHelper => helper::run(),
        Command::DaemonProcess => ringtap_daemon::run_process().map(|()| Exit::Done),
    }
}

/// Prints help and version to standard output, and a wrong command line as an error.
fn report_usage(error: &clap::Error) -> Exit {
    if !error.use_stderr() {
        // Standard output may be closed.
        let _ = error.print();
        return Exit::Done;
    }
    let text = error.render().to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text).trim_end();
    Screen::standard(Colour::Never).explain(text);
    Exit::Usage
}
