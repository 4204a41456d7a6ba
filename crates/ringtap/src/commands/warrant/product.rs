//! `ringtap warrant product`.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use ringtap_daemon::functions::{read_functions, start_delivery};
use ringtap_handover::MediationFunction;
use ringtap_identity::{KeyLog, Limits as SessionLimits, Sessions};
use ringtap_intercept::{Closed, Delivered, Interception, Limits, ProductFiles, WrittenFile, WrittenOrder};
use ringtap_model::Nanos;
use ringtap_report::table::{self, Cell, Column};
use ringtap_report::text::{counted, grouped};
use ringtap_report::time;
use ringtap_warrant::{Liid, Order, ProducedFile};

use super::out_dir;
use super::register_args::RegisterArgs;
use super::shown::WRITING;
use crate::duration::duration;
use crate::exit::Exit;
use crate::input::{Input, InputFiles};
use crate::screen::Screen;
use crate::subscriber_files::{read_ranges, read_secrets};

/// Give what the warrants in force are entitled to of captures: events, content, packets
///
/// Reads captures together, in order of time, follows the sessions and calls of the warrants' targets, and
/// writes for each warrant its events (LIID.hi2) and content (LIID.hi3) as PS-PDUs of ETSI TS 102 232, and
/// the frames that carried them (LIID.pcap). Only packets of a warrant's time count. The SHA-256 of each file
/// is kept in the register.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Product {
    #[command(flatten)]
    input: InputFiles,
    /// Write the files into this directory, which is made: nothing may be there yet
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Why product is made, for the record
    #[arg(long, value_name = "TEXT")]
    why: String,
    /// Only of the warrants with these identifiers
    #[arg(long, value_name = "LIID", value_parser = liid)]
    only: Vec<Liid>,
    /// Deliver it, too: to the mediation functions in this file, each to warrants of its agency
    /// (docs/manual/product.md)
    #[arg(long, value_name = "FILE")]
    deliver: Option<PathBuf>,
    /// How long mediation functions may take, once the captures are read, to confirm the last of it
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration, requires = "deliver")]
    wait: Duration,
    /// Check authenticators of RADIUS with the secrets of this file: each line is a client's address or
    /// network, a space, and its secret
    #[arg(long, value_name = "FILE")]
    secrets: Option<PathBuf>,
    /// Read RADIUS over TLS with the keys in this file, which an end of the connections has logged
    #[arg(long, value_name = "FILE")]
    tls_keys: Option<PathBuf>,
    /// Addresses that never change hands are those of their subscriber, by this file: `[[range]]` with
    /// `networks`, `subscriber`, and optional `from` and `until`
    #[arg(long = "static", value_name = "FILE")]
    ranges: Option<PathBuf>,
    /// How long nothing may be heard of a session before it has ended; three interim intervals, where they
    /// are known and shorter
    #[arg(long, value_name = "TIME", default_value = "48h", value_parser = duration)]
    idle: Duration,
}

const EXAMPLES: &str = "\
Examples:
  ringtap warrant product trunk.pcap radius.pcap --out product --as ana --why 'case 2026-114'
  ringtap warrant product trunk-*.pcap.gz --only LI-2026-017 --out product --as ana --why 'case 2026-114'
  cd product && sha256sum *      # as `ringtap warrant acts` has them";

fn liid(text: &str) -> Result<Liid, String> {
    text.parse().map_err(|error: ringtap_warrant::NotALiid| error.to_string())
}

impl Product {
    /// Runs it.
    pub(crate) fn run(self, args: &RegisterArgs, screen: &mut Screen) -> anyhow::Result<Exit> {
        // What only the person may read is opened before the program goes on as the register's owner.
        let input = Input::open(&self.input.files, self.input.unpacking)?;
        let secrets = self.secrets.as_deref().map(read_secrets).transpose()?.unwrap_or_default();
        let keys = self.tls_keys.as_deref().map(KeyLog::open).transpose()?;
        let ranges = self.ranges.as_deref().map(read_ranges).transpose()?.unwrap_or_default();
        let functions = self.deliver.as_deref().map(read_functions).transpose()?;
        out_dir::make(&self.out, args.dir())?;
        let idle = Nanos(u64::try_from(self.idle.as_nanos()).unwrap_or(u64::MAX));
        let limits = SessionLimits { idle, ..SessionLimits::default() };
        let sessions =
            Sessions::new(limits, secrets).following_leases().following_pppoe().with_tls_keys(keys);
        let made = self.make(&input, sessions.with_ranges(ranges), functions, args, screen);
        if made.is_err() {
            // Where nothing was written, nothing stays.
            let _ = fs::remove_dir(&self.out);
        }
        made
    }

