//! What the warrants in force are entitled to of the traffic that workers capture.
//!
//! Workers pass frames on (`link`); one thread (`follower`) merges them, follows their sessions and calls by
//! an engine of its own, and gives product (`accounts`) to files and to mediation functions (`functions`).
//! What it did, it reports to officers alone (`report`), in the directory of the product. Orders come from a
//! register here (`orders`), or from a probe elsewhere (`told`); a probe tells its sniffers (`placement`).
//!
//! INVARIANT: nothing of it is logged, counted in metrics or shown by status; what the log says of it is the
//! same whatever the register holds.

mod accounts;
mod follower;
pub mod functions;
mod link;
mod orders;
mod placement;
mod report;
mod told;
mod waiting;

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
use placement::{Placement, PlacementStart};
pub use report::{FunctionFigures, OrderFigures, ProductReport, SnifferFigures};

/// What interception needs, opened before privileges are dropped: keys, and memory that stays in memory.
pub(crate) struct InterceptStart {
    /// None for a sniffer.
    register: Option<PathBuf>,
    product: PathBuf,
    key: RegisterKey,
    placement: PlacementStart,
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
        let Some(product) = intercept.product() else { return Ok(None) };
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
        let (register, product) = (intercept.register().map(Path::to_owned), product.to_owned());
        let placement = PlacementStart::open(intercept)?;
        let links = links.into_iter().map(Arc::new).collect();
        let radius = config.radius.settings()?;
        Ok(Some(Self { register, product, key, placement, functions, links, radius }))
    }

    /// Ports of mediation functions, and of the probe.
    pub(crate) fn ports(&self) -> Vec<u16> {
        let peers = self.functions.iter().flat_map(|function| [&function.hi2, &function.hi3]);
        let mut ports: Vec<u16> = peers.flatten().map(|peer| peer.address.port()).collect();
        ports.extend(self.placement.port());
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
    let Some(start) = start else { return Ok((None, None)) };
    let InterceptStart { register, product, key, placement, functions, links, radius } = start;
    check_private(&product).context("[intercept] product")?;
    let delivered = delivered(functions, &product, &key)?;
    let seed = RandomState::new().hash_one(1);
    let targets = Arc::new(Targets::new(seed));
    let mut limits = config.engine.engine(&config.quality, seed, !is_replay);
    // It follows the media of targets alone.
    limits.max_streams = limits.max_streams.min(MOST_STREAMS);
    limits.measure_sound = false;
    let told = placement.told()?;
    let resuming = radius.is_some() && !is_replay && told.is_none();
    let resuming = resuming.then(|| Resuming::new(&config.store.directory, store.counts_handle()));
    let mut following = radius.unwrap_or_default();
    let ranges = std::mem::take(&mut following.ranges);
    let follows = Follows { leases: following.leases, pppoe: following.pppoe, is_replay };
    let sessions = following.sessions().with_ranges(ranges);
    let point = placement::point(&config.intercept)?;
    let probe = placement.probe()?;
    let (signer, placement) = match (register, told) {
        (_, Some(told)) => (key.product_signer(), Placement::Probe(told)),
        (register, None) => {
            let register = register.unwrap_or_default();
            let opened = Register::open(&register, &key).context("[intercept] register")?;
            let signer = opened.product_signer();
            let book = Box::new(OrderBook::new(&register, key, opened, is_replay));
            (signer, Placement::Register(book, probe.clone()))
        }
    };
    let public_key = signer.public_key().to_string();
    let files = ProductFiles::live(&product, signer).at_point(point);
    let accounts = Accounts::new(files, delivered.map(|delivered| delivered.at_point(point)), probe);
    let watched = Arc::clone(&targets);
    let interception = Interception::with_targets(watched, limits, sessions, Limits::default(), accounts);
    let interception = match placement.is_sniffer() {
        true => interception.told_of_sessions(),
        false => interception,
    };
    let follower = Follower::new(
        interception,
        (links.clone(), Arc::clone(&targets)),
        placement,
        (product, &config.intercept, public_key),
        config.capture.latency.0,
        resuming,
        is_replay,
    );
    let builder = thread::Builder::new().name("intercept".into());
    let thread = builder.spawn(move || follower.run()).context("cannot start the thread that intercepts")?;
    Ok((Some(InterceptThread(thread)), Some(Feeds { links, targets, follows })))
}

/// The way to mediation functions, where there are any.
fn delivered(
    functions: Vec<MediationFunction>,
    product: &Path,
    key: &RegisterKey,
) -> anyhow::Result<Option<Delivered>> {
    if functions.is_empty() {
        return Ok(None);
    }
    let (buffer, sealed_by) = (product.join("buffer"), *key.derived("buffer of product"));
    let delivery = functions::start_delivery(functions, &buffer, sealed_by);
    Ok(Some(Delivered::live(delivery.context("[intercept] deliver")?)))
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
pub(crate) fn check(product: &Path, intercept: &Intercept) -> Vec<(&'static str, String)> {
    let mut problems = Vec::new();
    problems.extend(intercept.register().and_then(no_register).map(|problem| ("register", problem)));
    if (intercept.probe().is_some() || intercept.listen().is_some())
        && let Err(error) = placement::credentials(intercept)
    {
        problems.push(("certificate", format!("{error:#}")));
    }
    if let Err(error) = placement::point(intercept) {
        problems.push(("point", format!("{error:#}")));
    }
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
