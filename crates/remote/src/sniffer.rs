//! The end that is told.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use ringtap_model::Nanos;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, split};
use tokio::net::TcpStream;
use tokio::runtime::Builder;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsConnector;

use crate::change::{Change, What};
use crate::credentials::Credentials;
use crate::wire::{Confirmation, FromProbe, Hello, MOST_OF_PROBE, VERSION, framed, invalid, read};

/// Is told by a probe what changes. It connects again for as long as it lives.
#[derive(Debug)]
pub struct Sniffer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// What was heard since the last time.
#[derive(Debug, Default, PartialEq)]
pub struct Heard {
    /// Changes, in order.
    pub changes: Vec<Change>,
    /// Networks that may become a target's, each with the time of the packet that says so.
    pub soon: Vec<((IpAddr, u8), Nanos)>,
    /// Every change before that time has been heard.
    pub until: Nanos,
    /// Whether there is a connection.
    pub is_connected: bool,
    /// How far the probe's clock was from ours when it was last heard, at most.
    pub clocks_apart: Nanos,
}

#[derive(Debug)]
struct Shared {
    clock: fn() -> Nanos,
    state: Mutex<State>,
    /// There is room for what the probe sends.
    taken: Notify,
    /// There is something to confirm.
    applied: Notify,
    is_ending: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    /// The run of the probe that was heard last, and its last change that is here.
    run: u64,
    has: u64,
    waiting: VecDeque<Change>,
    soon: Vec<((IpAddr, u8), Nanos)>,
    until: Nanos,
    is_connected: bool,
    clocks_apart: Nanos,
    /// A restart has been heard, and not yet all that holds.
    is_partial: bool,
    /// Why there is no connection.
    problem: Option<String>,
    confirmed: Option<Confirmation>,
}

/// Where the probe is.
struct Target {
    address: SocketAddr,
    name: ServerName<'static>,
    connector: TlsConnector,
}

impl Sniffer {
    /// Begins to connect to the probe at an address, which has that name in its certificate. `clock` is that
    /// of the packets.
    ///
    /// # Errors
    ///
    /// The name is none, or the thread cannot be started.
    pub fn start(
        address: SocketAddr,
        name: &str,
        credentials: &Credentials,
        clock: fn() -> Nanos,
    ) -> io::Result<Self> {
        let name = ServerName::try_from(name.to_owned()).map_err(|_| {
            io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("`{name}` is neither a host name nor an address"),
            )
        })?;
        let connector = TlsConnector::from(Arc::clone(&credentials.client));
        let target = Target { address, name, connector };
        let shared = Arc::new(Shared {
            clock,
            state: Mutex::default(),
            taken: Notify::new(),
            applied: Notify::new(),
            is_ending: AtomicBool::new(false),
        });
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let own = Arc::clone(&shared);
        let run = move || runtime.block_on(keep_connected(own, target));
        let thread = thread::Builder::new().name("probe".into()).spawn(run)?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// What was heard since the last time. It does not wait.
    pub fn take(&self) -> Heard {
        let mut state = self.shared.state();
        let changes = state.waiting.drain(..).collect();
        let soon = std::mem::take(&mut state.soon);
        let State { until, is_connected, clocks_apart, .. } = *state;
        let heard = Heard { changes, soon, until, is_connected, clocks_apart };
        drop(state);
        self.shared.taken.notify_one();
        heard
    }

    /// Why there is no connection, since the last time that this was asked for.
    pub fn take_problem(&self) -> Option<String> {
        self.shared.state().problem.take()
    }

    /// Confirms what was applied, and tells of it. Orders that were stopped are told until they have been
    /// sent.
    pub fn confirm(&self, mut confirmation: Confirmation) {
        let mut state = self.shared.state();
        if let Some(mut before) = state.confirmed.take() {
            before.stopped.append(&mut confirmation.stopped);
            confirmation.stopped = before.stopped;
            confirmation.report = confirmation.report.or(before.report);
        }
        state.confirmed = Some(confirmation);
        drop(state);
        self.shared.applied.notify_one();
    }
}

