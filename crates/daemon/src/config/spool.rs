//! `[spool]`: packets of calls, on disk.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ringtap_model::{LinkType, Nanos};
use ringtap_spool::{MasterKey, Signer};
use serde::{Deserialize, Serialize};

use super::key::{Bounds, GIB, HOUR, MIB, MINUTE, SECOND, section};
use super::values::{Compression, HeaderField, KeepScope, Size, Span};

section! {
    /// Packets of calls on disk, for `ringtap export`. Off until a directory is named.
    #[name = "spool"]
    pub(crate) struct Spool {
        /// Directory of the segments: ordinary capture files, which Wireshark opens, each with an index
        /// beside it. Empty records no packets.
        #[accepts = "a path, such as \"/var/lib/ringtap/spool\", or \"\" for none"]
        directory: PathBuf = PathBuf::new(),
        /// What is recorded of every call, where there are no [[keep]] rules: `nothing`; its `signalling`;
        /// also the `headers` of its media, without payload, which is about a quarter of the space; or all of
        /// it, `full`. `everything` also records every other frame that passes.
        #[live = true]
        pub(crate) keep: KeepScope = KeepScope::Full,
        /// File in which the daemon keeps the recording rules once they are changed in the console, in a
        /// directory that it may write to and that holds nothing else. Until the first change, and where this
        /// is empty, the [[keep]] rules of the configuration hold; after it, those without `product` have no
        /// effect.
        #[accepts = "a path, such as \"/var/lib/ringtap/rules/rules.toml\", or \"\" for none"]
        rules: PathBuf = PathBuf::new(),
        /// Memory of each worker in which packets wait to be gathered and written. More memory makes longer
        /// pieces on the disk (52,000 calls need 1 GiB for pieces of 8 KiB) and bridges longer pauses of the
        /// disk without loss.
        #[bounds = Bounds::between(MIB, 1024 * GIB)]
        memory: Size = Size(256 << 20),
        /// Longest time that a packet waits in memory: what a power cut may lose, and how late `ringtap
        /// export` sees a call.
        #[bounds = Bounds::between(SECOND, MINUTE)]
        age: Span = Span(Nanos::from_secs(10)),
        /// Memory of each worker for packets of calls for which no rule can decide yet whether they are
        /// recorded: a rule that asks for the answer or the codec still has the call from its INVITE. When it
        /// is full, the oldest packets are lost.
        #[bounds = Bounds::between(MIB, 64 * GIB)]
        undecided: Size = Size(64 << 20),
        /// What the legs of a call have in common where each has its own Call-ID, for `share` of [[keep]]:
        /// the first of these header fields that the first message has, else its Call-ID. `numbers` is the
        /// two numbers and the minute, for systems that pass nothing on: legs on both sides of a full minute
        /// are then two calls.
        #[live = true]
        #[accepts = "a list of header names, such as [\"Session-ID\", \"X-CID\"], and \"numbers\""]
        pub(crate) legs: Vec<String> = vec!["Session-ID".to_owned()],
        /// Secret from which the calls of a `share` are chosen, so that nobody outside can tell which they
        /// are. Sensors with the same secret choose the same calls. Empty chooses another at each start,
        /// except for files that are replayed.
        #[live = true]
        #[accepts = "a text, such as \"a secret of our own\""]
        pub(crate) share_key: String = String::new(),
        /// Digits with which a party pauses the recording of media, in calls whose rule has `may_pause`.
        /// Empty is none.
        #[live = true]
        #[accepts = "digits of a telephone, such as \"*7\""]
        pub(crate) pause_digits: String = String::new(),
        /// Digits with which a party resumes the recording. Where they are the same as those for the pause,
        /// they do both in turn.
        #[live = true]
        #[accepts = "digits of a telephone, such as \"*8\""]
        pub(crate) resume_digits: String = String::new(),
        /// A message of the call with this header field pauses the recording, where its rule has `may_pause`.
        #[live = true]
        #[accepts = "a header field and its value, such as \"X-Recording: off\", or \"\" for none"]
        pub(crate) pause_header: HeaderField = HeaderField::default(),
        /// A message of the call with this header field resumes the recording.
        #[live = true]
        #[accepts = "a header field and its value, such as \"X-Recording: on\", or \"\" for none"]
        pub(crate) resume_header: HeaderField = HeaderField::default(),
        /// Calls in progress that may be listened to at once, in the console: their media are written within
        /// half a second. 0 permits none.
        #[live = true]
        #[bounds = Bounds::between(0, 200)]
        pub(crate) listeners: usize = 64,
        /// A segment is closed after this long.
        #[bounds = Bounds::between(SECOND, HOUR)]
        segment: Span = Span(Nanos::from_secs(60)),
        /// A segment is closed when it has this many bytes.
        #[bounds = Bounds::between(MIB, 1024 * GIB)]
        segment_size: Size = Size(4 << 30),
        /// Compress recorded packets with `zstd`: signalling to a third, media by a quarter or more. Other
        /// programs cannot read the packets of such a segment; `ringtap export` can.
        compress: Compression = Compression::None,
        /// File of the master key under which recorded packets are encrypted: 64 hex digits, which `ringtap
        /// key --seal` makes, readable by its owner alone. Empty encrypts nothing.
        #[accepts = "a path, such as \"/etc/ringtap-keys/seal.key\", or \"\" for none"]
        seal: PathBuf = PathBuf::new(),
        /// Command that prints the master key, in place of `seal`. The shell runs it once, at the start,
        /// before the program drops its privileges.
        #[accepts = "a command, such as \"vault kv get -field=key ringtap/seal\", or \"\" for none"]
        seal_command: String = String::new(),
        /// File of the Ed25519 key that signs each segment when it is closed, for `ringtap verify`; `ringtap
        /// key --sign` makes one. Needs `seal` or `seal_command`. Empty signs nothing.
        #[accepts = "a path, such as \"/etc/ringtap-keys/sign.pem\", or \"\" for none"]
        sign: PathBuf = PathBuf::new(),
        /// File to which the heads of the signed chains are appended once an hour and at the end, for
        /// `ringtap verify --head`: on another disk, or one that another machine collects. Empty is none.
        #[accepts = "a path, such as \"/mnt/notary/ringtap.heads\", or \"\" for none"]
        pub(crate) heads: PathBuf = PathBuf::new(),
        /// Socket of the system's log, to which the heads are sent as well (RFC 5424, facility 13). Empty is
        /// none.
        #[accepts = "a path, such as \"/dev/log\", or \"\" for none"]
        pub(crate) syslog: PathBuf = PathBuf::new(),
    }
}

