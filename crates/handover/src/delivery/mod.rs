//! The way of product to mediation functions.

mod batch;
mod buffer;
mod driver;
mod error;
mod intake;
mod link;
mod losses;
mod peer;
mod shared;

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use ringtap_model::Nanos;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;

pub use buffer::BufferKey;
pub use error::HandoverError;
pub use intake::{Product, Receipt, Sent};
pub use link::{Ended, LinkCounts, Pace};
pub use losses::{LossCause, Losses};
pub use peer::{Peer, Tls};

use crate::{
    Cin, Encoder, Handover, Identifiers, Liid, Notification, NotificationKind, PayloadKey, TimeFormat,
};
use buffer::Buffer;
use driver::Driver;
use intake::Intake;
use link::Link;
use shared::{Clock, SharedLink};

/// Where to deliver, and what to keep until it arrived.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The mediation functions.
    pub functions: Vec<MediationFunction>,
    /// Directory of the buffer: nobody else may read it. Each link has a directory in it.
    pub directory: PathBuf,
    /// Key that the buffer is sealed with. With another one, what waits is not readable any more.
    pub key: BufferKey,
    /// Octets of product that may be in memory, for each link, before they are written to the buffer.
    pub most_unwritten: usize,
    /// How often mediation functions are told of losses that they were not told of yet.
    pub alarms: Duration,
}

/// Who takes product: the mediation function of an authority.
#[derive(Clone, Debug)]
pub struct MediationFunction {
    /// Name, of 1 to 64 letters, digits, `-` and `_`: also that of its directories.
    pub name: String,
    /// Where it takes IRI and notifications.
    pub hi2: Option<Peer>,
    /// Where it takes content.
    pub hi3: Option<Peer>,
    /// Which field times are in.
    pub format: TimeFormat,
    /// How connections are kept.
    pub pace: Pace,
    /// What keep-alives say of us; their LIID names no warrant.
    pub keep_alive: Identifiers,
}

/// A warrant whose product is delivered.
#[derive(Clone, Debug)]
pub struct Warrant {
    /// What its PDUs say of it.
    pub identifiers: Identifiers,
    /// Key that its payloads are encrypted with.
    pub key: Option<PayloadKey>,
    /// Octets that may wait, on each handover interface, for the mediation function.
    pub most_waiting: u64,
}

/// A warrant that is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WarrantKey {
    hi2: Option<(usize, usize)>,
    hi3: Option<(usize, usize)>,
}

/// How the link to a mediation function stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkStatus {
    /// Name of the mediation function.
    pub function: String,
    /// Which of its interfaces.
    pub handover: Handover,
    /// Whether there is a connection.
    pub is_connected: bool,
    /// What happened to its connections.
    pub counts: LinkCounts,
    /// PDUs whose arrival was confirmed.
    pub arrived: u64,
    /// Octets that wait, of all warrants.
    pub waiting: u64,
    /// Batches of the buffer that could not be read.
    pub unreadable: u64,
    /// CINs whose counter was dropped because a warrant had too many: their numbers start anew.
    pub forgotten: u64,
    /// What each warrant lost.
    pub losses: Vec<(Liid, Losses)>,
}

/// Delivers product: one connection for each mediation function and handover interface, and one thread
/// for all.
pub struct Delivery {
    links: Vec<Arc<SharedLink>>,
    functions: Vec<Function>,
    clock: Clock,
    thread: Option<JoinHandle<()>>,
}

#[derive(Clone, Debug)]
struct Function {
    name: String,
    hi2: Option<usize>,
    hi3: Option<usize>,
    format: TimeFormat,
}

impl std::fmt::Debug for Delivery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Delivery").field("functions", &self.functions).finish_non_exhaustive()
    }
}

