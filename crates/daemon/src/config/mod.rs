//! What `ringtap run` is told: `ringtap.toml`, parsed, then validated into useful types.
//!
//! [`keys`] lists every key once: its section, default, what would be right and what it means. The default file, the page
//! of the manual and the errors are made from it; tests hold that it says what the structures here take.

pub(crate) mod keys;
mod page;
mod rules;
mod values;
mod wrong;

use std::net::SocketAddr;
use std::num::NonZeroU8;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ringtap_capture::live;
use ringtap_engine as engine;
use ringtap_model::{LinkType, Nanos};
use ringtap_spool::{Category, Marks, MasterKey, Room, Signer};
use serde::{Deserialize, Serialize};

use keys::Key;
pub use page::default_file;
#[cfg(test)]
pub(crate) use page::held;
pub(crate) use rules::KeepRule;
pub(crate) use values::{
    Compress, Direction, Fanout, Field, Free, Keep, Level, Listen, Net, Share, Size, Source, Span, Speed,
};
pub use wrong::Wrong;

/// Everything in the file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    pub(crate) capture: Capture,
    pub(crate) engine: Limits,
    pub(crate) store: Store,
    pub(crate) journal: Journal,
    pub(crate) spool: Spool,
    pub(crate) retention: Retention,
    pub(crate) metrics: Metrics,
    pub(crate) log: Log,
    pub(crate) process: Process,
    /// What is kept of which call: the first that matches.
    #[serde(skip_serializing)]
    pub(crate) keep: Vec<KeepRule>,
}

/// Where packets come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Capture {
    pub(crate) interfaces: Vec<String>,
    pub(crate) source: Source,
    pub(crate) workers: NonZeroU8,
    pub(crate) cpus: Vec<u16>,
    pub(crate) ring: Size,
    pub(crate) snaplen: u32,
    pub(crate) filter: String,
    pub(crate) direction: Direction,
    pub(crate) fanout: Fanout,
    pub(crate) latency: Span,
    pub(crate) busy_poll: Span,
    pub(crate) promiscuous: bool,
    pub(crate) hardware_time: bool,
    pub(crate) huge_pages: bool,
    pub(crate) files: Vec<PathBuf>,
    pub(crate) speed: Speed,
}

impl Default for Capture {
    fn default() -> Self {
        Self {
            interfaces: Vec::new(),
            source: Source::Packet,
            workers: NonZeroU8::MIN,
            cpus: Vec::new(),
            ring: Size(64 << 20),
            snaplen: 1 << 18,
            filter: String::new(),
            direction: Direction::Both,
            fanout: Fanout::Source,
            latency: Span(Nanos::from_millis(10)),
            busy_poll: Span(Nanos::ZERO),
            promiscuous: true,
            hardware_time: false,
            huge_pages: false,
            files: Vec::new(),
            speed: Speed::Times(1.0),
        }
    }
}

impl Capture {
    /// As an interface is opened.
    pub(crate) fn of_interface(&self, interface: &str) -> live::Settings {
        live::Settings {
            interface: interface.to_owned(),
            source: match self.source {
                Source::Packet => live::Source::Packet,
                Source::Xdp => live::Source::Xdp { mode: live::XdpMode::Auto },
                Source::XdpZeroCopy => live::Source::Xdp { mode: live::XdpMode::ZeroCopy },
                Source::XdpCopy => live::Source::Xdp { mode: live::XdpMode::Copy },
                Source::XdpGeneric => live::Source::Xdp { mode: live::XdpMode::Generic },
            },
            workers: self.workers.get().into(),
            ring: usize::try_from(self.ring.0).unwrap_or(usize::MAX),
            snaplen: self.snaplen,
            filter: Some(self.filter.clone()),
            direction: match self.direction {
                Direction::Both => live::Direction::Both,
                Direction::Incoming => live::Direction::Incoming,
            },
            fanout: match self.fanout {
                Fanout::Source => live::Fanout::Source,
                Fanout::Flow => live::Fanout::Flow,
                Fanout::Queue => live::Fanout::Queue,
            },
            promiscuous: self.promiscuous,
            hardware_time: self.hardware_time,
            latency: Duration::from_nanos(self.latency.0.0),
            busy_poll: (self.busy_poll.0 != Nanos::ZERO).then(|| Duration::from_nanos(self.busy_poll.0.0)),
            huge_pages: self.huge_pages,
        }
    }
}

/// Ceilings and limits of the engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Limits {
    max_calls: usize,
    max_streams: usize,
    max_registrations: usize,
    max_messages: usize,
    max_fragmented: usize,
    max_connections: usize,
    max_stream_bytes: Size,
    invite_limit: Span,
    idle_limit: Span,
    linger: Span,
    challenge_limit: Span,
    stream_idle: Span,
    provisional_limit: Span,
    measure_sound: bool,
}

impl Default for Limits {
    fn default() -> Self {
        let config = engine::Config::default();
        Self {
            max_calls: config.max_calls,
            max_streams: config.max_streams,
            max_registrations: config.max_registrations,
            max_messages: config.max_messages,
            max_fragmented: config.max_fragmented,
            max_connections: config.max_connections,
            max_stream_bytes: Size(config.max_stream_bytes as u64),
            invite_limit: Span(config.invite_limit),
            idle_limit: Span(config.idle_limit),
            linger: Span(config.linger),
            challenge_limit: Span(config.challenge_limit),
            stream_idle: Span(config.stream_idle),
            provisional_limit: Span(config.provisional_limit),
            measure_sound: config.measure_sound,
        }
    }
}

