//! `ringtap warrant people`: officers and auditors.

use std::io::{self, Write};

use anyhow::Context;
use clap::{Args, Subcommand};
use ringtap_report::table::{self, Cell, Column};
use ringtap_report::text::counted;
use ringtap_report::time;
use ringtap_warrant::{PersonView, Role};

use super::register_args::{OpenRegister, RegisterArgs};
use super::shown::WRITING;
use crate::exit::Exit;
use crate::screen::Screen;

/// Add, confirm, disable and list officers and auditors
///
/// What one officer proposes, another one confirms. Names stay, since acts have them: nobody is deleted.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct PeopleOfRegister {
    #[command(subcommand)]
    action: PeopleAction,
}

#[derive(Debug, Subcommand)]
enum PeopleAction {
    /// Propose to add somebody, whose first passphrase is asked for
    Add {
        /// Name
        #[arg(value_name = "NAME")]
        name: String,
        /// officer or auditor
        #[arg(long, value_name = "ROLE")]
        role: Role,
    },
    /// Propose that somebody may do nothing any more
    Disable {
        /// Name
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Confirm what another officer has proposed
    Confirm {
        /// Number of the proposal, as `list` shows it
        #[arg(value_name = "NUMBER")]
        proposal: u64,
    },
    /// Choose another passphrase for yourself
    Passphrase,
    /// List everybody, and what waits to be confirmed
    List {
        /// Why you look, for the record
        #[arg(long, value_name = "TEXT")]
        why: String,
    },
}

const EXAMPLES: &str = "\
Examples:
  ringtap warrant people add ben --role officer --as ana
  ringtap warrant people passphrase --as ben
  ringtap warrant people add dora --role auditor --as ana
  ringtap warrant people confirm 7 --as ben
  ringtap warrant people list --why 'who waits' --as ben";

impl PeopleOfRegister {
    /// Runs it.
    pub(crate) fn run(self, args: &RegisterArgs, screen: &mut Screen) -> anyhow::Result<Exit> {
        let OpenRegister { mut register, session, mut secrets } = args.open()?;
        match self.action {
            PeopleAction::Add { name, role } => {
                let passphrase = secrets.ask_for_new(&name)?;
                let proposal = register.propose_person(&session, &name, role, &passphrase, time::now())?;
                screen.remark(match proposal {
                    Some(number) => {
                        format!("another officer confirms it: ringtap warrant people confirm {number}")
                    }
                    None => format!("{name} is the second officer, who first chooses another passphrase"),
                });
            }
            PeopleAction::Disable { name } => {
                let proposal = register.propose_to_disable(&session, &name, time::now())?.unwrap_or_default();
                screen.remark(format!(
                    "another officer confirms it: ringtap warrant people confirm {proposal}"
                ));
            }
            PeopleAction::Confirm { proposal } => {
                register.confirm_person(&session, proposal, time::now())?;
                screen.remark("it is confirmed, and holds");
            }
            PeopleAction::Passphrase => {
                let passphrase = secrets.ask_for_new(session.name())?;
                register.change_passphrase(&session, &passphrase, time::now())?;
                screen.remark("the new passphrase holds");
            }
            PeopleAction::List { why } => {
                let people = register.people(&session, &why, time::now())?;
                print(&people, screen).context(WRITING)?;
            }
        }
        Ok(Exit::Done)
    }
}

fn print(people: &[PersonView], screen: &mut Screen) -> io::Result<()> {
    let Screen { out, width, colour, .. } = screen;
    let rows = people.iter().map(|person| {
        let proposal = person.proposal.as_ref();
        vec![
            Cell::plain(&person.name),
            Cell::known(person.role.map(Role::name)),
            Cell::plain(person.state),
            Cell::known(proposal.map(|(number, _)| number.to_string())),
            Cell::known(proposal.map(|(_, by)| by.clone())),
        ]
    });
    table::write(out, COLUMNS, rows, *width, *colour)?;
    writeln!(out, "\n{}", counted(people.len() as u64, "name"))?;
    out.flush()
}

const COLUMNS: &[Column] = &[
    Column::word("NAME", 0),
    Column::word("ROLE", 0),
    Column::word("STATE", 0),
    Column::figure("PROPOSAL", 0),
    Column::text("PROPOSED BY", 20, 8, 1),
];
