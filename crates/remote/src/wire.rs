//! What goes over the connection: messages in JSON, each behind its length in four bytes.

use std::io;
use std::net::IpAddr;

use ringtap_model::Nanos;
use ringtap_warrant::Liid;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncReadExt};

use crate::change::Change;

/// The first message of a sniffer.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Hello {
    pub(crate) version: u32,
    /// The run of the probe that it heard last; 0 for none.
    pub(crate) run: u64,
    /// The last change of that run that it has.
    pub(crate) has: u64,
}

/// What a probe sends.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum FromProbe {
    /// The first message: which run it is.
    Welcome { version: u32, run: u64 },
    /// Something changed.
    Change(Change),
    /// Addresses that may become a target's, with the time of the packet that says so: before it is known, so
    /// that their packets are kept.
    Soon { networks: Vec<(IpAddr, u8)>, at_ns: u64 },
    /// Every change before that time has been told; and the probe's clock.
    Followed { until_ns: u64, clock_ns: u64 },
}

/// What a sniffer confirms.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Confirmation {
    /// The last change that it has applied.
    pub number: u64,
    /// Up to when it has looked at packets, in nanoseconds since 1970.
    pub followed_ns: u64,
    /// Its clock, likewise.
    pub clock_ns: u64,
    /// Orders that it has stopped since the last confirmation.
    #[serde(default)]
    pub stopped: Vec<Stop>,
    /// What it has given, for officers.
    #[serde(default)]
    pub report: Option<serde_json::Value>,
}

/// An order was stopped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stop {
    /// Which.
    pub liid: Liid,
    /// When.
    #[serde(rename = "at_us")]
    pub at: Nanos,
    /// The time of its last content.
    #[serde(rename = "last_content_us")]
    pub last_content: Option<Nanos>,
}

/// A message as it goes over the connection.
pub(crate) fn framed(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; 4];
    serde_json::to_writer(&mut bytes, message)?;
    let len = u32::try_from(bytes.len() - 4).map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
    bytes[..4].copy_from_slice(&len.to_be_bytes());
    Ok(bytes)
}

/// Reads one of at most so many bytes.
pub(crate) async fn read<M: DeserializeOwned>(
    from: &mut (impl AsyncRead + Unpin),
    most: u32,
) -> io::Result<M> {
    let len = from.read_u32().await?;
    if len > most {
        return Err(invalid(format_args!("a message of {len} bytes, and {most} is the most")));
    }
    // What is not sent takes no memory.
    let mut bytes = Vec::new();
    if from.take(len.into()).read_to_end(&mut bytes).await? < len as usize {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    serde_json::from_slice(&bytes).map_err(|error| invalid(format_args!("no message of ours: {error}")))
}

pub(crate) fn invalid(problem: std::fmt::Arguments<'_>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, problem.to_string())
}

/// Of what goes over the connection.
pub(crate) const VERSION: u32 = 1;
/// Bytes of a message of a probe: all orders are one.
pub(crate) const MOST_OF_PROBE: u32 = 1 << 30;
/// Bytes of a message of a sniffer.
pub(crate) const MOST_OF_SNIFFER: u32 = 64 << 20;
/// The same before it is known who it is.
pub(crate) const MOST_AT_FIRST: u32 = 4096;
