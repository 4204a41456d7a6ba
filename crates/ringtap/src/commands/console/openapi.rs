//! `ringtap console openapi`: prints the description of the API.

use std::io::Write;

use anyhow::Context;
use clap::Args;

use crate::exit::Exit;
use crate::screen::Screen;

/// Print the description of the HTTP API of the console: OpenAPI 3.1, in JSON
///
/// The same that a console serves at `/api/v1/openapi.json`. No server needs to run.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct OpenapiArgs {}

const EXAMPLES: &str = "\
Examples:
  ringtap console openapi > ringtap.json
  ringtap console openapi | jq -r '.paths | keys[]'";

impl OpenapiArgs {
    /// Runs it.
    pub(crate) fn run(self, screen: &mut Screen) -> anyhow::Result<Exit> {
        screen
            .out
            .write_all(ringtap_console::openapi().as_bytes())
            .and_then(|()| screen.out.flush())
            .context("cannot write to standard output")?;
        Ok(Exit::Done)
    }
}
