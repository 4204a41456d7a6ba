//! The end that knows.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ringtap_model::{Identity, Nanos};
use ringtap_warrant::Order;
use tokio::io::{AsyncWrite, AsyncWriteExt, split};
use tokio::net::TcpStream;
use tokio::runtime::Builder;
use tokio::sync::{Notify, Semaphore, watch};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use crate::credentials::{Credentials, name_among};
use crate::log::{Log, Message};
use crate::wire::{
    Confirmation, FromProbe, Hello, MOST_AT_FIRST, MOST_OF_SNIFFER, Stop, VERSION, framed, invalid, read,
};

/// How a probe is reached, and by whom.
#[derive(Debug)]
pub struct ProbeSettings {
    /// Where it listens.
    pub listener: TcpListener,
    /// Who it is, and who vouches for sniffers.
    pub credentials: Credentials,
    /// Names of the sniffers, as their certificates have them (DNS names of subjectAltName).
    pub sniffers: Vec<String>,
    /// Tells this run from others; not 0.
    pub run: u64,
    /// The clock, as the packets have it.
    pub clock: fn() -> Nanos,
}

/// Tells sniffers what changes. It never waits for one.
#[derive(Debug)]
pub struct Probe {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// How a sniffer stands.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SnifferStatus {
    /// Its name.
    pub name: String,
    /// Whether there is a connection.
    pub is_connected: bool,
    /// How often it came, and how often it had to be told all, since what it had was too old.
    pub connections: u64,
    /// See `connections`.
    pub restarts: u64,
    /// Changes that it has not confirmed.
    pub unconfirmed: u64,
    /// How far its clock is from ours, at most; none before it has confirmed anything.
    pub clocks_apart: Option<Nanos>,
    /// The longest time from a change until it was confirmed.
    pub slowest: Nanos,
    /// What it confirmed last.
    pub last: Confirmation,
}

#[derive(Debug)]
struct Shared {
    settings: ProbeSettings,
    state: Mutex<State>,
    /// Something is there to be sent.
    changed: watch::Sender<()>,
    is_ending: AtomicBool,
    ended: Notify,
}

#[derive(Debug, Default)]
struct State {
    log: Log,
    sniffers: BTreeMap<String, Known>,
    /// Orders that sniffers have stopped.
    stopped: Vec<(String, Stop)>,
}

/// What is known of one sniffer.
#[derive(Debug, Default)]
struct Known {
    status: SnifferStatus,
    /// Which of its connections counts: the latest.
    connection: u64,
    /// A change that it has not confirmed, and since when.
    pending: Option<(u64, Instant)>,
}

impl Probe {
    /// Begins to listen.
    ///
    /// # Errors
    ///
    /// The thread cannot be started.
    pub fn start(settings: ProbeSettings) -> io::Result<Self> {
        settings.listener.set_nonblocking(true)?;
        let known = |name: &String| {
            let status = SnifferStatus { name: name.clone(), ..SnifferStatus::default() };
            (name.clone(), Known { status, ..Known::default() })
        };
        let sniffers = settings.sniffers.iter().map(known).collect();
        let shared = Arc::new(Shared {
            settings,
            state: Mutex::new(State { sniffers, ..State::default() }),
            changed: watch::Sender::new(()),
            is_ending: AtomicBool::new(false),
            ended: Notify::new(),
        });
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let own = Arc::clone(&shared);
        let serve = move || runtime.block_on(serve(own));
        let thread = thread::Builder::new().name("sniffers".into()).spawn(serve)?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// From that time on these are the orders.
    pub fn orders(&self, orders: &[Order], at: Nanos) {
        self.shared.change(|log| log.orders(orders, at));
    }

    /// The session of a target, as it is from that time on. `is_open`: it was open when an order began.
    pub fn session(&self, record: &Identity, is_open: bool, at: Nanos) {
        self.shared.change(|log| log.session(record, is_open, at));
    }

    /// These networks may become a target's, by a packet of that time: sniffers keep their packets.
    pub fn soon(&self, networks: &[(IpAddr, u8)], at: Nanos) {
        self.shared.state().log.soon(networks, at);
        self.shared.changed.send_replace(());
    }

    /// Every change before that time has been told.
    pub fn followed(&self, until: Nanos) {
        self.shared.state().log.follow(until);
        self.shared.changed.send_replace(());
    }

    /// How all of them stand, by name.
    pub fn sniffers(&self) -> Vec<SnifferStatus> {
        self.shared.state().sniffers.values().map(|known| known.status.clone()).collect()
    }

    /// How many sessions were too many: a sniffer that comes later is not told of them.
    pub fn dropped(&self) -> u64 {
        self.shared.state().log.dropped
    }

    /// Orders that sniffers have stopped since the last time, with their names.
    pub fn take_stopped(&self) -> Vec<(String, Stop)> {
        std::mem::take(&mut self.shared.state().stopped)
    }

    /// Where it listens.
    ///
    /// # Errors
    ///
    /// The system does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.shared.settings.listener.local_addr()
    }
}

