//! What the warrants in force are entitled to of the traffic that workers capture.
//!
//! Workers pass frames on (`link`); one thread (`follower`) merges them, follows their sessions and calls by
//! an engine of its own, and gives product (`accounts`) to files and to mediation functions (`functions`).
//! What it did, it reports to officers alone (`report`), in the directory of the product.
//!
//! INVARIANT: nothing of it is logged, counted in metrics or shown by status; what the log says of it is the
//! same whatever the register holds.

mod accounts;
mod follower;
pub mod functions;
mod link;
mod orders;
mod report;

use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use anyhow::{Context, bail};
use ringtap_engine::Targets;
use ringtap_handover::MediationFunction;
use ringtap_intercept::{Delivered, Interception, Limits, ProductFiles};
use ringtap_store::StoreWriter;
use ringtap_warrant::{Register, RegisterKey};

use crate::config::{Config, Following, Intercept};
use accounts::Accounts;
use follower::{Follower, Resuming};
use link::{Follows, WorkerLink};
pub(crate) use link::{PacketFeed, SignallingFeed};
use orders::OrderBook;
pub use report::{FunctionFigures, OrderFigures, ProductReport};

/// What interception needs, opened before privileges are dropped: keys, and memory that stays in memory.
pub(crate) struct InterceptStart {
    register: PathBuf,
    product: PathBuf,
    key: RegisterKey,
    functions: Vec<MediationFunction>,
    links: Vec<Arc<WorkerLink>>,
    /// How sessions are followed, with the secrets, where `[radius]` says so.
    radius: Option<Following>,
}

impl InterceptStart {
    /// None where nothing is intercepted.
    ///
    /// # Errors
    ///
    /// The master key or the file of mediation functions cannot be read.
    pub(crate) fn open(config: &Config) -> anyhow::Result<Option<Self>> {
        let intercept = &config.intercept;
        let (Some(register), Some(product)) = (intercept.register(), intercept.product()) else {
            return Ok(None);
        };
        let key = match (intercept.key_command(), intercept.key_file()) {
            (Some(command), _) => RegisterKey::of_command(command).context("[intercept] key_command")?,
            (None, file) => RegisterKey::read(file.unwrap_or(Path::new(""))).context("[intercept] key")?,
        };
        let functions = intercept.functions().map(functions::read_functions).transpose();
        let functions = functions.context("[intercept] deliver")?.unwrap_or_default();
        let workers = config.workers() as u64;
        let link = || WorkerLink::new(PASSED, intercept.ring.0 / workers);
        let (links, kept): (Vec<_>, Vec<bool>) = (0..workers).map(|_| link()).unzip();
        if !kept.into_iter().all(|is_kept| is_kept) {
            log::warn!(
                target: "run",
                "[intercept] ring: the system does not keep it in memory: start as root, or set \
                 `LimitMEMLOCK=infinity` in the unit; until then, frames may get into swap space"
            );
        }
        let (register, product) = (register.to_owned(), product.to_owned());
        let links = links.into_iter().map(Arc::new).collect();
        let radius = config.radius.settings()?;
        Ok(Some(Self { register, product, key, functions, links, radius }))
    }

    /// Ports of mediation functions.
    pub(crate) fn ports(&self) -> Vec<u16> {
        let peers = self.functions.iter().flat_map(|function| [&function.hi2, &function.hi3]);
        let mut ports: Vec<u16> = peers.flatten().map(|peer| peer.address.port()).collect();
        ports.sort_unstable();
        ports.dedup();
        ports
    }
}

/// What workers pass frames by, until it is theirs.
#[derive(Debug)]
pub(crate) struct Feeds {
    links: Vec<Arc<WorkerLink>>,
    targets: Arc<Targets>,
    follows: Follows,
}

impl Feeds {
    /// The two sides of a worker: one for its engine's tracker, and the other for its sink.
    pub(crate) fn of(&self, worker: usize) -> Option<(SignallingFeed, PacketFeed)> {
        self.links.get(worker).map(|link| link::feeds(link, self.follows))
    }

    /// What every engine is to watch.
    pub(crate) fn targets(&self) -> Arc<Targets> {
        Arc::clone(&self.targets)
    }
}

/// The thread.
pub(crate) struct InterceptThread(JoinHandle<()>);

