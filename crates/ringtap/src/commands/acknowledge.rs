//! `ringtap acknowledge`: says that somebody knows of an alarm.

use clap::Args;
use ringtap_daemon::control::Request;

use super::control::{ControlArgs, request};
use crate::exit::Exit;
use crate::person::person;
use crate::screen::Screen;

/// Mark a standing alarm as known: it is not repeated, and its record says who knows of it
#[derive(Args, Debug)]
pub(crate) struct Acknowledge {
    /// Id of the alarm, or the first digits of it, as `ringtap alarms` shows them
    #[arg(value_name = "ID")]
    id: String,
    /// What is done about it
    #[arg(long, value_name = "TEXT", default_value = "")]
    comment: String,
    /// Your name, for the record: that of your login where it is not given
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
    #[command(flatten)]
    at: ControlArgs,
}

impl Acknowledge {
    /// Runs it.
    pub(crate) fn run(self, screen: &mut Screen) -> anyhow::Result<Exit> {
        let Self { id, comment, by, at } = self;
        request(screen, &at, &Request::Acknowledge { id, by: person(by), comment })
    }
}
