//! `ringtap disclosure enter`: what an authority asks for.

use std::path::PathBuf;

use clap::Args;
use ringtap_model::Nanos;
use ringtap_report::time::{self, Moment};
use ringtap_warrant::{Category, NewRequest, SecretText, Subject};
use serde::Deserialize;

use crate::commands::warrant::entry_file;
use crate::commands::warrant::register_args::RegisterArgs;
use crate::exit::{Exit, Misuse};
use crate::screen::Screen;

/// Enter a request for retained data: it is answered after another officer has approved it
///
/// Give a TOML file, or options. While a command runs, its options can be seen by everybody on this machine,
/// and shells remember them: with a file of mode 0600 nobody sees whom the request is about. The keys of the
/// file are the names of the options, with `_` for `-`; `category` and `subject` are lists.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct Enter {
    /// TOML file with the request; `-` is standard input
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    #[command(flatten)]
    entry: Entry,
}

/// What is entered.
#[derive(Args, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
struct Entry {
    /// Number of the case
    #[arg(long, value_name = "TEXT")]
    case: Option<String>,
    /// Authority that asks
    #[arg(long, value_name = "TEXT")]
    authority: Option<String>,
    /// Law and order that it rests on
    #[arg(long, value_name = "TEXT")]
    legal_basis: Option<String>,
    /// When the request was received [default: now]
    #[arg(long, value_name = "TIME")]
    received: Option<String>,
    /// Communications from this time on
    #[arg(long, value_name = "TIME")]
    from: Option<String>,
    /// Communications before this time
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// What is asked for: telephony (calls) or internet-access (log-ins and addresses); may be repeated
    #[arg(long, value_name = "WHAT")]
    category: Vec<String>,
    /// Whom it is about; may be repeated: user:, user~: (any realm and case), calling:, called:, mac:, imsi:,
    /// msisdn:, imei:, address: (also with a port), sip:, number: and the name
    #[arg(long, value_name = "SUBJECT")]
    subject: Vec<String>,
}

const EXAMPLES: &str = "\
Examples:
  ringtap disclosure enter request.toml --as ana
  ringtap disclosure enter --as ana --case C-18 --authority 'Police of A' --legal-basis 'Act 2, order 17' \\
      --from 2026-11-01 --until 2026-11-08 --category telephony --subject number:+441601234567

A file: who had an address and a port of it at 14:02:07, and the calls from there:
  case = 'C-18'
  authority = 'Police of A'
  legal_basis = 'Act 2, section 3; order 17'
  received = '2026-11-20 09:30'
  from = '2026-11-19 14:02:07'
  until = '2026-11-19 14:02:08'
  category = ['telephony', 'internet-access']
  subject = ['address:203.0.113.7:40001']";

impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Entry(hidden)")
    }
}

impl Enter {
    /// Runs it.
    pub(super) fn run(self, args: &RegisterArgs, screen: &mut Screen) -> anyhow::Result<Exit> {
        let entry = match self.file {
            Some(_) if self.entry != Entry::default() => {
                let both = "give a file or options, not both: which of the two would be right?";
                return Err(Misuse(both.to_owned()).into());
            }
            Some(path) => entry_file::read(
                &path,
                "the request",
                "`category` and `subject` are lists: ['telephony'], ['user:alice', ...]",
            )?,
            None => self.entry,
        };
        let request = entry.request()?;
        let mut open = args.open()?;
        let id = open.register.enter_request(&open.session, request, time::now())?;
        screen.remark(format!("request {id} waits: another officer approves it"));
        Ok(Exit::Done)
    }
}

impl Entry {
    /// The request, if nothing is missing.
    fn request(self) -> anyhow::Result<NewRequest> {
        let needed = |name: &str, text: &Option<String>| {
            let missing = || Misuse(format!("`{name}` is missing: add `--{name}`, or its line of the file"));
            text.clone().ok_or_else(missing)
        };
        let wrong = |name: &str, error: String| anyhow::Error::from(Misuse(format!("`{name}`: {error}")));
        let moment = |name: &str, text: &str| -> anyhow::Result<Nanos> {
            text.parse::<Moment>().map(Moment::instant).map_err(|error| wrong(name, error))
        };
        let secret = |name: &str, text| needed(name, text).map(SecretText::from);
        let categories = self
            .category
            .iter()
            .map(|text| text.parse::<Category>().map_err(|error| wrong("category", error)));
        // The error does not have the text.
        let subjects = self.subject.iter().enumerate().map(|(at, text)| {
            text.parse::<Subject>().map_err(|error| wrong("subject", format!("entry {}: {error}", at + 1)))
        });
        Ok(NewRequest {
            case_number: secret("case", &self.case)?,
            authority: secret("authority", &self.authority)?,
            legal_basis: secret("legal-basis", &self.legal_basis)?,
            received: self
                .received
                .as_ref()
                .map_or_else(|| Ok(time::now()), |text| moment("received", text))?,
            from: moment("from", &needed("from", &self.from)?)?,
            until: moment("until", &needed("until", &self.until)?)?,
            categories: categories.collect::<anyhow::Result<_>>()?,
            subjects: subjects.collect::<anyhow::Result<_>>()?,
        })
    }
}
