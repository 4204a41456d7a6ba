//! `ringtap identity`: who had which addresses, from RADIUS, DHCP and PPPoE of captures, from the database,
//! or from a file.

use std::any::Any;
use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use ringtap_engine::{Sink, StreamEnd};
use ringtap_identity::{
    Counts, DhcpCounts, Holder, Holders, IdentityTracker, KeyLog, Limits, PppoeCounts, Sessions,
};
use ringtap_model::{Call, Identity, Message, Nanos, Registration};
use ringtap_report::csv::{Csv, RecordKind};
use ringtap_report::text::counted;
use ringtap_report::time::{self, Moment};
use ringtap_report::{identities, json};
use ringtap_store::IdentityReader;

use crate::duration::duration;
use crate::exit::{Exit, Misuse};
use crate::input::{Input, Listener, Unpacking};
use crate::page::Format;
use crate::screen::Screen;
use crate::subscriber_files::{read_ranges, read_secrets};

/// List sessions of subscribers by RADIUS, DHCP and PPPoE in captures; or who had an address, and what proves
/// it
///
/// One line a session of RADIUS or PPPoE, or a lease of DHCP: when it began and ended, user and station,
/// every address and prefix, its NAS, the bytes that it carried, and why it ended. With an address, only
/// those who had it: at the time of `--at`, or at any time; with the frames in which they got it and lost it.
/// An address with a port finds the user of a block of ports at a shared address. Without capture files, the
/// database of `ringtap run` is asked, which only root and the service's user may read.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct IdentityArgs {
    /// Capture files; `-` is standard input. Among them, or alone, at most one address: `203.0.113.7`,
    /// `203.0.113.7:40001`, `2001:db8::1`, `[2001:db8::1]:40001`
    #[arg(value_name = "FILE|ADDRESS")]
    inputs: Vec<PathBuf>,
    /// Sessions of this user or station: a User-Name with or without its realm, a MAC address or number in
    /// any notation
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// Directory of the database, which is asked where no files are named; without this, the one that `run`
    /// writes to unless configured otherwise
    #[arg(long, value_name = "DIR")]
    store: Option<PathBuf>,
    #[command(flatten)]
    unpacking: Unpacking,
    /// When the address was used, as '2026-11-21 14:02:07'; in UTC where no zone is given and the output is
    /// no terminal
    #[arg(long, value_name = "TIME")]
    at: Option<Moment>,
    /// Check authenticators with the secrets of this file: each line is a client's address or network, a
    /// space, and its secret. Nobody else may read the file
    #[arg(long, value_name = "FILE")]
    secrets: Option<PathBuf>,
    /// Read RADIUS over TLS with the keys in this file, which an end of the connections has logged:
    /// `SSLKEYLOGFILE`, or `openssl -keylogfile`. Not everybody may be able to read it
    #[arg(long, value_name = "FILE")]
    tls_keys: Option<PathBuf>,
    /// Answer for addresses that never change hands, too, from this file: `[[range]]` with `networks`, and
    /// optional `subscriber`, `from` and `until`
    #[arg(long = "static", value_name = "FILE")]
    ranges: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Sessions that are followed at once; those silent for longest are listed as they are then
    #[arg(long, value_name = "N", default_value_t = Limits::default().sessions)]
    max_sessions: usize,
    /// How long nothing may be heard of a session before it has ended; three interim intervals, where they
    /// are known and shorter
    #[arg(long, value_name = "TIME", default_value = "48h", value_parser = duration)]
    idle: Duration,
}

const EXAMPLES: &str = "\
Examples:
  ringtap identity radius.pcap
  ringtap identity radius.pcap 203.0.113.7:40001 --at '2026-11-21 14:02:07'
  ringtap identity 203.0.113.7:40001 --at '2026-11-21 14:02:07' --store /var/lib/ringtap/records
  ringtap identity --user bob@example.org
  ringtap identity dhcp.pcap 203.0.113.7 --static lines.toml
  ringtap identity --secrets clients.txt radius-*.pcap.gz 2001:db8:7::1
  ringtap identity radius.pcap --format jsonl | jq -r 'select(.end_cause == \"reassigned\") | .user'";

const WRITING: &str = "cannot write the results";