impl Drop for Probe {
    /// Tells what is there to be told, and ends.
    fn drop(&mut self) {
        self.shared.is_ending.store(true, Ordering::Release);
        self.shared.changed.send_replace(());
        self.shared.ended.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Log)) {
        let mut state = self.state();
        change(&mut state.log);
        let last = state.log.last();
        for known in state.sniffers.values_mut().filter(|known| known.status.is_connected) {
            known.pending.get_or_insert((last, Instant::now()));
        }
        drop(state);
        self.changed.send_replace(());
    }

    fn is_ending(&self) -> bool {
        self.is_ending.load(Ordering::Acquire)
    }
}

/// Accepts connections until the probe ends, and then has what waits sent.
async fn serve(shared: Arc<Shared>) {
    let accepting = tokio::spawn(accept(Arc::clone(&shared)));
    shared.ended.notified().await;
    sleep(LAST).await;
    accepting.abort();
}

async fn accept(shared: Arc<Shared>) {
    let listener = shared.settings.listener.try_clone().and_then(tokio::net::TcpListener::from_std);
    let Ok(listener) = listener else { return };
    let acceptor = TlsAcceptor::from(Arc::clone(&shared.settings.credentials.server));
    // Who does not say who it is in time makes room for others.
    let room = Arc::new(Semaphore::new(MOST_STRANGERS));
    loop {
        let Ok(permit) = Arc::clone(&room).acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            // There may be too many open files: wait, or this loop would spin.
            sleep(Duration::from_millis(100)).await;
            continue;
        };
        let (shared, acceptor) = (Arc::clone(&shared), acceptor.clone());
        tokio::spawn(async move {
            let greeted = timeout(PATIENCE, greet(&shared, &acceptor, stream)).await;
            drop(permit);
            if let Ok(Ok((stream, name, hello))) = greeted {
                // However it ends, the sniffer comes again.
                let _ = attend(&shared, stream, &name, &hello).await;
            }
        });
    }
}

type Stream = tokio_rustls::server::TlsStream<TcpStream>;

/// Learns who it is, and what it has.
async fn greet(
    shared: &Shared,
    acceptor: &TlsAcceptor,
    stream: TcpStream,
) -> io::Result<(Stream, String, Hello)> {
    stream.set_nodelay(true)?;
    let mut stream = acceptor.accept(stream).await?;
    let name = name_among(stream.get_ref().1.peer_certificates(), &shared.settings.sniffers)?.clone();
    let hello: Hello = read(&mut stream, MOST_AT_FIRST).await?;
    if hello.version != VERSION {
        return Err(invalid(format_args!("version {}, and ours is {VERSION}", hello.version)));
    }
    Ok((stream, name, hello))
}

/// Sends a sniffer what changes, and notes what it confirms.
async fn attend(shared: &Arc<Shared>, stream: Stream, name: &str, hello: &Hello) -> io::Result<()> {
    let run = shared.settings.run;
    let has = (hello.run == run).then_some(hello.has);
    let own = shared.begin(name);
    let (mut from, mut to) = split(stream);
    to.write_all(&framed(&FromProbe::Welcome { version: VERSION, run })?).await?;
    let reading = {
        let (shared, name) = (Arc::clone(shared), name.to_owned());
        tokio::spawn(async move {
            while let Ok(Ok(confirmed)) = timeout(SILENCE, read(&mut from, MOST_OF_SNIFFER)).await {
                if !shared.confirm(&name, own, confirmed) {
                    break;
                }
            }
            shared.end(&name, own);
        })
    };
    let sent = send(shared, &mut to, (name, own), has).await;
    reading.abort();
    shared.end(name, own);
    sent
}

