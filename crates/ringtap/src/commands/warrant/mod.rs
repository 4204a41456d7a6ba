//! `ringtap warrant`: the register of lawful interception, for officers and auditors.

mod acts;
mod admf;
pub(in crate::commands) mod approve;
mod enter;
pub(in crate::commands) mod entry_file;
mod extend;
mod list;
mod note;
pub(in crate::commands) mod out_dir;
mod people;
mod product;
pub(in crate::commands) mod register_args;
mod secrets;
mod setup;
mod show;
pub(in crate::commands) mod shown;
mod verify;
mod verify_product;
mod withdraw;
mod x1;

use clap::{Args, Subcommand};

use self::register_args::RegisterArgs;
use crate::exit::Exit;
use crate::screen::Screen;

/// Enter, approve, extend and end warrants of lawful interception, and prove what was done
///
/// A warrant says who may be watched, on whose order, for how long, and what is delivered. One officer enters
/// it, another one approves it, and it ends by itself. Each act, looks as well, is recorded before it is
/// done, sealed, chained and signed. Officers and auditors give their passphrase; nobody else sees anything.
#[derive(Args, Debug)]
pub(crate) struct WarrantArgs {
    #[command(subcommand)]
    command: WarrantCommand,
    #[command(flatten)]
    register: RegisterArgs,
}

#[derive(Debug, Subcommand)]
enum WarrantCommand {
    Setup(setup::Setup),
    Enter(Box<enter::Enter>),
    Approve(approve::Approve),
    Extend(extend::Extend),
    Withdraw(withdraw::Withdraw),
    Note(note::Note),
    List(list::List),
    Show(show::Show),
    Acts(acts::Acts),
    Verify(verify::VerifyRegister),
    VerifyProduct(verify_product::VerifyProduct),
    People(people::PeopleOfRegister),
    Product(Box<product::Product>),
    Admf(admf::AdmfsOfRegister),
    X1(Box<x1::X1>),
}

impl WarrantArgs {
    /// Runs it.
    pub(crate) fn run(self, screen: &mut Screen) -> anyhow::Result<Exit> {
        let register = &self.register;
        match self.command {
            WarrantCommand::Setup(setup) => setup.run(register, screen),
            WarrantCommand::Enter(enter) => enter.run(register, screen),
            WarrantCommand::Approve(approve) => approve.run(register, screen),
            WarrantCommand::Extend(extend) => extend.run(register, screen),
            WarrantCommand::Withdraw(withdraw) => withdraw.run(register, screen),
            WarrantCommand::Note(note) => note.run(register, screen),
            WarrantCommand::List(list) => list.run(register, screen),
            WarrantCommand::Show(show) => show.run(register, screen),
            WarrantCommand::Acts(acts) => acts.run(register, screen),
            WarrantCommand::Verify(verify) => verify.run(register, screen),
            WarrantCommand::VerifyProduct(verify) => verify.run(register, screen),
            WarrantCommand::People(people) => people.run(register, screen),
            WarrantCommand::Product(product) => product.run(register, screen),
            WarrantCommand::Admf(admf) => admf.run(register, screen),
            WarrantCommand::X1(x1) => x1.run(register, screen),
        }
    }
}