impl Limits {
    /// As the engine takes them, with the seed of its tables' hashes, and whether their memory is taken at once.
    pub(crate) fn engine(&self, seed: u64, prefault: bool) -> engine::Config {
        engine::Config {
            max_calls: self.max_calls,
            max_streams: self.max_streams,
            max_registrations: self.max_registrations,
            max_messages: self.max_messages,
            max_fragmented: self.max_fragmented,
            max_connections: self.max_connections,
            max_stream_bytes: usize::try_from(self.max_stream_bytes.0).unwrap_or(usize::MAX),
            invite_limit: self.invite_limit.0,
            idle_limit: self.idle_limit.0,
            linger: self.linger.0,
            challenge_limit: self.challenge_limit.0,
            stream_idle: self.stream_idle.0,
            provisional_limit: self.provisional_limit.0,
            measure_sound: self.measure_sound,
            seed,
            prefault,
        }
    }
}

/// Where records go.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Store {
    pub(crate) directory: PathBuf,
    pub(crate) queue: usize,
    pub(crate) outbox: PathBuf,
    pub(crate) outbox_size: Size,
    pub(crate) retain: Span,
}

impl Default for Store {
    fn default() -> Self {
        Self {
            directory: "/var/lib/ringtap/records".into(),
            queue: 16_384,
            outbox: "/var/lib/ringtap/outbox".into(),
            outbox_size: Size(1 << 30),
            retain: Span(Nanos::ZERO),
        }
    }
}

/// Calls under way, on disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Journal {
    pub(crate) enabled: bool,
    pub(crate) path: PathBuf,
}

impl Default for Journal {
    fn default() -> Self {
        Self { enabled: true, path: "/var/lib/ringtap/journal".into() }
    }
}

/// Packets of calls, on disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Spool {
    directory: PathBuf,
    pub(crate) keep: Keep,
    memory: Size,
    age: Span,
    undecided: Size,
    pub(crate) legs: Vec<String>,
    pub(crate) share_key: String,
    pub(crate) pause_digits: String,
    pub(crate) resume_digits: String,
    pub(crate) pause_header: Field,
    pub(crate) resume_header: Field,
    segment: Span,
    segment_size: Size,
    compress: Compress,
    seal: PathBuf,
    seal_command: String,
    sign: PathBuf,
}

/// The keys of the spool, read while they may be.
#[derive(Clone, Debug, Default)]
pub(crate) struct Secrets {
    seal: Option<MasterKey>,
    /// Also for the log of deletions.
    pub(crate) sign: Option<Arc<Signer>>,
}

impl Default for Spool {
    fn default() -> Self {
        Self {
            directory: PathBuf::new(),
            keep: Keep::Full,
            memory: Size(256 << 20),
            age: Span(Nanos::from_secs(10)),
            undecided: Size(64 << 20),
            legs: vec!["Session-ID".to_owned()],
            share_key: String::new(),
            pause_digits: String::new(),
            resume_digits: String::new(),
            pause_header: Field::default(),
            resume_header: Field::default(),
            segment: Span(Nanos::from_secs(60)),
            segment_size: Size(4 << 30),
            compress: Compress::None,
            seal: PathBuf::new(),
            seal_command: String::new(),
            sign: PathBuf::new(),
        }
    }
}

impl Spool {
    /// Where packets are kept; None where they are not.
    pub(crate) fn directory(&self) -> Option<&Path> {
        (!self.directory.as_os_str().is_empty()).then_some(&*self.directory)
    }

    /// Reads the keys, or runs the command that has one.
    pub(crate) fn secrets(&self) -> Result<Secrets, ringtap_spool::Error> {
        if self.directory().is_none() {
            return Ok(Secrets::default());
        }
        let seal = match (self.seal.as_os_str().is_empty(), self.seal_command.is_empty()) {
            (false, _) => Some(MasterKey::read(&self.seal)?),
            (true, false) => Some(MasterKey::of_command(&self.seal_command)?),
            (true, true) => None,
        };
        let sign = match self.sign.as_os_str().is_empty() {
            true => None,
            false => Some(Arc::new(Signer::read(&self.sign)?)),
        };
        Ok(Secrets { seal, sign })
    }

    /// The longest that a packet waits to be written, once it may be.
    pub(crate) fn age(&self) -> Nanos {
        self.age.0
    }

    /// How long after a packet it may turn out that the disk refused it: when its segment is closed, and a little later.
    pub(crate) fn late(&self) -> Duration {
        Duration::from_nanos(self.age.0.0 + 2 * self.segment.0.0) + Duration::from_secs(10)
    }

    /// Bytes for what is not decided yet.
    pub(crate) fn undecided(&self) -> usize {
        usize::try_from(self.undecided.0).unwrap_or(usize::MAX)
    }

    /// As a worker keeps, with frames of that link type. `wait` where no packet is lost by waiting.
    pub(crate) fn settings(
        &self,
        worker: usize,
        link: LinkType,
        wait: bool,
        secrets: &Secrets,
    ) -> Option<ringtap_spool::Settings> {
        Some(ringtap_spool::Settings {
            worker: u16::try_from(worker).unwrap_or(u16::MAX),
            link,
            memory: usize::try_from(self.memory.0).unwrap_or(usize::MAX),
            age: self.age.0,
            span: self.segment.0,
            bytes: self.segment_size.0,
            compress: (self.compress == Compress::Zstd).then_some(LEVEL),
            seal: secrets.seal.clone(),
            sign: secrets.sign.clone(),
            wait,
            ..ringtap_spool::Settings::new(self.directory()?.to_owned())
        })
    }
}

