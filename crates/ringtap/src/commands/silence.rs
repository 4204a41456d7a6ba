//! `ringtap silence`: tells nobody of some alarms for a while.

use std::time::Duration;

use clap::Args;
use ringtap_daemon::control::Request;

use super::control::{ControlArgs, request};
use crate::duration::duration;
use crate::exit::Exit;
use crate::person::person;
use crate::screen::Screen;

/// Tell nobody of some alarms for a while, such as those of a trunk under maintenance
///
/// Alarms are raised, stored and logged all the same. Rule and subject may have `*` for any text. Without a
/// rule, the silences are listed.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SilenceArgs {
    /// Name of the rule
    #[arg(value_name = "RULE")]
    rule: Option<String>,
    /// Only of this subject, such as a trunk
    #[arg(long, value_name = "SUBJECT", default_value = "*", requires = "rule")]
    subject: String,
    /// For how long
    #[arg(long = "for", value_name = "TIME", default_value = "2h", value_parser = duration)]
    length: Duration,
    /// End the silences of this rule and subject
    #[arg(long, requires = "rule", conflicts_with_all = ["length", "comment"])]
    end: bool,
    /// Why
    #[arg(long, value_name = "TEXT", default_value = "")]
    comment: String,
    /// Your name, for the record: that of your login where it is not given
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
    #[command(flatten)]
    at: ControlArgs,
}

const EXAMPLES: &str = "\
Examples:
  ringtap silence '*' --subject carrier-a --for 4h --comment 'maintenance of the carrier'
  ringtap silence
  ringtap silence '*' --subject carrier-a --end";

impl SilenceArgs {
    /// Runs it.
    pub(crate) fn run(self, screen: &mut Screen) -> anyhow::Result<Exit> {
        let Self { rule, subject, length, end, comment, by, at } = self;
        let asked = match (rule, end) {
            (None, _) => Request::Silences,
            (Some(rule), true) => Request::Unsilence { rule, subject },
            (Some(rule), false) => {
                Request::Silence { rule, subject, seconds: length.as_secs(), by: person(by), comment }
            }
        };
        request(screen, &at, &asked)
    }
}