/// Starts the thread where anything is intercepted, and returns what workers pass frames by. It ends when
/// the last of them has.
///
/// # Errors
///
/// The register cannot be opened, or product has no place.
pub(crate) fn start(
    start: Option<InterceptStart>,
    config: &Config,
    store: &StoreWriter,
    is_replay: bool,
) -> anyhow::Result<(Option<InterceptThread>, Option<Feeds>)> {
    let Some(InterceptStart { register, product, key, functions, links, radius }) = start else {
        return Ok((None, None));
    };
    check_private(&product).context("[intercept] product")?;
    let opened = Register::open(&register, &key).context("[intercept] register")?;
    let delivered = match functions.is_empty() {
        true => None,
        false => {
            let (buffer, sealed_by) = (product.join("buffer"), *key.derived("buffer of product"));
            let delivery = functions::start_delivery(functions, &buffer, sealed_by);
            Some(Delivered::live(delivery.context("[intercept] deliver")?))
        }
    };
    let seed = RandomState::new().hash_one(1);
    let targets = Arc::new(Targets::new(seed));
    let mut limits = config.engine.engine(&config.quality, seed, !is_replay);
    // It follows the media of targets alone.
    limits.max_streams = limits.max_streams.min(MOST_STREAMS);
    limits.measure_sound = false;
    let resuming = radius.is_some() && !is_replay;
    let resuming = resuming.then(|| Resuming::new(&config.store.directory, store.counts_handle()));
    let mut following = radius.unwrap_or_default();
    let ranges = std::mem::take(&mut following.ranges);
    let follows = Follows { leases: following.leases, pppoe: following.pppoe, is_replay };
    let accounts = Accounts::new(ProductFiles::live(&product, opened.product_signer()), delivered);
    let interception = Interception::with_targets(
        Arc::clone(&targets),
        limits,
        following.sessions().with_ranges(ranges),
        Limits::default(),
        accounts,
    );
    let follower = Follower::new(
        interception,
        (links.clone(), Arc::clone(&targets)),
        OrderBook::new(&register, key, opened, is_replay),
        (product, &config.intercept),
        resuming,
        is_replay,
    );
    let builder = thread::Builder::new().name("intercept".into());
    let thread = builder.spawn(move || follower.run()).context("cannot start the thread that intercepts")?;
    Ok((Some(InterceptThread(thread)), Some(Feeds { links, targets, follows })))
}

impl InterceptThread {
    /// Waits until product is on the disk. The workers have ended.
    pub(crate) fn close(self) {
        if self.0.join().is_err() {
            log::error!(
                target: "run",
                "the thread that intercepts crashed: please report this fault of ringtap"
            );
        }
    }
}

/// What is wrong with the places that the keys name, as far as a look tells.
pub(crate) fn check(register: &Path, product: &Path, intercept: &Intercept) -> Vec<(&'static str, String)> {
    let mut problems = Vec::new();
    problems.extend(no_register(register).map(|problem| ("register", problem)));
    if let Some(Err(error)) = intercept.key_file().map(RegisterKey::read) {
        problems.push(("key", error.to_string()));
    }
    if let Some(Err(error)) = intercept.functions().map(functions::read_functions) {
        problems.push(("deliver", format!("{error:#}")));
    }
    if let Err(error) = check_private(product)
        && product.exists()
    {
        problems.push(("product", format!("{error:#}")));
    }
    problems
}

/// What to do where there is no register.
pub(crate) fn no_register(register: &Path) -> Option<String> {
    let problem = || {
        format!(
            "there is no register in `{}`: make one with `ringtap warrant setup --register {0}`",
            register.display()
        )
    };
    (!register.join("register").is_file()).then(problem)
}

/// Product is for nobody else.
fn check_private(product: &Path) -> anyhow::Result<()> {
    let shown = product.display();
    let found = fs::metadata(product).with_context(|| format!("cannot use the directory `{shown}`"))?;
    if found.mode() & 0o077 != 0 {
        bail!("others may look into `{shown}`: run `chmod 700 {shown}`");
    }
    Ok(())
}

/// Bytes of frames that a worker has passed on and that wait for the thread.
const PASSED: u64 = 16 << 20;
/// Streams of media that are followed at once.
const MOST_STREAMS: usize = 65_536;