/// How long what is in the spool stays there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Retention {
    signalling: Span,
    media: Span,
    product: Span,
    signalling_size: Size,
    media_size: Size,
    product_size: Size,
    pub(crate) free: Free,
    free_again: Free,
    tier: PathBuf,
    tier_endpoint: String,
    tier_region: String,
    tier_path_style: bool,
    tier_http: bool,
    tier_credentials: String,
    tier_rate: Size,
    tier_after: Span,
}

impl Default for Retention {
    fn default() -> Self {
        let Marks { low, high } = Marks::default();
        let far = ringtap_bucket::Settings::default();
        Self {
            signalling: Span(Nanos::ZERO),
            media: Span(Nanos::ZERO),
            product: Span(Nanos::ZERO),
            signalling_size: Size(0),
            media_size: Size(0),
            product_size: Size(0),
            free: Free(low),
            free_again: Free(high),
            tier: PathBuf::new(),
            tier_endpoint: String::new(),
            tier_region: far.region,
            tier_path_style: far.path_style,
            tier_http: far.http,
            tier_credentials: String::new(),
            tier_rate: Size(0),
            tier_after: Span(Nanos::ZERO),
        }
    }
}

impl Retention {
    /// As the spool takes them.
    pub(crate) fn limits(&self) -> ringtap_spool::Limits {
        let span = |span: Span| (span.0 != Nanos::ZERO).then_some(span.0);
        let size = |size: Size| (size.0 != 0).then_some(size.0);
        ringtap_spool::Limits {
            age: Category::ALL.map(|category| match category {
                Category::Signalling => span(self.signalling),
                Category::Media => span(self.media),
                Category::Product => span(self.product),
            }),
            size: Category::ALL.map(|category| match category {
                Category::Signalling => size(self.signalling_size),
                Category::Media => size(self.media_size),
                Category::Product => size(self.product_size),
            }),
            free: Marks { low: self.free.0, high: self.free_again.0 },
            tier_after: span(self.tier_after),
        }
    }

    /// The directory that older segments move to; None where they move to none.
    pub(crate) fn tier(&self) -> Option<&Path> {
        (!self.tier.as_os_str().is_empty() && !self.is_far()).then_some(&*self.tier)
    }

    /// The bucket that they move to; None where they move to none.
    pub(crate) fn far(&self) -> Option<ringtap_bucket::Settings> {
        let (bucket, prefix) = ringtap_bucket::of_url(self.tier.to_str()?)?;
        Some(ringtap_bucket::Settings {
            bucket,
            prefix,
            endpoint: self.tier_endpoint.trim_end_matches('/').to_owned(),
            region: self.tier_region.clone(),
            path_style: self.tier_path_style,
            http: self.tier_http,
            credentials: self.tier_credentials.clone().into(),
        })
    }

    /// Bytes a second that may go there.
    pub(crate) fn tier_rate(&self) -> Option<u64> {
        (self.tier_rate.0 != 0).then_some(self.tier_rate.0)
    }

    /// When segments move, and how fast, for the log.
    pub(crate) fn moves(&self) -> String {
        let when = match self.tier_after.0 {
            Nanos::ZERO => format!("when less than {} is free", self.free),
            _ => format!("when they are older than {}", self.tier_after),
        };
        match self.tier_rate() {
            None => when,
            Some(_) => format!("{when}, at most {} a second", self.tier_rate),
        }
    }

    /// Whether `tier` is meant to be a bucket.
    fn is_far(&self) -> bool {
        self.tier.to_str().is_some_and(|tier| tier.contains("://") || tier.starts_with("s3:"))
    }
}

/// Figures for Prometheus.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Metrics {
    pub(crate) listen: Listen,
}

impl Default for Metrics {
    fn default() -> Self {
        Self { listen: Listen(Some(SocketAddr::from(([127, 0, 0, 1], 9464)))) }
    }
}

/// What is told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Log {
    pub(crate) level: Level,
    pub(crate) status: Span,
}

impl Default for Log {
    fn default() -> Self {
        Self { level: Level::Info, status: Span(Nanos::from_secs(10)) }
    }
}

/// Whom the process runs as.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Process {
    pub(crate) user: String,
    control: PathBuf,
}

impl Process {
    /// Where commands come from; None where none do.
    pub(crate) fn control(&self) -> Option<&Path> {
        (!self.control.as_os_str().is_empty()).then_some(&*self.control)
    }
}

impl Config {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong with it: line, key, and what would be right.
    pub fn load(path: &Path) -> Result<Self, Wrong> {
        let text = std::fs::read_to_string(path).map_err(|error| Wrong::unreadable(path, &error))?;
        Self::parse(&text).map_err(|wrong| wrong.of(path))
    }

    fn parse(text: &str) -> Result<Self, Wrong> {
        let document = wrong::Document::parse(text)?;
        document.known_keys_alone()?;
        let config: Self = toml::from_str(text).map_err(|error| document.of_toml(&error))?;
        config.check().map_err(|(section, key, problem)| document.at(section, key, problem))?;
        config.check_rules().map_err(|(place, key, problem)| document.at_rule(place, key, problem))?;
        if config.has_own_rules() && document.has("spool", "keep") {
            let problem = "there are [[keep]] rules, which say it: leave it out, and write a last [[keep]] that asks nothing";
            return Err(document.at("spool", "keep", problem.to_owned()));
        }
        Ok(config)
    }