/// The keys of the spool.
#[derive(Clone, Debug, Default)]
pub(crate) struct Secrets {
    pub(crate) seal: Option<MasterKey>,
    /// Signs segments and the deletion log.
    pub(crate) sign: Option<Arc<Signer>>,
}

/// Where the keys are; empty texts and paths are none.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct KeyFiles {
    pub(crate) seal: PathBuf,
    pub(crate) seal_command: String,
    pub(crate) sign: PathBuf,
}

impl Spool {
    /// The file of the rules that the console changes, if there may be one.
    pub(crate) fn rules_file(&self) -> Option<&Path> {
        (!self.rules.as_os_str().is_empty()).then_some(&*self.rules)
    }

    /// Directory of the spool; None if packets are not recorded.
    pub(crate) fn directory(&self) -> Option<&Path> {
        (!self.directory.as_os_str().is_empty()).then_some(&*self.directory)
    }

    /// Where the keys are; None if nothing is encrypted or signed.
    pub(crate) fn key_files(&self) -> Option<KeyFiles> {
        let files = KeyFiles {
            seal: self.seal.clone(),
            seal_command: self.seal_command.clone(),
            sign: self.sign.clone(),
        };
        (self.directory().is_some() && (self.is_sealed() || self.is_signed())).then_some(files)
    }

    /// Longest time that a packet waits in memory after its call is decided.
    pub(crate) fn age(&self) -> Nanos {
        self.age.0
    }

    /// How long after a packet a failed write may be reported: until its segment is closed, and a margin.
    pub(crate) fn late(&self) -> Duration {
        Duration::from_nanos(self.age.0.0 + 2 * self.segment.0.0) + Duration::from_secs(10)
    }

    /// Bytes of memory for packets of calls whose decision is pending.
    pub(crate) fn undecided(&self) -> usize {
        usize::try_from(self.undecided.0).unwrap_or(usize::MAX)
    }

    /// Settings of a worker's writer of so many owners, for frames of that link type. `wait`: the writer may
    /// block, as in a replay.
    pub(crate) fn settings(
        &self,
        worker: usize,
        link: LinkType,
        owners: usize,
        wait: bool,
        secrets: &Secrets,
    ) -> Option<ringtap_spool::WriterSettings> {
        Some(ringtap_spool::WriterSettings {
            worker: u16::try_from(worker).unwrap_or(u16::MAX),
            link,
            memory: usize::try_from(self.memory.0).unwrap_or(usize::MAX),
            owners,
            blocks: BLOCKS.min(usize::try_from(self.memory.0 / BLOCK_SHARE).unwrap_or(usize::MAX)),
            age: self.age.0,
            span: self.segment.0,
            bytes: self.segment_size.0,
            compress: (self.compress == Compression::Zstd).then_some(LEVEL),
            seal: secrets.seal.clone(),
            sign: secrets.sign.clone(),
            wait,
            ..ringtap_spool::WriterSettings::new(self.directory()?.to_owned())
        })
    }
}

impl Spool {
    /// Whether what is recorded is encrypted.
    pub(super) fn is_sealed(&self) -> bool {
        !self.seal.as_os_str().is_empty() || !self.seal_command.is_empty()
    }

    /// Whether two ways to the master key are named.
    pub(super) fn has_two_seals(&self) -> bool {
        !self.seal.as_os_str().is_empty() && !self.seal_command.is_empty()
    }

    /// Whether segments are signed.
    pub(super) fn is_signed(&self) -> bool {
        !self.sign.as_os_str().is_empty()
    }
}

/// Most blocks on their way to the disk: with 2 MiB each, they bridge 48 MiB.
const BLOCKS: usize = 24;
/// Bytes of `memory` for each of them, so that a small memory has few.
const BLOCK_SHARE: u64 = 8 << 20;
/// Level of zstd: faster than a disk; higher levels gain little.
const LEVEL: i32 = 1;
