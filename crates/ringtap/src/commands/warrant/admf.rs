//! `ringtap warrant admf`: who may provision tasks over X1.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args, Subcommand};
use ringtap_report::table::{self, Cell, Column};
use ringtap_report::text::{counted, shown};
use ringtap_report::time;
use ringtap_warrant::{AdmfView, CountryCode, NewAdmf, SecretText};
use serde::Deserialize;

use super::entry_file;
use super::register_args::{OpenRegister, RegisterArgs};
use super::shown::WRITING;
use crate::exit::{Exit, Misuse};
use crate::screen::Screen;

/// Register who may provision tasks over X1: propose, confirm, disable and list administration functions
///
/// An administration function (ADMF) sends its tasks to `ringtap warrant x1`. One officer proposes it,
/// another one confirms it by the hash of its certificate; a change takes two again. One officer disables it
/// at once: its tasks stay, and are ended as other warrants are.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct AdmfsOfRegister {
    #[command(subcommand)]
    action: AdmfAction,
}

#[derive(Debug, Subcommand)]
enum AdmfAction {
    /// Propose to register an ADMF, or to replace all that is registered of it
    Propose {
        /// TOML file with what is to be registered
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Confirm what another officer has proposed
    Confirm {
        /// Number of the proposal, as `list` shows it
        #[arg(value_name = "NUMBER")]
        proposal: u64,
        /// The first 16 digits, at least, of the SHA-256 of its certificate, as the ADMF has told them to you
        /// [default: show what is proposed, and confirm nothing]
        #[arg(long, value_name = "SHA256")]
        certificate: Option<String>,
    },
    /// End what an ADMF may do, at once; one officer is enough
    Disable {
        /// Its identifier
        #[arg(value_name = "IDENTIFIER")]
        identifier: String,
    },
    /// List all, and what waits to be confirmed
    List {
        /// Why you look, for the record
        #[arg(long, value_name = "TEXT")]
        why: String,
    },
}

const EXAMPLES: &str = "\
Examples:
  ringtap warrant admf propose admf.toml --as ana
  ringtap warrant admf confirm 12 --as ben                    # shows it
  ringtap warrant admf confirm 12 --as ben --certificate 5f0c41d5b1f3a7e2
  ringtap warrant admf disable admf-1 --as cleo
  ringtap warrant admf list --why 'who waits' --as ben

A file:
  identifier = 'admf-1'                    # the admfIdentifier of its messages
  certificates = ['admf.pem']              # its client certificates, beside this file; 1 to 4
  activates = false                        # true: its tasks are in force without an officer
  authority = 'District Court'             # these fields are those of each warrant
  legal_basis = 'Act 1, section 2'
  requester = 'Agency A'
  authorisation_country = 'GB'
  operator = 'operator'
  agencies = ['agency-a']                  # whom its product may be delivered to
  longest_days = 90                        # without it, each task has to name its end";

/// The file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AdmfFile {
    identifier: String,
    certificates: Vec<PathBuf>,
    #[serde(default)]
    activates: bool,
    authority: SecretText,
    legal_basis: SecretText,
    requester: SecretText,
    authorisation_country: CountryCode,
    delivery_country: Option<CountryCode>,
    operator: String,
    agencies: Vec<String>,
    longest_days: Option<u32>,
}

impl AdmfsOfRegister {
    /// Runs it.
    pub(crate) fn run(self, args: &RegisterArgs, screen: &mut Screen) -> anyhow::Result<Exit> {
        // Before it is read by another user.
        let entry = match &self.action {
            AdmfAction::Propose { file } => Some(AdmfFile::read(file)?),
            _ => None,
        };
        let OpenRegister { mut register, session, .. } = args.open()?;
        match self.action {
            AdmfAction::Propose { .. } => {
                let entry = entry.context("there is no file")?;
                let number = register.propose_admf(&session, entry, time::now())?;
                screen.remark(format!("another officer confirms it: ringtap warrant admf confirm {number}"));
            }
            AdmfAction::Confirm { proposal, certificate } => {
                let entry = register.proposed_admf(&session, proposal, "to confirm it", time::now())?;
                write_entry(&entry, &mut screen.out).context(WRITING)?;
                screen.out.flush().context(WRITING)?;
                let Some(given) = certificate else {
                    screen.remark("nothing was confirmed: compare it, and name its certificate");
                    return Ok(Exit::Done);
                };
                let given = given.trim().to_ascii_lowercase();
                if given.len() < 16 || !entry.certificates.iter().any(|hash| hash.starts_with(&given)) {
                    let text = "nothing was confirmed: give the first 16 digits of the SHA-256 of one of its \
                                certificates, as the ADMF has told them to you";
                    return Err(Misuse(text.to_owned()).into());
                }
                register.confirm_admf(&session, proposal, time::now())?;
                screen.remark("it is confirmed, and holds");
            }
            AdmfAction::Disable { identifier } => {
                register.disable_admf(&session, &identifier, time::now())?;
                screen
                    .remark("it may do nothing any more; its tasks are ended by `ringtap warrant withdraw`");
            }
            AdmfAction::List { why } => {
                let admfs = register.admfs(&session, &why, time::now())?;
                print(&admfs, screen).context(WRITING)?;
            }
        }
        Ok(Exit::Done)
    }
}

