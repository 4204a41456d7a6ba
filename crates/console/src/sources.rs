//! Where the console's answers come from: handed in by the program, so that this crate knows no command
//! and no daemon.

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use ringtap_access::Scope;
use ringtap_anonymise::Tokens;
use ringtap_audio::Decoders;
use ringtap_kpi::Zone;
use ringtap_search::Site;
use ringtap_spool::Reader as Spool;
use ringtap_store::MakeRollup;
use ringtap_warrant::{RegisterKey, Warrant};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// What the console reads.
pub struct Sources {
    /// The directory of the records.
    pub records: PathBuf,
    /// Opens the recorded packets; `None` if no spool was named.
    pub spool: Option<OpenSpool>,
    /// The directory of the spool that the daemon writes to: its holds, and its log of what was erased.
    pub spool_directory: Option<PathBuf>,
    /// The running daemon; `None` if there is none to be asked.
    pub daemon: Option<Arc<dyn Daemon>>,
    /// Answers assistants; `None` if nobody does.
    pub assistants: Option<Arc<dyn Assistants>>,
    /// Decoders of sound.
    pub decoders: Arc<dyn Decoders + Send + Sync>,
    /// How KPIs are computed, as the daemon computes them.
    pub kpis: Arc<dyn MakeRollup + Send + Sync>,
    /// The zone in which hours and days of KPIs begin.
    pub zone: Zone,
    /// The name of this sensor.
    pub sensor: String,
    /// The register of warrants; `None` if the configuration names none.
    pub warrants: Option<Warrants>,
}

/// The register of warrants, which officers and auditors use by the page.
#[derive(Clone)]
pub struct Warrants {
    /// Its directory.
    pub register: PathBuf,
    /// Its master key.
    pub key: RegisterKey,
    /// What a warrant has given; `None` if nothing is intercepted here.
    pub product: Option<ProductOf>,
}

/// Reads what the service says that a warrant has given; none if it says nothing of it. It blocks.
pub type ProductOf = Arc<dyn Fn(&Warrant) -> anyhow::Result<Option<WarrantProduct>> + Send + Sync>;

/// What a warrant has given since the service started.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct WarrantProduct {
    /// When the service started.
    pub since_us: u64,
    /// When it said so.
    pub at_us: u64,
    /// Events.
    pub events: u64,
    /// Packets.
    pub packets: u64,
    /// Their octets.
    pub octets: u64,
    /// Packets that had passed before it was known that they are its own.
    pub recalled: u64,
    /// How far back frames are remembered; null if none are.
    pub remembers_ms: Option<u64>,
    /// How often somebody became a target before what is remembered.
    pub remembered_too_little: u64,
    /// Packets of shared addresses, without ports: not given.
    pub unattributed: u64,
    /// Packets, given as far as they were captured.
    pub cut: u64,
    /// Sessions, calls and packets that were too many at once to be followed.
    pub dropped: u64,
    /// Frames of anybody for which the service was too slow: some of them may be missing.
    pub lost: u64,
    /// PDUs and frames for which the disk had no room.
    pub unwritten: u64,
    /// PDUs for which the buffer of the mediation function had no room: files have them.
    pub undelivered: u64,
    /// Why nothing is delivered, where that is so.
    pub not_delivered: Option<String>,
    /// Interfaces of its mediation function.
    pub functions: Vec<WarrantFunction>,
    /// Sniffers elsewhere that give its content.
    pub sniffers: Vec<WarrantSniffer>,
}

/// What a sniffer elsewhere has given since it started.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct WarrantSniffer {
    /// Its name.
    pub name: String,
    /// Whether there is a connection.
    pub is_connected: bool,
    /// How long ago the packets are that it has looked at last.
    pub behind_ms: u64,
    /// Packets.
    pub packets: u64,
    /// Their octets.
    pub octets: u64,
    /// Frames of anybody for which it was too slow, or which found no room while it did not hear the probe.
    pub lost: u64,
    /// How often it is not known what happened while it did not hear the probe.
    pub gaps: u64,
}

/// An interface of a mediation function.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct WarrantFunction {
    /// The agency, and `hi2` or `hi3`.
    pub name: String,
    /// Whether there is a connection.
    pub is_connected: bool,
    /// PDUs whose arrival was confirmed.
    pub arrived: u64,
    /// Octets that wait.
    pub waiting: u64,
}

/// Answers AI assistants (the Model Context Protocol). Handed in by the program: this crate does not know the
/// protocol.
pub trait Assistants: Send + Sync {
    /// Answers a JSON-RPC message of a person; none to a notification. When it is dropped, the work stops.
    fn answer(&self, message: Value, person: AssistedPerson) -> AssistantAnswer;
}