impl IdentityArgs {
    /// Runs it.
    pub(crate) fn run(self, screen: &mut Screen) -> anyhow::Result<Exit> {
        let (files, question) = self.split()?;
        let ranges = self.ranges.as_deref().map(read_ranges).transpose()?.unwrap_or_default();
        if files.is_empty() {
            let mut found = self.stored(&question)?;
            found.records.extend(ranges.into_iter().filter(|range| question.is_about(range)));
            self.show(&found, &question, screen)?;
            return Ok(Exit::Done);
        }
        let secrets = self.secrets.as_deref().map(read_secrets).transpose()?.unwrap_or_default();
        let idle = Nanos(u64::try_from(self.idle.as_nanos()).unwrap_or(u64::MAX));
        let limits = Limits { sessions: self.max_sessions, idle, ..Limits::default() };
        let keys = self.tls_keys.as_deref().map(KeyLog::open).transpose()?;
        let sessions =
            Sessions::new(limits, secrets).following_leases().following_pppoe().with_tls_keys(keys);
        let tracker = IdentityTracker::new(sessions);
        let input = Input::open(&files, self.unpacking)?;
        let bar = input.progress(screen, "reading");
        let mut found = Found::default();
        let pass = input.pass_to(tracker, &mut found, &bar);
        // They answer questions, and are no sessions of the captures.
        found.records.extend(ranges.into_iter().filter(|_| question.is_asked()));
        found.records.retain(|record| question.is_about(record));
        self.show(&found, &question, screen)?;
        self.remark(&found.counts, files.len(), screen);
        Ok(pass.exit(screen))
    }

    /// The files, and what is asked.
    fn split(&self) -> anyhow::Result<(Vec<PathBuf>, Question)> {
        let (mut files, mut address) = (Vec::new(), None);
        for input in &self.inputs {
            match input.to_str().and_then(endpoint) {
                Some(_) if address.is_some() => {
                    return Err(
                        Misuse(format!("`{}` is a second address: ask for one", input.display())).into()
                    );
                }
                Some(found) => address = Some(found),
                None => files.push(input.clone()),
            }
        }
        let asks = address.is_some() || self.user.is_some();
        let problem = match files.is_empty() {
            _ if address.is_some() && self.user.is_some() => {
                "ask for an address or for a user, not for both: whoever had the address is named"
            }
            true if !asks => "name capture files; or, to ask the database, an address or `--user <NAME>`",
            true if self.tls_keys.is_some() => "`--tls-keys` decrypts packets: name the capture files, too",
            true if self.secrets.is_some() => "`--secrets` checks packets: name the capture files, too",
            false if self.store.is_some() => "name capture files or `--store`, not both: one is searched",
            _ if self.at.is_some() && !asks => {
                "`--at` needs an address or `--user`: whose session is asked for?"
            }
            _ => {
                let at = self.at.map(Moment::instant);
                let is_stored = files.is_empty();
                return Ok((files, Question { address, user: self.user.clone(), at, is_stored }));
            }
        };
        Err(Misuse(problem.to_owned()).into())
    }

    /// What the database has of it.
    fn stored(&self, question: &Question) -> anyhow::Result<Found> {
        let usual = ringtap_daemon::default_records();
        let directory = self.store.as_deref().unwrap_or(&usual);
        let is_absent = self.store.is_none() && matches!(directory.try_exists(), Ok(false));
        if is_absent && self.ranges.is_some() {
            return Ok(Found::default());
        }
        if is_absent {
            let text = format!(
                "name the capture files to search, or the database with `--store <DIR>`: the usual \
                 directory, {}, does not exist",
                directory.display()
            );
            return Err(Misuse(text).into());
        }
        let reader = IdentityReader::open(directory)?;
        let records = match (question.address, &question.user) {
            (Some((address, port)), _) => reader.with_address(address, port, question.at)?,
            (None, Some(user)) => reader.named(user, question.at)?,
            (None, None) => Vec::new(),
        };
        Ok(Found { records, counts: Counts::default() })
    }

    fn show(&self, found: &Found, question: &Question, screen: &mut Screen) -> anyhow::Result<()> {
        if self.format == Format::Table {
            screen.page();
        }
        self.print(found, question, screen).context(WRITING)
    }