impl AdmfFile {
    fn read(path: &Path) -> anyhow::Result<NewAdmf> {
        let lists = "`certificates` and `agencies` are lists, and countries are two letters";
        let file: Self = entry_file::read(path, "the ADMF", lists)?;
        let beside = path.parent().unwrap_or(Path::new("."));
        let hashes = file.certificates.iter().map(|path| ringtap_x1::certificate_hash(&beside.join(path)));
        Ok(NewAdmf {
            identifier: file.identifier,
            certificates: hashes.collect::<anyhow::Result<_>>()?,
            activates: file.activates,
            authority: file.authority,
            legal_basis: file.legal_basis,
            requester: file.requester,
            authorisation_country: file.authorisation_country,
            delivery_country: file.delivery_country.unwrap_or(file.authorisation_country),
            operator: file.operator,
            agencies: file.agencies,
            longest_days: file.longest_days,
        })
    }
}

fn write_entry(entry: &NewAdmf, out: &mut dyn Write) -> io::Result<()> {
    let mut line = |name: &str, text: &str| writeln!(out, "{name:<16}{}", shown(text));
    line("identifier", &entry.identifier)?;
    entry.certificates.iter().try_for_each(|hash| line("certificate", hash))?;
    line("tasks", rights(entry))?;
    line("authority", &entry.authority)?;
    line("legal basis", &entry.legal_basis)?;
    line("requester", &entry.requester)?;
    line("countries", &format!("by law of {}, to {}", entry.authorisation_country, entry.delivery_country))?;
    line("operator", &entry.operator)?;
    line("agencies", &entry.agencies.join(", "))?;
    line("longest", &longest(entry))
}

fn rights(entry: &NewAdmf) -> &'static str {
    if entry.activates { "in force at once" } else { "wait for an officer" }
}

fn longest(entry: &NewAdmf) -> String {
    entry.longest_days.map_or("each task names its end".to_owned(), |days| counted(days.into(), "day"))
}

fn print(admfs: &[AdmfView], screen: &mut Screen) -> io::Result<()> {
    let Screen { out, width, colour, .. } = screen;
    let rows = admfs.iter().map(|view| {
        let (entry, state, number, by) = match view {
            AdmfView::Registered(admf) => {
                let state = if admf.disabled { "disabled" } else { "active" };
                (&admf.entry, state, None, format!("{}, {}", &*admf.proposed_by, &*admf.confirmed_by))
            }
            AdmfView::Proposed { number, by, entry } => (entry, "waits", Some(number), by.clone()),
        };
        vec![
            Cell::plain(&entry.identifier),
            Cell::plain(state),
            Cell::plain(rights(entry)),
            Cell::plain(entry.agencies.join(", ")),
            Cell::plain(longest(entry)),
            Cell::known(number.map(u64::to_string)),
            Cell::plain(by),
        ]
    });
    table::write(out, COLUMNS, rows, *width, *colour)?;
    writeln!(out, "\n{}", counted(admfs.len() as u64, "ADMF"))?;
    out.flush()
}

const COLUMNS: &[Column] = &[
    Column::word("IDENTIFIER", 0),
    Column::word("STATE", 0),
    Column::word("TASKS", 0),
    Column::text("AGENCIES", 24, 8, 3),
    Column::word("LONGEST", 4),
    Column::figure("PROPOSAL", 0),
    Column::text("BY", 20, 8, 2),
];
