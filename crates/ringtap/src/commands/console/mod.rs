//! `ringtap console`: the page, and who may use it.

mod assistants;
mod openapi;
mod people;
mod secrets;
mod serve;
mod setup;
mod warrants;

use clap::{Args, Subcommand};

use crate::exit::Exit;
use crate::screen::Screen;

/// Serve the page on which calls are found, seen and heard, and say who may use it
#[derive(Args, Debug)]
pub(crate) struct ConsoleArgs {
    #[command(subcommand)]
    command: ConsoleCommand,
}

#[derive(Debug, Subcommand)]
enum ConsoleCommand {
    Setup(setup::Setup),
    People(people::PeopleCommand),
    Serve(Box<serve::ServeArgs>),
    Openapi(openapi::OpenapiArgs),
}

impl ConsoleArgs {
    /// Runs it.
    pub(crate) fn run(self, screen: &mut Screen) -> anyhow::Result<Exit> {
        match self.command {
            ConsoleCommand::Setup(setup) => setup.run(screen),
            ConsoleCommand::People(people) => people.run(screen),
            ConsoleCommand::Serve(serve) => serve.run(screen),
            ConsoleCommand::Openapi(openapi) => openapi.run(screen),
        }
    }
}