impl Drop for Sniffer {
    /// Sends what waits to be confirmed, and ends.
    fn drop(&mut self) {
        self.shared.is_ending.store(true, Ordering::Release);
        self.shared.applied.notify_one();
        self.shared.taken.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_ending(&self) -> bool {
        self.is_ending.load(Ordering::Acquire)
    }
}

async fn keep_connected(shared: Arc<Shared>, target: Target) {
    let (target, own) = (Arc::new(target), Arc::clone(&shared));
    let connecting = tokio::spawn(async move {
        loop {
            let ended = listen(&own, &target).await;
            own.state().lose(ended.err());
            sleep(BETWEEN).await;
        }
    });
    while !shared.is_ending() {
        sleep(BETWEEN / 10).await;
    }
    // What waits to be confirmed.
    sleep(LAST).await;
    connecting.abort();
}

/// Listens until the connection is lost.
async fn listen(shared: &Arc<Shared>, target: &Target) -> io::Result<()> {
    let connect = async {
        let stream = TcpStream::connect(target.address).await?;
        stream.set_nodelay(true)?;
        target.connector.connect(target.name.clone(), stream).await
    };
    let stream = timeout(PATIENCE, connect).await??;
    let (mut from, mut to) = split(stream);
    let (run, has) = {
        let state = shared.state();
        (state.run, state.has)
    };
    to.write_all(&framed(&Hello { version: VERSION, run, has })?).await?;
    to.flush().await?;
    let welcome = timeout(PATIENCE, read(&mut from, MOST_OF_PROBE)).await??;
    let FromProbe::Welcome { version: VERSION, run } = welcome else {
        return Err(invalid(format_args!("the probe is of another version of ringtap")));
    };
    let confirming = {
        let shared = Arc::clone(shared);
        tokio::spawn(async move { confirm(&shared, &mut to).await })
    };
    let heard = hear(shared, &mut from, run).await;
    confirming.abort();
    heard
}

async fn hear(shared: &Shared, from: &mut (impl AsyncRead + Unpin), run: u64) -> io::Result<()> {
    shared.state().is_connected = true;
    loop {
        let message = timeout(SILENCE, read(from, MOST_OF_PROBE)).await??;
        while shared.state().waiting.len() >= MOST_WAITING && !shared.is_ending() {
            shared.taken.notified().await;
        }
        let mut state = shared.state();
        match message {
            FromProbe::Welcome { .. } => {
                return Err(invalid(format_args!("the probe welcomes twice")));
            }
            FromProbe::Followed { until_ns, clock_ns } => {
                state.clocks_apart = Nanos((shared.clock)().0.abs_diff(clock_ns));
                if !state.is_partial && state.run == run {
                    state.until = state.until.max(Nanos(until_ns));
                }
            }
            FromProbe::Soon { networks, at_ns } => {
                let room = MOST_SOON.saturating_sub(state.soon.len());
                state.soon.extend(networks.into_iter().take(room).map(|network| (network, Nanos(at_ns))));
            }
            FromProbe::Change(change) => {
                state.change(change, run)?;
            }
        }
    }
}

impl State {
    fn lose(&mut self, why: Option<io::Error>) {
        // What was heard of a restart in part is heard again as a whole.
        if self.is_partial {
            self.run = 0;
        }
        self.is_connected = false;
        self.problem = why.map(|error| error.to_string());
    }

    fn change(&mut self, change: Change, run: u64) -> io::Result<()> {
        match change.what {
            What::Restart => (self.is_partial, self.run) = (true, run),
            What::Whole => self.is_partial = false,
            _ => {}
        }
        let is_next = change.number == self.has + 1 || self.is_partial || matches!(change.what, What::Whole);
        if self.run != run || !is_next {
            let (number, has) = (change.number, self.has);
            return Err(invalid(format_args!("change {number} came behind {has}")));
        }
        self.has = change.number;
        self.waiting.push_back(change);
        Ok(())
    }
}

async fn confirm(shared: &Shared, to: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
    loop {
        let confirmed = shared.state().confirmed.take();
        if let Some(confirmed) = confirmed {
            let sent = async {
                to.write_all(&framed(&confirmed)?).await?;
                to.flush().await
            };
            if let Err(error) = sent.await {
                let mut state = shared.state();
                // Stops are told again by the next connection.
                let waits = state.confirmed.get_or_insert_with(Confirmation::default);
                waits.stopped.splice(0..0, confirmed.stopped);
                return Err(error);
            }
        } else {
            shared.applied.notified().await;
        }
    }
}

/// How long the probe may take to answer at first.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long it may be silent: it gives a sign of life each second.
const SILENCE: Duration = Duration::from_secs(10);
/// Between two attempts to connect.
const BETWEEN: Duration = Duration::from_millis(500);
/// How long what waits at the end is sent.
const LAST: Duration = Duration::from_millis(100);
/// Networks that wait to be looked at.
const MOST_SOON: usize = 65_536;
/// Changes that wait to be applied.
const MOST_WAITING: usize = 65_536;