    /// What types alone cannot say: section and key, and what is wrong and would be right.
    fn check(&self) -> Result<(), (&'static str, &'static str, String)> {
        let wrong = |section, key, problem: &str| Err((section, key, problem.to_owned()));
        let capture = &self.capture;
        match (capture.interfaces.is_empty(), capture.files.is_empty()) {
            (true, true) => {
                let problem = "no interface is named, and no file: name at least one, such as [\"eth0\"]";
                return wrong("capture", "interfaces", problem);
            }
            (false, false) => {
                let problem =
                    "interfaces are captured, or files are replayed, not both: leave one of them out";
                return wrong("capture", "files", problem);
            }
            _ => {}
        }
        for (place, interface) in capture.interfaces.iter().enumerate() {
            if capture.interfaces[..place].contains(interface) {
                let problem = format!("`{interface}` is named twice: each interface is captured once");
                return Err(("capture", "interfaces", problem));
            }
            // IFNAMSIZ of Linux, with its closing zero.
            if interface.is_empty() || interface.len() > 15 || interface.contains(['/', ' ']) {
                let problem =
                    format!("`{interface}` cannot be an interface: `ip -br link` shows those that there are");
                return Err(("capture", "interfaces", problem));
            }
        }
        let workers = self.workers();
        if !capture.cpus.is_empty() && capture.cpus.len() != workers {
            let problem = format!(
                "there are {workers} workers (workers times interfaces) and {} CPUs in the list: name one for each, or none",
                capture.cpus.len()
            );
            return Err(("capture", "cpus", problem));
        }
        let mut cpus = capture.cpus.clone();
        cpus.sort_unstable();
        if let Some(twice) = cpus.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err((
                "capture",
                "cpus",
                format!("CPU {} is named twice: give each worker its own", twice[0]),
            ));
        }
        if workers > engine::team::MAX_WORKERS {
            let problem = format!(
                "{workers} workers (workers times interfaces) are more than {}",
                engine::team::MAX_WORKERS
            );
            return Err(("capture", "workers", problem));
        }
        if !capture.files.is_empty() && workers > 1 && capture.speed == Speed::Max {
            let problem =
                "at \"max\" one worker would run away from the other: leave workers at 1, or name a speed";
            return wrong("capture", "speed", problem);
        }
        if !(64..=262_144).contains(&capture.snaplen) {
            return wrong("capture", "snaplen", "must be from 64 to 262144 bytes, for example 262144");
        }
        if !(64 << 10..=16 << 30).contains(&capture.ring.0) {
            return wrong("capture", "ring", "must be from 64KiB to 16GiB, for example 64MiB");
        }
        if !(Nanos::from_millis(1)..=Nanos::from_secs(1)).contains(&capture.latency.0) {
            return wrong("capture", "latency", "must be from 1ms to 1s, for example 10ms");
        }
        if capture.busy_poll.0 > Nanos::from_millis(10) {
            return wrong("capture", "busy_poll", "must be at most 10ms, for example 50us; 0s is off");
        }
        self.check_engine()?;
        if !(16..=4_000_000).contains(&self.store.queue) {
            return wrong("store", "queue", "must be from 16 to 4000000 records, for example 16384");
        }
        if self.store.outbox_size.0 < 1 << 20 {
            return wrong("store", "outbox_size", "must be at least 1MiB, for example 1GiB");
        }
        if self.store.outbox == self.store.directory {
            return wrong("store", "outbox", "must be another directory than that of the records");
        }
        if self.store.retain.0 != Nanos::ZERO && self.store.retain.0 < Nanos::from_secs(86_400) {
            return wrong(
                "store",
                "retain",
                "must be at least 1d, for example 90d; 0s keeps records for ever",
            );
        }
        if !(1 << 20..=1 << 40).contains(&self.spool.memory.0) {
            return wrong("spool", "memory", "must be from 1MiB to 1024GiB, for example 256MiB");
        }
        if !(Nanos::from_secs(1)..=Nanos::from_secs(60)).contains(&self.spool.age.0) {
            return wrong("spool", "age", "must be from 1s to 60s, for example 10s");
        }
        if !(1 << 20..=64 << 30).contains(&self.spool.undecided.0) {
            return wrong("spool", "undecided", "must be from 1MiB to 64GiB, for example 64MiB");
        }
        for (key, digits) in
            [("pause_digits", &self.spool.pause_digits), ("resume_digits", &self.spool.resume_digits)]
        {
            if digits.len() > 16 || !digits.bytes().all(|digit| b"0123456789*#ABCD".contains(&digit)) {
                return wrong("spool", key, "must be at most 16 of 0-9, *, #, A-D, for example *7");
            }
        }
        if self.spool.legs.iter().any(|name| name.is_empty() || name.contains([':', ' '])) {
            return wrong("spool", "legs", "names of header fields, for example [\"Session-ID\", \"X-CID\"]");
        }
        if !self.keep.is_empty() && self.spool.directory().is_none() {
            let problem = "is empty, and there are [[keep]] rules: name where to keep what they keep, for example /var/lib/ringtap/spool";
            return wrong("spool", "directory", problem);
        }
        if !(Nanos::from_secs(1)..=Nanos::from_secs(3_600)).contains(&self.spool.segment.0) {
            return wrong("spool", "segment", "must be from 1s to 1h, for example 60s");
        }
        if !(1 << 20..=1 << 40).contains(&self.spool.segment_size.0) {
            return wrong("spool", "segment_size", "must be from 1MiB to 1024GiB, for example 4GiB");
        }
        self.check_retention()?;
        let sealed = !self.spool.seal.as_os_str().is_empty();
        if sealed && !self.spool.seal_command.is_empty() {
            return wrong(
                "spool",
                "seal_command",
                "the key comes from a file or from a command: leave one of them out",
            );
        }
        if !self.spool.sign.as_os_str().is_empty() && !sealed && self.spool.seal_command.is_empty() {
            let problem = "needs `seal` or `seal_command` as well: a call that is not sealed can only be forgotten by changing a \
                           segment, which is then no longer what was signed";
            return wrong("spool", "sign", problem);
        }
        if self.log.status.0 != Nanos::ZERO && self.log.status.0 < Nanos::from_secs(1) {
            return wrong("log", "status", "must be at least 1s, for example 10s; 0s is off");
        }
        Ok(())
    }

    fn check_retention(&self) -> Result<(), (&'static str, &'static str, String)> {
        let retention = &self.retention;
        let wrong = |key, problem: &str| Err(("retention", key, problem.to_owned()));
        for (key, span) in [
            ("signalling", retention.signalling),
            ("media", retention.media),
            ("product", retention.product),
            ("tier_after", retention.tier_after),
        ] {
            if span.0 != Nanos::ZERO && span.0 < Nanos::from_secs(60) {
                return wrong(key, "must be at least 1m, for example 90d; 0s is never");
            }
        }
        for (key, size) in [
            ("signalling_size", retention.signalling_size),
            ("media_size", retention.media_size),
            ("product_size", retention.product_size),
        ] {
            if size.0 != 0 && size.0 < 1 << 20 {
                return wrong(key, "must be at least 1MiB, for example 500GiB; 0 is no limit");
            }
        }
        match (retention.free.0, retention.free_again.0) {
            (Room::Thousandths(low), Room::Thousandths(high)) if high < low => {}
            (Room::Bytes(low), Room::Bytes(high)) if high < low => {}
            _ => return self.check_tier(),
        }
        wrong("free_again", "must not be less than `free`, for example 5% and 7%")
    }

    fn check_tier(&self) -> Result<(), (&'static str, &'static str, String)> {
        self.check_far()?;
        match (self.retention.tier(), self.spool.directory()) {
            (Some(tier), Some(spool)) if tier.starts_with(spool) || spool.starts_with(tier) => {
                let problem =
                    "must not lie in the directory of the spool, nor that in it: name one on another disk";
                Err(("retention", "tier", problem.to_owned()))
            }
            (None, _) if self.retention.tier_after.0 != Nanos::ZERO && !self.retention.is_far() => {
                let problem = "there is no `tier` for segments to move to: name it, or leave this out";
                Err(("retention", "tier_after", problem.to_owned()))
            }
            _ => Ok(()),
        }
    }

    fn check_far(&self) -> Result<(), (&'static str, &'static str, String)> {
        let wrong = |key, problem: &str| Err(("retention", key, problem.to_owned()));
        let retention = &self.retention;
        if !retention.is_far() {
            return match retention.tier_endpoint.is_empty() {
                true => Ok(()),
                false => wrong(
                    "tier_endpoint",
                    "`tier` names no bucket: say s3://bucket/prefix there, or leave this out",
                ),
            };
        }
        let Some(far) = retention.far() else {
            return wrong(
                "tier",
                "is no bucket: s3://, its name, and a prefix, for example s3://recordings/sensor-1",
            );
        };
        let host = match far.endpoint.split_once("://") {
            None if far.endpoint.is_empty() => "aws",
            Some(("http", _)) if !far.http => {
                let problem = "is not encrypted: write https, or allow it with tier_http = true";
                return wrong("tier_endpoint", problem);
            }
            Some(("http" | "https", host)) => host,
            _ => "",
        };
        if host.is_empty() || host.contains(['/', '?', '#', '@', ' ']) {
            return wrong(
                "tier_endpoint",
                "must be a scheme, a host and a port, for example https://s3.example.org:9000",
            );
        }
        if far.region.is_empty() {
            return wrong("tier_region", "must not be empty, for example us-east-1");
        }
        if retention.tier_rate.0 != 0 && retention.tier_rate.0 < 64 << 10 {
            return wrong("tier_rate", "must be at least 64KiB, for example 50MiB; 0 is no limit");
        }
        Ok(())
    }

    fn check_engine(&self) -> Result<(), (&'static str, &'static str, String)> {
        let engine = &self.engine;
        for (key, value) in [
            ("max_calls", engine.max_calls),
            ("max_streams", engine.max_streams),
            ("max_registrations", engine.max_registrations),
            ("max_messages", engine.max_messages),
            ("max_fragmented", engine.max_fragmented),
            ("max_connections", engine.max_connections),
        ] {
            // What the 32-bit indices of the tables hold, with room to spare.
            if !(1..=100_000_000).contains(&value) {
                return Err(("engine", key, "must be from 1 to 100000000".to_owned()));
            }
        }
        if !(4 << 10..=64 << 20).contains(&engine.max_stream_bytes.0) {
            return Err((
                "engine",
                "max_stream_bytes",
                "must be from 4KiB to 64MiB, for example 256KiB".into(),
            ));
        }
        for (key, value) in [
            ("invite_limit", engine.invite_limit),
            ("idle_limit", engine.idle_limit),
            ("challenge_limit", engine.challenge_limit),
            ("stream_idle", engine.stream_idle),
            ("provisional_limit", engine.provisional_limit),
        ] {
            if value.0 < Nanos::from_secs(1) || value.0 > Nanos::from_secs(30 * 86_400) {
                return Err(("engine", key, "must be from 1s to 30d".to_owned()));
            }
        }
        Ok(())
    }

    /// Takes over what a reload puts into effect.
    pub(crate) fn follow(&mut self, fresh: Self) {
        self.log = fresh.log;
        self.store.retain = fresh.store.retain;
        self.retention = fresh.retention;
        self.keep = fresh.keep;
        let Spool { keep, legs, share_key, pause_digits, resume_digits, pause_header, resume_header, .. } =
            fresh.spool;
        let spool = &mut self.spool;
        (spool.keep, spool.legs, spool.share_key) = (keep, legs, share_key);
        (spool.pause_digits, spool.resume_digits) = (pause_digits, resume_digits);
        (spool.pause_header, spool.resume_header) = (pause_header, resume_header);
    }

    /// Workers in all.
    pub(crate) fn workers(&self) -> usize {
        usize::from(self.capture.workers.get()) * self.capture.interfaces.len().max(1)
    }

    /// The keys of which the values differ; the first of a rule stands for all rules.
    pub(crate) fn changed(&self, other: &Self) -> Vec<&'static Key> {
        // Plain data: it always serialises.
        let (old, new) =
            (serde_json::to_value(self).unwrap_or_default(), serde_json::to_value(other).unwrap_or_default());
        let rules = keys::RULE_KEYS.first().filter(|_| self.keep != other.keep);
        let keys = keys::KEYS.iter().filter(|key| old[key.section][key.name] != new[key.section][key.name]);
        keys.chain(rules).collect()
    }
}

