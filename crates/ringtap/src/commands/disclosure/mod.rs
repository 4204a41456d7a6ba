//! `ringtap disclosure`: requests of authorities for retained data, for officers and auditors.

mod answer;
mod approve;
mod enter;
mod list;
mod note;
mod refuse;
mod show;
mod shown;
mod statistics;

use clap::{Args, Subcommand};

use super::warrant::register_args::RegisterArgs;
use crate::exit::Exit;
use crate::screen::Screen;

/// Enter, approve, answer and refuse requests for retained data, and count them
///
/// An authority asks for the calls and the sessions of somebody in a time that is past. One officer enters
/// the request, another one approves it, then one of them answers it from the database, or refuses it. Each
/// act, looks as well, is in the register of `ringtap warrant`: the same people, `acts` and `verify`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DisclosureArgs {
    #[command(subcommand)]
    command: DisclosureCommand,
    #[command(flatten)]
    register: RegisterArgs,
}

const EXAMPLES: &str = "\
Examples:
  ringtap warrant setup --as ana                       # once: the register and its people
  ringtap disclosure enter request.toml --as ana
  ringtap disclosure approve 3 --as ben
  ringtap disclosure answer 3 --out answer-3 --as ana
  ringtap disclosure statistics --as dora --why 'yearly report'
  ringtap warrant acts --as dora --why 'complaint 12' --request 3";

#[derive(Debug, Subcommand)]
enum DisclosureCommand {
    Enter(Box<enter::Enter>),
    Approve(approve::Approve),
    Answer(Box<answer::AnswerRequest>),
    Refuse(refuse::Refuse),
    Note(note::Note),
    List(list::List),
    Show(show::Show),
    Statistics(statistics::Statistics),
}

impl DisclosureArgs {
    /// Runs it.
    pub(crate) fn run(self, screen: &mut Screen) -> anyhow::Result<Exit> {
        let register = &self.register;
        match self.command {
            DisclosureCommand::Enter(enter) => enter.run(register, screen),
            DisclosureCommand::Approve(approve) => approve.run(register, screen),
            DisclosureCommand::Answer(answer) => answer.run(register, screen),
            DisclosureCommand::Refuse(refuse) => refuse.run(register, screen),
            DisclosureCommand::Note(note) => note.run(register, screen),
            DisclosureCommand::List(list) => list.run(register, screen),
            DisclosureCommand::Show(show) => show.run(register, screen),
            DisclosureCommand::Statistics(statistics) => statistics.run(register, screen),
        }
    }
}
