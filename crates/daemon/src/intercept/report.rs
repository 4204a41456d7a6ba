//! What officers are told of interception as it goes.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::Context;
use serde::{Deserialize, Serialize};

/// Figures of one moment, since the start of the program. They are in a file of the product's directory,
/// which only root and the user of the service can read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProductReport {
    /// When, in microseconds since 1970.
    pub at_us: u64,
    /// When the program started, likewise.
    pub since_us: u64,
    /// Whether the register could be used; of a sniffer, whether its probe is heard.
    pub register_usable: bool,
    /// How far back frames are remembered, in milliseconds, by the worker with the least; none if no frames
    /// are.
    pub remembers_ms: Option<u64>,
    /// How often an order, session or call began before that.
    pub remembered_too_little: u64,
    /// How often a packet said that an address may become a target's, how long after it had passed the
    /// address's packets were wanted, and the longest of these times.
    #[serde(default)]
    pub activations: u64,
    /// See `activations`: the mean.
    #[serde(default)]
    pub activation_us: u64,
    /// See `activations`.
    #[serde(default)]
    pub slowest_activation_us: u64,
    /// The orders in force, and those that have just ended.
    pub orders: Vec<OrderFigures>,
    /// Interfaces of mediation functions.
    pub functions: Vec<FunctionFigures>,
    /// Of a sniffer: how often it was not known what had happened since its probe was heard last. Of a probe:
    /// sessions that sniffers that come later are not told of.
    #[serde(default)]
    pub gaps: u64,
    /// The key that verifies the manifests of its files: 64 hex digits.
    #[serde(default)]
    pub public_key: String,
    /// Sniffers elsewhere that are told of orders and sessions.
    #[serde(default)]
    pub sniffers: Vec<SnifferFigures>,
}

/// Of one sniffer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnifferFigures {
    /// As in its certificate.
    pub name: String,
    /// Whether there is a connection.
    pub is_connected: bool,
    /// How often it has connected.
    pub connections: u64,
    /// How often it was told all that holds, for want of what it had missed.
    pub restarts: u64,
    /// Changes that it has not applied.
    pub unconfirmed: u64,
    /// The longest time from a change until it was confirmed.
    pub slowest_us: u64,
    /// How far its clock is from the probe's, at most.
    pub clocks_apart_us: Option<u64>,
    /// How long ago the packets are that it has looked at last.
    pub behind_ms: u64,
    /// What it says itself.
    pub report: Option<Box<ProductReport>>,
}

/// Of one order. All of it is in files, synced, when it is told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderFigures {
    /// Which.
    pub liid: String,
    /// Events given to it.
    pub events: u64,
    /// Packets given to it.
    pub packets: u64,
    /// Their octets.
    pub octets: u64,
    /// How many of them were captured before it was known that they are its own, and remembered.
    pub recalled: u64,
    /// Packets of a shared address without ports: not given.
    pub unattributed: u64,
    /// Packets that were captured in part.
    pub cut: u64,
    /// Calls and sessions that were not followed.
    pub dropped: u64,
    /// Frames of anybody that workers could not pass on while it was in force: they may have been its own.
    pub lost: u64,
    /// PDUs and frames that could not be written into files.
    pub unwritten: u64,
    /// The newest manifest of its finished files: number, colon and SHA-256.
    #[serde(default)]
    pub manifest: Option<String>,
    /// PDUs that its mediation function did not get.
    pub undelivered: u64,
    /// Why nothing is delivered, where product is.
    pub not_delivered: Option<String>,
}

/// Of one interface of a mediation function.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionFigures {
    /// The agency, and `hi2` or `hi3`.
    pub name: String,
    /// Whether there is a connection.
    pub is_connected: bool,
    /// PDUs whose arrival was confirmed.
    pub arrived: u64,
    /// Octets that wait.
    pub waiting: u64,
}

impl ProductReport {
    /// The newest report in the directory of product; none if there was never one.
    ///
    /// # Errors
    ///
    /// It cannot be read.
    pub fn read(product: &Path) -> anyhow::Result<Option<Self>> {
        let path = product.join(NAME);
        let shown = || format!("cannot read `{}`", path.display());
        let bytes = match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            bytes => bytes.with_context(shown)?,
        };
        serde_json::from_slice(&bytes).map(Some).with_context(shown)
    }

    /// Replaces the report in the directory.
    pub(crate) fn write(&self, product: &Path) -> io::Result<()> {
        let draft = product.join(DRAFT);
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
        file.write_all(&serde_json::to_vec(self)?)?;
        fs::rename(draft, product.join(NAME))
    }
}

const NAME: &str = "report.json";
const DRAFT: &str = "report.json.new";