impl Delivery {
    /// Opens the buffers, and starts to deliver what waits in them.
    ///
    /// # Errors
    /// If a name cannot be used, a buffer cannot be opened, or the thread cannot be started.
    pub fn start(settings: &Settings) -> Result<Self, HandoverError> {
        let clock = Clock::new();
        let mut names = HashSet::new();
        let (mut links, mut functions, mut drivers) = (Vec::new(), Vec::new(), Vec::new());
        for function in &settings.functions {
            let is_name = |octet: u8| octet.is_ascii_alphanumeric() || octet == b'-' || octet == b'_';
            let name = &function.name;
            if !(1..=64).contains(&name.len()) || !name.bytes().all(is_name) || !names.insert(name) {
                return Err(HandoverError::Name(name.clone()));
            }
            let mut open = |peer: &Option<Peer>, handover| {
                let Some(peer) = peer else { return Ok(None) };
                let driver = open_link(settings, function, peer, handover, clock)?;
                links.push(Arc::clone(&driver.shared));
                drivers.push(driver);
                Ok(Some(links.len() - 1))
            };
            let (hi2, hi3) = (open(&function.hi2, Handover::Hi2)?, open(&function.hi3, Handover::Hi3)?);
            functions.push(Function { name: name.clone(), hi2, hi3, format: function.format });
        }
        let runtime =
            Builder::new_current_thread().enable_io().enable_time().build().map_err(HandoverError::Thread)?;
        let (links_told, functions_told) = (links.clone(), functions.clone());
        let alarms =
            Alarms { links: links_told, functions: functions_told, clock, interval: settings.alarms };
        let thread = std::thread::Builder::new()
            .name("handover".into())
            .spawn(move || run(&runtime, drivers, alarms))
            .map_err(HandoverError::Thread)?;
        Ok(Self { links, functions, clock, thread: Some(thread) })
    }

    /// Opens a warrant: its product goes to the mediation function of this name. Its numbers go on where
    /// those of the same LIID ended, also in an earlier process.
    ///
    /// # Errors
    /// If there is no such function, or the warrant is open already.
    pub fn open(&self, function: &str, warrant: &Warrant) -> Result<WarrantKey, HandoverError> {
        let Some(function) = self.functions.iter().find(|known| known.name == function) else {
            return Err(HandoverError::NoFunction(function.to_owned()));
        };
        let now = self.clock.now();
        let open = |link: Option<usize>, now| {
            let Some(link) = link else { return Ok(None) };
            let encoder = Encoder::new(warrant.identifiers, function.format, warrant.key.clone(), now);
            match self.links[link].intake().open(encoder, warrant.most_waiting) {
                Some(slot) => Ok(Some((link, slot))),
                None => Err(HandoverError::Warrant(warrant.identifiers.liid)),
            }
        };
        let hi2 = open(function.hi2, now)?;
        // Both encrypt with the same key: their byte counters must not start with the same value.
        match open(function.hi3, Nanos(now.0.saturating_add(1_000_000_000))) {
            Ok(hi3) => Ok(WarrantKey { hi2, hi3 }),
            Err(error) => {
                self.close(WarrantKey { hi2, hi3: None });
                Err(error)
            }
        }
    }

    /// Closes a warrant. What waits is still delivered.
    pub fn close(&self, warrant: WarrantKey) {
        for (link, slot) in warrant.hi2.into_iter().chain(warrant.hi3) {
            self.links[link].intake().close(slot);
        }
    }

    /// A session or call is over, and nothing more comes of it: its counter is dropped.
    pub fn finish(&self, warrant: WarrantKey, cin: Cin) {
        for (link, slot) in warrant.hi2.into_iter().chain(warrant.hi3) {
            self.links[link].intake().finish(slot, cin);
        }
    }

    /// Delivers product of a session or call. It is numbered and encoded at once; it never waits for the
    /// disk or the mediation function.
    // HOT: once a packet.
    pub fn send(&self, warrant: WarrantKey, cin: Cin, product: Product<'_>) -> Sent {
        let link = match product {
            Product::Content(_) => warrant.hi3,
            Product::Iri(_) | Product::Notification(_) => warrant.hi2,
        };
        let Some((link, slot)) = link else { return Sent::NotTaken };
        let shared = &self.links[link];
        let sent = shared.intake().send(slot, cin, product);
        match sent {
            Ok((batch, is_first)) => {
                if is_first {
                    shared.woken.notify_one();
                }
                Sent::Accepted(Receipt { link, batch })
            }
            Err(cause) => Sent::Lost(cause),
        }
    }

    /// Whether product is in the buffer: from then on a kill does not lose it.
    pub fn is_kept(&self, receipt: Receipt) -> bool {
        self.links[receipt.link].is_kept(receipt.batch)
    }

    /// Waits until product is in the buffer, for at most so long. Whether it is.
    pub fn wait_kept(&self, receipt: Receipt, most: Duration) -> bool {
        self.links[receipt.link].wait_kept(receipt.batch, most)
    }