    fn make(
        &self,
        input: &Input,
        sessions: Sessions,
        functions: Option<Vec<MediationFunction>>,
        args: &RegisterArgs,
        screen: &mut Screen,
    ) -> anyhow::Result<Exit> {
        let mut open = args.open()?;
        let orders = self.orders(open.register.active(time::now())?)?;
        // Recorded before a packet is read: what cannot be recorded is not done.
        let mut numbers = HashMap::new();
        for order in &orders {
            let number = open.register.captures_read(&open.session, &order.liid, &self.why, time::now())?;
            numbers.insert(order.liid.clone(), number);
        }
        let buffer = self.out.join(BUFFER);
        let delivered = functions.map(|functions| -> anyhow::Result<Delivered> {
            // Its buffer ends with this program: whoever kills it has the files.
            let mut key = [0; 32];
            getrandom::fill(&mut key).context("cannot make a key for the buffer")?;
            Ok(Delivered::new(start_delivery(functions, &buffer, key)?, &orders)?)
        });
        let product = (ProductFiles::new(&self.out), delivered.transpose()?);
        let mut interception = Interception::new(input.config(), sessions, Limits::default(), product);
        interception.replace_orders(orders);
        let bar = input.progress(screen, "intercepting");
        let (pass, (files, delivered), closed) = input.pass_intercepted(interception, &bar);
        let written = files.finish()?;
        for order in &written {
            let Some(number) = numbers.get(&order.liid) else { continue };
            let files = order.files.iter().map(produced_file).collect();
            open.register.produced(&open.session, *number, files, time::now())?;
        }
        print(&written, &closed, screen).context(WRITING)?;
        remark(&written, &closed, screen);
        let has_arrived = delivered.is_none_or(|delivered| self.has_arrived(delivered, screen));
        // What did not arrive is in the files; the buffer's key ends with this program.
        let _ = fs::remove_dir_all(&buffer);
        match pass.exit(screen) {
            Exit::Done if !has_arrived => Ok(Exit::Failed),
            exit => Ok(exit),
        }
    }

    /// Waits for mediation functions, and says what did not arrive.
    fn has_arrived(&self, delivered: Delivered, screen: &mut Screen) -> bool {
        let lost = delivered.lost();
        if delivered.finish(self.wait) {
            screen.remark("the mediation functions have confirmed everything");
            return true;
        }
        screen.remark(if lost > 0 {
            format!("{} could not be buffered: deliver the files", counted(lost, "PDU"))
        } else {
            "mediation functions have not confirmed everything: raise `--wait`, see whether they listen, or \
             deliver the files"
                .to_owned()
        });
        false
    }

    /// Those that are asked for.
    fn orders(&self, mut orders: Vec<Order>) -> anyhow::Result<Vec<Order>> {
        if let Some(missing) = self.only.iter().find(|liid| orders.iter().all(|order| order.liid != **liid)) {
            let text = missing.text();
            bail!(
                "no warrant with the identifier `{}` is in force: see `ringtap warrant list`",
                text.as_str()
            );
        }
        if orders.is_empty() {
            bail!("no warrant is in force, so nothing may be intercepted: see `ringtap warrant list`");
        }
        orders.retain(|order| self.only.is_empty() || self.only.contains(&order.liid));
        Ok(orders)
    }
}

fn produced_file(file: &WrittenFile) -> ProducedFile {
    let name = file.path.file_name().unwrap_or_default().to_string_lossy();
    ProducedFile { name: (&*name).into(), octets: file.octets, sha256: hex(file) }
}

/// SHA-256 as people compare it.
fn hex(file: &WrittenFile) -> String {
    file.sha256.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn print(written: &[WrittenOrder], closed: &Closed, screen: &mut Screen) -> io::Result<()> {
    let Screen { out, width, colour, .. } = screen;
    let rows = written.iter().map(|order| {
        let figures = closed.figures(&order.liid);
        let counts = [
            figures.iri,
            figures.packets,
            figures.octets,
            figures.unattributed,
            figures.cut,
            figures.dropped,
        ];
        let liid = Cell::plain(order.liid.text().as_str());
        std::iter::once(liid).chain(counts.map(|count| Cell::plain(grouped(count)))).collect()
    });
    table::write(out, COLUMNS, rows, *width, *colour)?;
    writeln!(out)?;
    for file in written.iter().flat_map(|order| &order.files) {
        writeln!(out, "{}  {}", hex(file), file.path.display())?;
    }
    writeln!(out, "\n{} with product", counted(written.len() as u64, "warrant"))?;
    out.flush()
}

/// What has to be known of it.
fn remark(written: &[WrittenOrder], closed: &Closed, screen: &mut Screen) {
    let missing: u64 = written.iter().map(|order| order.frames_missing).sum();
    if missing > 0 {
        screen.remark(format!(
            "{} of datagrams that came in fragments are not in the captures; events and content have them \
             whole",
            counted(missing, "frame")
        ));
    }
    if closed.sessions.evicted > 0 {
        let sessions = counted(closed.sessions.evicted, "session");
        screen.remark(format!("{sessions} had to give way to others: read fewer captures at once"));
    }
    let figures = written.iter().map(|order| closed.figures(&order.liid));
    let dropped: u64 = figures.map(|figures| figures.dropped).sum();
    if dropped > 0 {
        screen.remark(format!(
            "{} of targets could not be followed, since too many calls and sessions were at once: read fewer \
             captures at once",
            counted(dropped, "packet or call")
        ));
    }
}

/// What waits for mediation functions.
const BUFFER: &str = "buffer";

const COLUMNS: &[Column] = &[
    Column::word("LIID", 0),
    Column::figure("EVENTS", 0),
    Column::figure("PACKETS", 0),
    Column::figure("OCTETS", 0),
    Column::figure("UNATTRIBUTED", 0),
    Column::figure("CUT", 0),
    Column::figure("DROPPED", 0),
];