    fn print(&self, found: &Found, question: &Question, screen: &mut Screen) -> io::Result<()> {
        let Screen { out, width, colour, .. } = screen;
        let holders = question.holders(&found.records);
        let sessions: Vec<&Identity> = match &holders {
            Some(holders) => distinct(holders),
            None => found.records.iter().collect(),
        };
        match self.format {
            Format::Jsonl => {
                let mut lines = json::Lines::default();
                sessions.iter().try_for_each(|session| lines.write(out, *session))?;
            }
            Format::Csv => {
                let csv = Csv::begin(out, RecordKind::Identities)?;
                sessions.iter().try_for_each(|session| csv.record(out, RecordKind::Identities, *session))?;
            }
            Format::Table => match (&holders, question.address) {
                (Some(holders), Some(address)) => question.write(address, holders, out, *width, *colour)?,
                _ => write_sessions(found, question.is_stored, out, *width, *colour)?,
            },
        }
        out.flush()
    }

    /// What has to be known of the result.
    fn remark(&self, counts: &Counts, files: usize, screen: &mut Screen) {
        let Counts { right, wrong, unchecked, .. } = *counts;
        if self.secrets.is_some() {
            let checked = format!("authenticators: {right} right, {wrong} wrong, {unchecked} unchecked");
            let hint = "; packets with wrong ones changed no session: is the secret of their client right?";
            screen.remark(format!("{checked}{}", if wrong > 0 { hint } else { "" }));
        }
        if read(counts) == 0 {
            screen.remark(
                "no RADIUS packet, no DHCP message and no login by PPPoE was found: is the capture of the \
                 path between NAS or relay agent and server, or of that between clients and access \
                 concentrator?",
            );
        }
        let lost = [
            (
                counts.evicted,
                "session",
                "had to give way to others: raise `--max-sessions`, or read fewer files at once",
            ),
            (counts.requests_evicted, "request", "gave way before being answered: sessions may be missing"),
            (counts.dhcp.exchanges_evicted, "exchange", "of DHCP gave way: hosts and lines may be missing"),
            (counts.dhcp.malformed, "datagram", "on the ports of DHCP could not be read: was it cut?"),
            (
                counts.tls.no_key,
                "record",
                "of RADIUS over TLS had no key: does `--tls-keys` have its connection, \
                                           and the capture its beginning?",
            ),
            (
                counts.tls.wrong,
                "record",
                "of RADIUS over TLS were not opened by their key: are packets missing?",
            ),
            (counts.tls.unsupported, "record", "of RADIUS over TLS have a cipher that is not read"),
            (counts.tls.evicted, "connection", "of TLS gave way to others"),
            (counts.pppoe.links_evicted, "session", "of PPPoE gave way before it had an address"),
            (counts.pppoe.malformed, "frame", "of PPPoE could not be read: was it cut?"),
            (counts.pppoe.unpaired, "address", "of PPPoE is of a client that nothing else tells of"),
            (counts.names_dropped, "name", "of packets with too many were not read"),
            (counts.addresses_dropped, "address", "of packets with too many were not read"),
        ];
        for (count, noun, what) in lost.into_iter().filter(|(count, ..)| *count > 0) {
            screen.remark(format!("{} {what}", counted(count, noun)));
        }
        if self.format == Format::Table && files > 1 && read(counts) > 0 {
            screen.remark("frames are numbered in each file on its own");
        }
    }
}

/// Packets, messages and frames that sessions are known by.
fn read(counts: &Counts) -> u64 {
    counts.packets + counts.dhcp.messages + counts.pppoe.frames
}

/// An address and a port, as people write them.
fn endpoint(text: &str) -> Option<(IpAddr, Option<u16>)> {
    let address = text.parse().ok().map(|address: IpAddr| (address, None));
    address.or_else(|| text.parse().ok().map(|end: SocketAddr| (end.ip(), Some(end.port()))))
}

/// What is asked: who had an address, or what a user had; everything where it is neither.
#[derive(Clone, Debug)]
struct Question {
    address: Option<(IpAddr, Option<u16>)>,
    user: Option<String>,
    at: Option<Nanos>,
    /// The database is asked, no captures.
    is_stored: bool,
}

impl Question {
    /// Whether anything is asked for.
    fn is_asked(&self) -> bool {
        self.address.is_some() || self.user.is_some()
    }

    /// Whether a session is of the user who is asked for, if one is, and at that time.
    fn is_about(&self, session: &Identity) -> bool {
        let Some(user) = &self.user else { return true };
        let had_begun = |at: Nanos| session.start <= at && session.end.is_none_or(|end| at < end);
        session.is_named(user) && self.at.is_none_or(had_begun)
    }