    /// How each link stands.
    pub fn status(&self) -> Vec<LinkStatus> {
        let mut all = Vec::new();
        for function in &self.functions {
            for link in function.hi2.into_iter().chain(function.hi3) {
                let shared = &self.links[link];
                let state = shared.state();
                let intake = shared.intake();
                let accounts = intake.accounts();
                let forgotten = intake.forgotten;
                drop(intake);
                all.push(LinkStatus {
                    function: function.name.clone(),
                    handover: shared.handover,
                    is_connected: state.is_connected,
                    counts: state.counts,
                    arrived: state.arrived,
                    waiting: accounts.iter().map(|(_, _, waiting)| waiting).sum(),
                    unreadable: state.unreadable,
                    forgotten,
                    losses: accounts.iter().map(|(liid, losses, _)| (*liid, *losses)).collect(),
                });
            }
        }
        all
    }

    /// Stops: what came is written to the buffer, and there is so long to deliver what waits. Whether
    /// everything arrived.
    pub fn stop(mut self, grace: Duration) -> bool {
        self.end(grace);
        self.links.iter().all(|link| link.intake().accounts().iter().all(|(_, _, waiting)| *waiting == 0))
    }

    fn end(&mut self, grace: Duration) {
        let Some(thread) = self.thread.take() else { return };
        let at = self.clock.now().0.saturating_add(u64::try_from(grace.as_nanos()).unwrap_or(u64::MAX));
        for link in &self.links {
            link.stop(Nanos(at));
        }
        if thread.join().is_err() {
            log::error!("the thread that delivers ended by a panic");
        }
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        self.end(Duration::ZERO);
    }
}

fn open_link(
    settings: &Settings,
    function: &MediationFunction,
    peer: &Peer,
    handover: Handover,
    clock: Clock,
) -> Result<Driver, HandoverError> {
    let interface = match handover {
        Handover::Hi2 => "hi2",
        Handover::Hi3 => "hi3",
    };
    let path = settings.directory.join(&function.name).join(interface);
    let (buffer, recovered) = Buffer::open(&path, &settings.key)
        .map_err(|source| HandoverError::Buffer { path: path.clone(), source })?;
    if recovered.pdus > 0 {
        log::info!("{} PDUs wait in {} for the mediation function", recovered.pdus, path.display());
    }
    if recovered.damaged > 0 {
        log::error!(
            "{} files in {} are damaged, or sealed with another key",
            recovered.damaged,
            path.display()
        );
    }
    let mut intake = Intake::new(settings.most_unwritten);
    intake.recovered(recovered.counters, recovered.waiting);
    let name = format!("{} {interface}", function.name);
    let encoder = Encoder::new(function.keep_alive, function.format, None, clock.now());
    let link = Link::new(function.pace, encoder, buffer.confirmed());
    let shared = SharedLink::new(name, handover, intake, clock);
    Ok(Driver::new(Arc::new(shared), link, buffer, peer.clone()))
}

fn run(runtime: &Runtime, drivers: Vec<Driver>, alarms: Alarms) {
    runtime.block_on(async {
        let mut links = JoinSet::new();
        for driver in drivers {
            links.spawn(driver.run());
        }
        let alarms = tokio::task::spawn(alarms.run());
        while links.join_next().await.is_some() {}
        alarms.abort();
    });
}

/// Tells mediation functions what was lost.
struct Alarms {
    links: Vec<Arc<SharedLink>>,
    functions: Vec<Function>,
    clock: Clock,
    interval: Duration,
}

impl Alarms {
    async fn run(self) {
        loop {
            tokio::time::sleep(self.interval).await;
            self.tell();
        }
    }

    /// Sends an alarm for each warrant that lost something since the last one.
    fn tell(&self) {
        for function in &self.functions {
            let Some(hi2) = function.hi2.map(|link| &self.links[link]) else { continue };
            for shared in function.hi2.into_iter().chain(function.hi3).map(|link| &self.links[link]) {
                let untold = shared.intake().untold();
                for (liid, losses) in untold {
                    let text = Some(losses.text(shared.handover));
                    let alarm = Notification { kind: NotificationKind::Alarm, at: self.clock.now(), text };
                    let mut intake = hi2.intake();
                    let Some(slot) = intake.slot(liid).filter(|slot| intake.takes_alarm(*slot)) else {
                        continue;
                    };
                    let sent = intake.send(slot, Cin(0), Product::Notification(&alarm));
                    drop(intake);
                    if let Ok((_, is_first)) = sent {
                        shared.intake().told(liid, &losses);
                        if is_first {
                            hi2.woken.notify_one();
                        }
                    }
                }
            }
        }
    }
}
