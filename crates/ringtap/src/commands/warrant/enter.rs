//! `ringtap warrant enter`: a draft.

use std::path::PathBuf;

use clap::Args;
use ringtap_report::time::{self, Moment};
use ringtap_warrant::{CountryCode, Delivers, Liid, NewWarrant, PayloadKey, SecretText, Target};
use serde::Deserialize;

use super::entry_file;
use super::register_args::RegisterArgs;
use crate::exit::{Exit, Misuse};
use crate::screen::Screen;

/// Enter a warrant: a draft until another officer approves it
///
/// Give a TOML file, or options. While a command runs, its options can be seen by everybody on this machine,
/// and shells remember them: with a file of mode 0600 nobody sees whom the warrant is about. The keys of the
/// file are the names of the options, with `_` for `-`; `target` is a list.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Enter {
    /// TOML file with the warrant; `-` is standard input
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    #[command(flatten)]
    entry: Entry,
}

/// What is entered.
#[derive(Args, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
struct Entry {
    /// Lawful interception identifier: 1 to 25 ASCII characters, or 0x and hex digits
    #[arg(long, value_name = "LIID")]
    liid: Option<String>,
    /// Number of the case
    #[arg(long, value_name = "TEXT")]
    case: Option<String>,
    /// Court or authority that has ordered it
    #[arg(long, value_name = "TEXT")]
    authority: Option<String>,
    /// Law and order that it rests on
    #[arg(long, value_name = "TEXT")]
    legal_basis: Option<String>,
    /// Who asked for it
    #[arg(long, value_name = "TEXT")]
    requester: Option<String>,
    /// Country whose law it is by, as two letters
    #[arg(long, value_name = "CC")]
    authorisation_country: Option<String>,
    /// Country where it is delivered [default: the same]
    #[arg(long, value_name = "CC")]
    delivery_country: Option<String>,
    /// Name of the agency that it is delivered to
    #[arg(long, value_name = "NAME")]
    agency: Option<String>,
    /// Number of the mediation function, where there are several
    #[arg(long, value_name = "N")]
    mediation_function: Option<u32>,
    /// Identifies the operator to the agency
    #[arg(long, value_name = "NAME")]
    operator: Option<String>,
    /// From this time on [default: now]
    #[arg(long, value_name = "TIME")]
    begins: Option<String>,
    /// Before this time
    #[arg(long, value_name = "TIME")]
    ends: Option<String>,
    /// What is delivered: iri, content or both
    #[arg(long, value_name = "WHAT")]
    delivers: Option<String>,
    /// File with the key that encrypts payloads: 48 or 64 hex digits [default: payloads are not encrypted]
    #[arg(long, value_name = "FILE")]
    payload_key_file: Option<PathBuf>,
    /// Whom it is about; may be repeated: user:, user~: (any realm and case), calling:, called:, mac:, imsi:,
    /// msisdn:, imei:, address:, sip:, number: and the name
    #[arg(long, value_name = "TARGET")]
    target: Vec<String>,
}

const EXAMPLES: &str = "\
Examples:
  ringtap warrant enter warrant.toml --as ana
  ringtap warrant enter --as ana --liid LI-2026-017 --case C-17 --authority 'District Court' \\
      --legal-basis 'Act 1, section 2; order 4711' --requester 'Agency A' --authorisation-country GB \\
      --agency agency-a --operator operator --ends 2026-12-31 --delivers both --target number:+441601234567

A file:
  liid = 'LI-2026-017'
  case = 'C-17'
  authority = 'District Court'
  legal_basis = 'Act 1, section 2; order 4711'
  requester = 'Agency A'
  authorisation_country = 'GB'
  agency = 'agency-a'
  operator = 'operator'
  ends = '2026-12-31'
  delivers = 'both'
  target = ['user~:alice@example.org', 'sip:alice@*', 'address:203.0.113.7']";

impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Entry(hidden)")
    }
}

impl Enter {
    /// Runs it.
    pub(crate) fn run(self, args: &RegisterArgs, screen: &mut Screen) -> anyhow::Result<Exit> {
        let entry = match self.file {
            Some(_) if self.entry != Entry::default() => {
                let both = "give a file or options, not both: which of the two would be right?";
                return Err(Misuse(both.to_owned()).into());
            }
            Some(path) => entry_file::read(&path, "the warrant", "`target` is a list: ['user:alice', ...]")?,
            None => self.entry,
        };
        let warrant = entry.warrant()?;
        let mut open = args.open()?;
        let id = open.register.enter(&open.session, warrant, time::now())?;
        screen.remark(format!("warrant {id} is a draft: another officer approves it"));
        Ok(Exit::Done)
    }
}

impl Entry {
    /// The warrant, if nothing is missing.
    fn warrant(self) -> anyhow::Result<NewWarrant> {
        let needed = |name: &str, text: &Option<String>| {
            let missing = || Misuse(format!("`{name}` is missing: add `--{name}`, or its line of the file"));
            text.clone().ok_or_else(missing)
        };
        let secret = |name, text| needed(name, text).map(SecretText::from);
        let wrong = |name: &str, error: String| anyhow::Error::from(Misuse(format!("`{name}`: {error}")));
        let time = |name: &str, text: &str| {
            text.parse::<Moment>().map(Moment::instant).map_err(|error| wrong(name, error))
        };
        let country = |name: &str, text: &str| {
            text.parse::<CountryCode>().map_err(|error| wrong(name, error.to_string()))
        };
        let authorisation = needed("authorisation-country", &self.authorisation_country)?;
        let delivery = self.delivery_country.as_ref().unwrap_or(&authorisation);
        let parsed = self.target.iter().enumerate().map(|(at, text)| {
            text.parse::<Target>().map_err(|error| wrong("target", format!("entry {}: {error}", at + 1)))
        });
        let payload_key = self.payload_key_file.as_deref().map(|path| -> anyhow::Result<PayloadKey> {
            let bytes = ringtap_spool::secret(path)?;
            let text = std::str::from_utf8(&bytes).unwrap_or_default();
            text.parse::<PayloadKey>().map_err(|error| wrong("payload-key-file", error.to_string()))
        });
        Ok(NewWarrant {
            liid: needed("liid", &self.liid)?
                .parse::<Liid>()
                .map_err(|error| wrong("liid", error.to_string()))?,
            case_number: secret("case", &self.case)?,
            authority: secret("authority", &self.authority)?,
            legal_basis: secret("legal-basis", &self.legal_basis)?,
            requester: secret("requester", &self.requester)?,
            authorisation_country: country("authorisation-country", &authorisation)?,
            delivery_country: country("delivery-country", delivery)?,
            agency: needed("agency", &self.agency)?,
            mediation_function: self.mediation_function,
            operator: needed("operator", &self.operator)?,
            begins: self.begins.as_ref().map_or_else(|| Ok(time::now()), |text| time("begins", text))?,
            ends: time("ends", &needed("ends", &self.ends)?)?,
            delivers: needed("delivers", &self.delivers)?
                .parse::<Delivers>()
                .map_err(|error| wrong("delivers", error.to_string()))?,
            payload_key: payload_key.transpose()?,
            targets: parsed.collect::<anyhow::Result<_>>()?,
        })
    }
}