/// An answer that is being made.
pub type AssistantAnswer = Pin<Box<dyn Future<Output = Option<Value>> + Send>>;

/// Whose assistant asks.
#[derive(Clone, Debug)]
pub struct AssistedPerson {
    /// The calls that exist for this person.
    pub scope: Scope,
    /// Whether messages may be seen.
    pub signalling: bool,
    /// Hides numbers; `None` shows them.
    pub tokens: Option<Tokens>,
    /// What `site:` stands for in this person's searches.
    pub sites: Vec<Site>,
}

/// Opens the recorded packets.
pub type OpenSpool = Arc<dyn Fn() -> anyhow::Result<Spool> + Send + Sync>;

/// The running daemon answers that it will not: an error of [`Daemon`] may be one of these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused(pub String);

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

/// The running daemon. Each question blocks until it is answered.
pub trait Daemon: Send + Sync {
    /// Its state: the JSON of `ringtap status --format json`, `status` in it.
    ///
    /// # Errors
    ///
    /// It does not answer.
    fn status(&self) -> anyhow::Result<Value>;

    /// What is kept, and for how long: times, limits and what becomes of the spool, without interception
    /// product.
    ///
    /// # Errors
    ///
    /// It does not answer.
    fn retention(&self) -> anyhow::Result<Value>;

    /// The rules for what is recorded, and how many calls each decided, without those that intercept.
    ///
    /// # Errors
    ///
    /// It does not answer, or records no packets ([`Refused`]).
    fn rules(&self) -> anyhow::Result<Value>;

    /// Replaces the rules by others, each with the keys of `[[keep]]`, if they are of that `version`, which
    /// [`rules`](Self::rules) tells; `is_trial` changes nothing. `{"done":VERSION}`, `{"changed":VERSION}` if
    /// they are of another one, or `{"wrong":[{"rule","key","problem"},...]}`.
    ///
    /// # Errors
    ///
    /// It does not answer, or its rules may not be changed ([`Refused`]).
    fn set_rules(&self, version: &str, rules: Vec<Value>, is_trial: bool) -> anyhow::Result<Value>;

    /// The latest calls in progress, `{"calls":[[call,[stream,...]],...],"total":N}`.
    ///
    /// # Errors
    ///
    /// It does not answer.
    fn calls(&self, most: usize) -> anyhow::Result<Value>;

    /// Records so much of a call in progress from now on: `nothing`, `signalling`, `headers` or `full`.
    ///
    /// # Errors
    ///
    /// It does not answer, or has no such call ([`Refused`]).
    fn keep(&self, call_id: &str, what: &str) -> anyhow::Result<()>;

    /// Pauses the recording of the media of a call in progress, or goes on with it.
    ///
    /// # Errors
    ///
    /// As [`keep`](Self::keep).
    fn pause(&self, call_id: &str, paused: bool) -> anyhow::Result<()>;

    /// Has the media of calls in progress written to the spool within half a second, for the next 15 s. An
    /// answer for each, in their order: `"ended"`; `{"refused":"why"}` where the sound is not recorded, or
    /// too many calls are listened to; or
    /// `{"heard":{"state":"recorded","streams":[{"src","dst","ssrc","payload_type"},...]}}`. The state may be
    /// `paused` and `pending` as well; the streams are those that were seen since somebody listens.
    ///
    /// # Errors
    ///
    /// It does not answer, or records no packets ([`Refused`]).
    fn listen(&self, call_ids: &[String]) -> anyhow::Result<Value>;

    /// Puts a call in progress on hold for a case, once it has ended.
    ///
    /// # Errors
    ///
    /// As [`keep`](Self::keep).
    fn hold(&self, call_id: &str, case: &str) -> anyhow::Result<()>;

    /// Alarms that stand, a JSON line each.
    ///
    /// # Errors
    ///
    /// It does not answer, or watches for no alarms.
    fn alarms(&self) -> anyhow::Result<String>;

    /// Marks a standing alarm as known to `by`; says what was done.
    ///
    /// # Errors
    ///
    /// It does not answer, or no alarm of that id stands ([`Refused`]).
    fn acknowledge(&self, id: &str, by: &str, comment: &str) -> anyhow::Result<String>;

    /// Tells nobody of the alarms of a rule and a subject for so many seconds, or
    /// again where it is 0; says what was done.
    ///
    /// # Errors
    ///
    /// It does not answer, or refuses ([`Refused`]).
    fn silence(
        &self,
        rule: &str,
        subject: &str,
        seconds: u64,
        by: &str,
        comment: &str,
    ) -> anyhow::Result<String>;
}