/// Of zstd: faster than any disk here, and higher ones gain little.
const LEVEL: i32 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    /// The shortest file that is right.
    const SHORT: &str = "[capture]\ninterfaces = [\"eth0\"]\n";

    #[test]
    fn a_short_file_has_defaults_for_the_rest() {
        let config = Config::parse(SHORT).unwrap();
        assert_eq!(config.capture.interfaces, ["eth0"]);
        assert_eq!(
            Config { capture: Capture { interfaces: Vec::new(), ..config.capture }, ..config },
            Config::default()
        );
    }

    #[test]
    fn values() {
        let text = "[capture]\nfiles = [\"a.pcap\"]\nspeed = \"max\"\nring = \"128MiB\"\nbusy_poll = \"50us\"\n\
                    [engine]\nidle_limit = \"2h\"\nmax_stream_bytes = 65536\n\
                    [store]\nretain = \"90d\"\n[metrics]\nlisten = \"\"\n[log]\nlevel = \"debug\"\n";
        let config = Config::parse(text).unwrap();
        assert_eq!(config.capture.speed, Speed::Max);
        assert_eq!(config.capture.ring, Size(128 << 20));
        assert_eq!(config.capture.busy_poll, Span(Nanos::from_micros(50)));
        assert_eq!(config.engine.engine(1, false).idle_limit, Nanos::from_secs(7_200));
        assert_eq!(config.engine.engine(1, false).max_stream_bytes, 65_536);
        assert_eq!(config.store.retain, Span(Nanos::from_secs(90 * 86_400)));
        assert_eq!((config.metrics.listen, config.log.level), (Listen(None), Level::Debug));
    }

    /// Every wrong file names its line, its key, what is wrong and what would be right.
    #[test]
    fn wrong_files() {
        for (text, expected) in [
            (
                "",
                "x.toml: [capture] interfaces: no interface is named, and no file: name at least one, such as [\"eth0\"]",
            ),
            (
                "[capture]\ninterfaces = []\n",
                "x.toml:2: [capture] interfaces: no interface is named, and no file: name at least one, such as [\"eth0\"]",
            ),
            (
                "[capture]\nintefaces = [\"eth0\"]\n",
                "x.toml:2: [capture] intefaces: there is no such key; did you mean `interfaces`?",
            ),
            (
                "[capture]\ninterfaces = [\"eth0\"]\n[spool]\nsign = \"/k\"\n",
                "x.toml:4: [spool] sign: needs `seal` or `seal_command` as well: a call that is not sealed can only be forgotten by changing a segment, which is then no longer what was signed",
            ),
            (
                "[capture]\ninterfaces = [\"eth0\"]\n[spool]\nseal = \"/k\"\nseal_command = \"cat /k\"\n",
                "x.toml:5: [spool] seal_command: the key comes from a file or from a command: leave one of them out",
            ),
            (
                "[capture]\ninterfaces = [\"eth0\"]\n[spool]\ncompress = \"gzip\"\n",
                "x.toml:4: [spool] compress: \"gzip\" is not \"none\" or \"zstd\"",
            ),
            (
                "[capture]\ncolour = 1\n",
                "x.toml:2: [capture] colour: there is no such key; there are interfaces, source, workers, cpus, ring, snaplen, filter, direction, fanout, latency, busy_poll, promiscuous, hardware_time, huge_pages, files, speed",
            ),
            (
                "\n[captrue]\ninterfaces = [\"eth0\"]\n",
                "x.toml:2: [captrue]: there is no such section; did you mean [capture]?",
            ),
            (
                "interfaces = [\"eth0\"]\n",
                "x.toml:1: interfaces: stands outside of any section; write it below [capture]",
            ),
            (
                "wombat = 1\n",
                "x.toml:1: wombat: stands outside of any section; there are [capture], [engine], [store], [journal], [spool], [retention], [metrics], [log], [process]",
            ),
            (
                "capture = 1\n",
                "x.toml:1: capture: is a section: write [capture] on a line of its own, its keys below it",
            ),
            (
                "[capture]\ninterfaces = \"eth0\"\n",
                "x.toml:2: [capture] interfaces: \"eth0\" is not a list of interfaces, such as [\"eth0\"]",
            ),
            (
                "[capture]\ninterfaces = [1]\n",
                "x.toml:2: [capture] interfaces: 1 is not a list of interfaces, such as [\"eth0\"]",
            ),
            (
                "[capture]\ninterfaces = [\"eth0\", \"eth0\"]\n",
                "x.toml:2: [capture] interfaces: `eth0` is named twice: each interface is captured once",
            ),
            (
                "[capture]\ninterfaces = [\"a name that is long\"]\n",
                "x.toml:2: [capture] interfaces: `a name that is long` cannot be an interface: `ip -br link` shows those that there are",
            ),
            (
                "[capture]\ninterfaces = [\"eth0\"]\nworkers = 0\n",
                "x.toml:3: [capture] workers: 0 is not a whole number from 1 to 255, such as 2",
            ),
            (
                "[capture]\ninterfaces = [\"eth0\"]\nworkers = \"two\"\n",
                "x.toml:3: [capture] workers: \"two\" is not a whole number from 1 to 255, such as 2",
            ),
            (
                "[capture]\ninterfaces = [\"eth0\"]\nworkers = 2\ncpus = [1]\n",
                "x.toml:4: [capture] cpus: there are 2 workers (workers times interfaces) and 1 CPUs in the list: name one for each, or none",
            ),
            (
                "[capture]\ninterfaces = [\"eth0\"]\nworkers = 2\ncpus = [1, 1]\n",
                "x.toml:4: [capture] cpus: CPU 1 is named twice: give each worker its own",
            ),
            (
                "[capture]\ninterfaces = [\"eth0\"]\nring = \"64 elephants\"\n",
                "x.toml:3: [capture] ring: \"64 elephants\" is not a size, such as \"64MiB\", \"512KiB\" or a number of bytes",
            ),
            (
                "[capture]\ninterfaces = [\"eth0\"]\nring = \"64MB\"\n",
                "x.toml:3: [capture] ring: \"64MB\" is not a size, such as \"64MiB\", \"512KiB\" or a number of bytes",
            ),
            (
                "[capture]\ninterfaces = [\"eth0\"]\nring = \"1KiB\"\n",
                "x.toml:3: [capture] ring: must be from 64KiB to 16GiB, for example 64MiB",
            ),
            (
                "[capture]\ninterfaces = [\"eth0\"]\nsnaplen = 20\n",
                "x.toml:3: [capture] snaplen: must be from 64 to 262144 bytes, for example 262144",
            ),
            (
                "[capture]\ninterfaces = [\"eth0\"]\nbusy_poll = \"1s\"\n",
                "x.toml:3: [capture] busy_poll: must be at most 10ms, for example 50us; 0s is off",
            ),
            (
                "[capture]\ninterfaces = [\"eth0\"]\nsource = \"pcap\"\n",
                "x.toml:3: [capture] source: \"pcap\" is not \"packet\", \"xdp\", \"xdp-zero-copy\", \"xdp-copy\" or \"xdp-generic\"",
            ),
            (
                "[capture]\ninterfaces = [\"eth0\"]\npromiscuous = \"yes\"\n",
                "x.toml:3: [capture] promiscuous: \"yes\" is not true or false",
            ),
            (
                "[capture]\ninterfaces = [\"eth0\"]\nfiles = [\"a\"]\n",
                "x.toml:3: [capture] files: interfaces are captured, or files are replayed, not both: leave one of them out",
            ),
            (
                "[capture]\nfiles = [\"a\"]\nworkers = 2\nspeed = \"max\"\n",
                "x.toml:4: [capture] speed: at \"max\" one worker would run away from the other: leave workers at 1, or name a speed",
            ),
            (
                "[capture]\ninterfaces = [\"a\", \"b\"]\nworkers = 33\n",
                "x.toml:3: [capture] workers: 66 workers (workers times interfaces) are more than 64",
            ),
            (
                "[capture]\nfiles = [\"a\"]\nspeed = 0\n",
                "x.toml:3: [capture] speed: 0 is not \"max\" or a number above 0, such as 1 for the pace of the capture",
            ),
            (
                "[capture]\nfiles = [\"a\"]\n[engine]\nmax_calls = 0\n",
                "x.toml:4: [engine] max_calls: must be from 1 to 100000000",
            ),
            (
                "[capture]\nfiles = [\"a\"]\n[engine]\nmax_calls = -1\n",
                "x.toml:4: [engine] max_calls: -1 is not a whole number, such as 60000",
            ),
            (
                "[capture]\nfiles = [\"a\"]\n[engine]\nidle_limit = 10\n",
                "x.toml:4: [engine] idle_limit: 10 is not a time with its unit, such as \"10s\", \"250ms\", \"4h\" or \"90d\"",
            ),
            (
                "[capture]\nfiles = [\"a\"]\n[engine]\nidle_limit = \"0s\"\n",
                "x.toml:4: [engine] idle_limit: must be from 1s to 30d",
            ),
            (
                "[capture]\nfiles = [\"a\"]\n[engine]\nmax_stream_bytes = 1\n",
                "x.toml:4: [engine] max_stream_bytes: must be from 4KiB to 64MiB, for example 256KiB",
            ),
            (
                "[capture]\nfiles = [\"a\"]\n[store]\nqueue = 1\n",
                "x.toml:4: [store] queue: must be from 16 to 4000000 records, for example 16384",
            ),
            (
                "[capture]\nfiles = [\"a\"]\n[store]\ndirectory = 5\n",
                "x.toml:4: [store] directory: 5 is not a path, such as \"/var/lib/ringtap/records\"",
            ),
            (
                "[capture]\nfiles = [\"a\"]\n[store]\noutbox_size = \"1KiB\"\n",
                "x.toml:4: [store] outbox_size: must be at least 1MiB, for example 1GiB",
            ),
            (
                "[capture]\nfiles = [\"a\"]\n[store]\noutbox = \"/var/lib/ringtap/records\"\n",
                "x.toml:4: [store] outbox: must be another directory than that of the records",
            ),
            (
                "[capture]\nfiles = [\"a\"]\n[store]\nretain = \"1h\"\n",
                "x.toml:4: [store] retain: must be at least 1d, for example 90d; 0s keeps records for ever",
            ),
            (
                "[capture]\nfiles = [\"a\"]\n[retention]\nmedia = \"5s\"\n",
                "x.toml:4: [retention] media: must be at least 1m, for example 90d; 0s is never",
            ),
            (
                "[capture]\nfiles = [\"a\"]\n[retention]\nmedia_size = \"5KiB\"\n",
                "x.toml:4: [retention] media_size: must be at least 1MiB, for example 500GiB; 0 is no limit",
            ),
            (
                "[capture]\nfiles = [\"a\"]\n[retention]\nfree = \"five\"\n",
                "x.toml:4: [retention] free: \"five\" is not a share such as \"5%\", or a size such as \"20GiB\"",
            ),
            (
                "[capture]\nfiles = [\"a\"]\n[retention]\nfree = \"5%\"\nfree_again = \"4.9%\"\n",
                "x.toml:5: [retention] free_again: must not be less than `free`, for example 5% and 7%",
            ),
            (
                "[capture]\nfiles = [\"a\"]\n[spool]\ndirectory = \"/s\"\n[retention]\ntier = \"/s/old\"\n",
                "x.toml:6: [retention] tier: must not lie in the directory of the spool, nor that in it: name one on another disk",
            ),
            (
                "[capture]\nfiles = [\"a\"]\n[retention]\ntier_after = \"2d\"\n",
                "x.toml:4: [retention] tier_after: there is no `tier` for segments to move to: name it, or leave this out",
            ),
            (
                "[capture]\nfiles = [\"a\"]\n[retention]\ntier = \"s3:/b\"\n",
                "x.toml:4: [retention] tier: is no bucket: s3://, its name, and a prefix, for example s3://recordings/sensor-1",
            ),
            (
                "[capture]\nfiles = [\"a\"]\n[retention]\ntier = \"s3://b\"\ntier_endpoint = \"http://s3.example.org\"\n",
                "x.toml:5: [retention] tier_endpoint: is not encrypted: write https, or allow it with tier_http = true",
            ),
            (
                "[capture]\nfiles = [\"a\"]\n[retention]\ntier = \"s3://b\"\ntier_endpoint = \"s3.example.org\"\n",
                "x.toml:5: [retention] tier_endpoint: must be a scheme, a host and a port, for example https://s3.example.org:9000",
            ),
            (
                "[capture]\nfiles = [\"a\"]\n[retention]\ntier = \"/t\"\ntier_endpoint = \"https://s3.example.org\"\n",
                "x.toml:5: [retention] tier_endpoint: `tier` names no bucket: say s3://bucket/prefix there, or leave this out",
            ),
            (
                "[capture]\nfiles = [\"a\"]\n[metrics]\nlisten = \"9464\"\n",
                "x.toml:4: [metrics] listen: \"9464\" is not an address and a port, such as \"127.0.0.1:9464\", or \"\" for none",
            ),
            (
                "[capture]\nfiles = [\"a\"]\n[log]\nlevel = \"loud\"\n",
                "x.toml:4: [log] level: \"loud\" is not \"error\", \"warn\", \"info\" or \"debug\"",
            ),
            (
                "[capture]\nfiles = [\"a\"]\n[log]\nstatus = \"1ms\"\n",
                "x.toml:4: [log] status: must be at least 1s, for example 10s; 0s is off",
            ),
            ("[capture]\nfiles = [\"a\"]\nfiles = [\"b\"]\n", "x.toml:3: duplicate key"),
            ("[capture]\nfiles = [\"a\"\n", "x.toml:2: unclosed array, expected `]`"),
        ] {
            let wrong = Config::parse(text).expect_err(text).of(Path::new("x.toml"));
            assert_eq!(wrong.to_string(), expected, "{text}");
        }
        let error = Config::load(Path::new("/nowhere/ringtap.toml")).unwrap_err().to_string();
        assert_eq!(
            error,
            "/nowhere/ringtap.toml does not exist: `ringtap run --print-default` prints one to begin with"
        );
    }

    /// The table of keys and the structures are of one mind.
    #[test]
    fn every_key_is_listed_once() {
        let value = serde_json::to_value(Config::default()).unwrap();
        let mut fields = Vec::new();
        for (section, keys) in value.as_object().unwrap() {
            fields.extend(keys.as_object().unwrap().keys().map(|key| format!("{section}.{key}")));
        }
        let mut listed: Vec<String> =
            keys::KEYS.iter().map(|key| format!("{}.{}", key.section, key.name)).collect();
        fields.sort();
        listed.sort();
        assert_eq!(fields, listed);
        for key in &keys::KEYS {
            let text = format!("[{}]\n{} = {}\n", key.section, key.name, key.default);
            let config: Config = toml::from_str(&text).unwrap();
            assert_eq!(config, Config::default(), "the default of {} is not {}", key.name, key.default);
        }
    }

    #[test]
    fn the_default_file_is_right_but_for_the_interface() {
        let text = default_file().replace("interfaces = []", "interfaces = [\"eth0\"]");
        let config = Config::parse(&text).unwrap();
        assert_eq!(config.changed(&Config::default()).len(), 1);
        assert_eq!(config, Config::parse(SHORT).unwrap());
    }

    #[test]
    fn what_changed_is_found() {
        let old = Config::parse(SHORT).unwrap();
        let new = Config::parse(&format!("{SHORT}ring = \"32MiB\"\n[log]\nlevel = \"warn\"\n")).unwrap();
        let names: Vec<_> = old.changed(&new).iter().map(|key| (key.section, key.name, key.live)).collect();
        assert_eq!(names, [("capture", "ring", false), ("log", "level", true)]);
    }
}