    /// Those who had the address, if one is asked for.
    fn holders<'a>(&self, records: &'a [Identity]) -> Option<Vec<Holder<'a>>> {
        let (address, port) = self.address?;
        Some(Holders::new(records).find(address, port, self.at))
    }

    fn write(
        &self,
        (address, port): (IpAddr, Option<u16>),
        holders: &[Holder<'_>],
        out: &mut dyn Write,
        width: usize,
        colour: bool,
    ) -> io::Result<()> {
        let when = self.at.map_or("at any time".to_owned(), |at| format!("at {}", time::full(at)));
        let what = match (address, port) {
            (IpAddr::V6(address), Some(port)) => format!("[{address}]:{port}"),
            (address, Some(port)) => format!("{address}:{port}"),
            (address, None) => address.to_string(),
        };
        if holders.is_empty() {
            let source = if self.is_stored { "the database tells" } else { "these captures tell" };
            return writeln!(out, "{what} {when}: nobody, as far as {source}");
        }
        writeln!(out, "{what} {when}:")?;
        let rows = holders.iter().map(|holder| (holder.identity, holder.held));
        identities::write_holders(out, rows, width, colour)
    }
}

/// Each session once.
fn distinct<'a>(holders: &[Holder<'a>]) -> Vec<&'a Identity> {
    let mut sessions: Vec<&Identity> = Vec::new();
    for holder in holders {
        if !sessions.iter().any(|session| session.id == holder.identity.id) {
            sessions.push(holder.identity);
        }
    }
    sessions
}

fn write_sessions(
    found: &Found,
    is_stored: bool,
    out: &mut dyn Write,
    width: usize,
    colour: bool,
) -> io::Result<()> {
    let Found { records, counts } = found;
    if !records.is_empty() {
        identities::write(out, records, width, colour)?;
        writeln!(out)?;
    }
    let open = records.iter().filter(|record| record.end.is_none()).count();
    writeln!(out, "{} found, {open} open at the end", counted(records.len() as u64, "session"))?;
    if is_stored {
        return Ok(());
    }
    write_dhcp(&counts.dhcp, out)?;
    write_pppoe(&counts.pppoe, out)?;
    if counts.packets == 0 && read(counts) > 0 {
        return Ok(());
    }
    let Counts { packets, retransmissions, malformed, unpaired, unanswered, rejected, .. } = *counts;
    let packets = counted(packets, "RADIUS packet");
    writeln!(
        out,
        "{packets}: {retransmissions} repeated, {unanswered} without an answer, {unpaired} answers without \
         a request, {rejected} rejections, {malformed} malformed"
    )
}

fn write_dhcp(counts: &DhcpCounts, out: &mut dyn Write) -> io::Result<()> {
    let DhcpCounts { messages, relayed, retransmissions, malformed, unpaired, unanswered, rejected, .. } =
        *counts;
    if messages + malformed == 0 {
        return Ok(());
    }
    writeln!(
        out,
        "{}: {relayed} on the other side of a relay agent, {retransmissions} repeated, {unanswered} \
         exchanges without an answer, {unpaired} answers without a request, {rejected} refusals, \
         {malformed} malformed",
        counted(messages, "DHCP message")
    )
}

fn write_pppoe(counts: &PppoeCounts, out: &mut dyn Write) -> io::Result<()> {
    let PppoeCounts { frames, malformed, sessions, unfinished, rejected, .. } = *counts;
    if frames + malformed == 0 {
        return Ok(());
    }
    writeln!(
        out,
        "{}: {} with an address, {unfinished} without one, {rejected} refusals, {malformed} malformed",
        counted(frames, "PPPoE frame"),
        counted(sessions, "session"),
    )
}

/// What the tracker emits.
#[derive(Default)]
struct Found {
    records: Vec<Identity>,
    counts: Counts,
}

impl Sink for Found {
    fn call(&mut self, _: Call, _: Vec<StreamEnd>) {}

    fn stream(&mut self, _: StreamEnd) {}

    fn registration(&mut self, _: Registration) {}

    fn message(&mut self, _: Message) {}

    fn event(&mut self, event: &dyn Any) {
        if let Some(identity) = event.downcast_ref::<Identity>() {
            self.records.push(identity.clone());
        } else if let Some(counts) = event.downcast_ref() {
            self.counts = *counts;
        }
    }
}

impl Listener for Found {}