/// Sends what changes behind what it `has`, until the connection is lost or another one of it counts.
async fn send(
    shared: &Shared,
    to: &mut (impl AsyncWrite + Unpin),
    (name, own): (&str, u64),
    mut has: Option<u64>,
) -> io::Result<()> {
    let mut changed = shared.changed.subscribe();
    let (mut told, mut told_soon) = (None, shared.state().log.last_soon());
    loop {
        let is_ending = shared.is_ending();
        let (messages, followed) = {
            let mut state = shared.state();
            if state.sniffers.get(name).is_none_or(|known| known.connection != own) {
                return Ok(());
            }
            let behind = has.and_then(|has| Some(state.log.behind(has)?.cloned().collect()));
            let messages: Option<Vec<Message>> = match behind {
                Some(behind) => Some(behind),
                // All is not known yet.
                None if state.log.followed() == Nanos::ZERO => None,
                None => {
                    if let Some(known) = state.sniffers.get_mut(name) {
                        known.status.restarts += 1;
                    }
                    Some(state.log.whole())
                }
            };
            has = messages.as_ref().map(|_| state.log.last());
            let mut messages = messages.unwrap_or_default();
            messages.extend(state.log.soon_behind(told_soon).cloned());
            told_soon = state.log.last_soon();
            (messages, state.log.followed())
        };
        for message in &messages {
            timeout(SILENCE, to.write_all(message)).await??;
        }
        let is_due = told != Some(followed) || !messages.is_empty();
        if is_due || changed_nothing(&mut changed).await {
            let clock_ns = (shared.settings.clock)().0;
            let followed = FromProbe::Followed { until_ns: followed.0, clock_ns };
            timeout(SILENCE, to.write_all(&framed(&followed)?)).await??;
            timeout(SILENCE, to.flush()).await??;
        }
        told = Some(followed);
        if is_ending {
            return to.shutdown().await;
        }
        // Not for each packet anew.
        sleep(PAUSE).await;
    }
}

/// Waits for a change; true if there was none for so long that the sniffer wants a sign of life.
async fn changed_nothing(changed: &mut watch::Receiver<()>) -> bool {
    timeout(BEAT, changed.changed()).await.is_err()
}

impl Shared {
    /// A connection of that sniffer counts from now on, and none before.
    fn begin(&self, name: &str) -> u64 {
        let mut state = self.state();
        let known = state.sniffers.entry(name.to_owned()).or_default();
        known.connection += 1;
        known.status.connections += 1;
        known.status.is_connected = true;
        known.connection
    }

    fn end(&self, name: &str, own: u64) {
        let mut state = self.state();
        if let Some(known) = state.sniffers.get_mut(name).filter(|known| known.connection == own) {
            known.connection += 1;
            known.status.is_connected = false;
            known.pending = None;
        }
    }

    /// Whether the connection counts.
    fn confirm(&self, name: &str, own: u64, mut confirmed: Confirmation) -> bool {
        let clock = (self.settings.clock)();
        let mut state = self.state();
        let last = state.log.last();
        let stopped: Vec<_> = confirmed.stopped.drain(..).map(|stop| (name.to_owned(), stop)).collect();
        let Some(known) = state.sniffers.get_mut(name).filter(|known| known.connection == own) else {
            return false;
        };
        if let Some((number, since)) = known.pending
            && confirmed.number >= number
        {
            let took = Nanos(u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX));
            known.status.slowest = known.status.slowest.max(took);
            known.pending = (confirmed.number < last).then(|| (last, Instant::now()));
        }
        known.status.unconfirmed = last.saturating_sub(confirmed.number);
        known.status.clocks_apart = Some(Nanos(clock.0.abs_diff(confirmed.clock_ns)));
        if confirmed.report.is_none() {
            confirmed.report = known.status.last.report.take();
        }
        known.status.last = confirmed;
        let room = MOST_STOPPED.saturating_sub(state.stopped.len());
        state.stopped.extend(stopped.into_iter().take(room));
        true
    }
}

/// How long a stranger may take to say who it is.
const PATIENCE: Duration = Duration::from_secs(3);
/// Connections of strangers.
const MOST_STRANGERS: usize = 64;
/// How long the other end may be silent, or take nothing.
const SILENCE: Duration = Duration::from_secs(10);
/// How often there is a sign of life.
const BEAT: Duration = Duration::from_secs(1);
/// Between two messages with the time: what changes goes at most so much later.
const PAUSE: Duration = Duration::from_millis(2);
/// How long what waits at the end is sent.
const LAST: Duration = Duration::from_millis(200);
/// Orders that sniffers have stopped and that nobody has asked for.
const MOST_STOPPED: usize = 100_000;
