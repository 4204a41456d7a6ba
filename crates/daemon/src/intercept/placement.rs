//! Where orders come from, and which sniffers are told of them.

use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, anyhow};
use ringtap_handover::InterceptionPoint;
use ringtap_model::Nanos;
use ringtap_remote::{Credentials, Probe, ProbeSettings, Sniffer, SnifferStatus};
use ringtap_report::time;
use ringtap_warrant::{Order, StopProof};

use super::accounts::Changes;
use super::orders::OrderBook;
use super::report::{ProductReport, SnifferFigures};
use super::told::Told;
use crate::config::Intercept;

/// Where orders come from.
pub(crate) enum Placement {
    /// A register, and the sniffers that are told of its orders, if there are any.
    Register(Box<OrderBook>, Option<Arc<Probe>>),
    /// A probe.
    Probe(Box<Told>),
}

/// What is opened before privileges are dropped.
pub(crate) enum PlacementStart {
    Alone,
    Listening { listener: TcpListener, credentials: Credentials, sniffers: Vec<String> },
    Sniffer { address: SocketAddr, name: String, credentials: Credentials },
}

impl PlacementStart {
    /// # Errors
    ///
    /// A file cannot be used, or the address not be listened on.
    pub(crate) fn open(intercept: &Intercept) -> anyhow::Result<Self> {
        if let Some(address) = intercept.probe() {
            let (name, credentials) = (intercept.probe_name().to_owned(), credentials(intercept)?);
            return Ok(Self::Sniffer { address, name, credentials });
        }
        let Some(address) = intercept.listen() else { return Ok(Self::Alone) };
        let listener = TcpListener::bind(address)
            .with_context(|| format!("[intercept] listen: cannot use {address}"))?;
        let sniffers = intercept.sniffers().to_vec();
        Ok(Self::Listening { listener, credentials: credentials(intercept)?, sniffers })
    }

    /// The port of the probe.
    pub(crate) fn port(&self) -> Option<u16> {
        match self {
            Self::Sniffer { address, .. } => Some(address.port()),
            _ => None,
        }
    }

    /// The probe that tells sniffers, where it is one.
    pub(crate) fn probe(self) -> anyhow::Result<Option<Arc<Probe>>> {
        let Self::Listening { listener, credentials, sniffers } = self else { return Ok(None) };
        let run = RandomState::new().hash_one(2).max(1);
        let settings = ProbeSettings { listener, credentials, sniffers, run, clock: time::now };
        Ok(Some(Arc::new(Probe::start(settings).context("cannot start the thread that tells sniffers")?)))
    }

    /// The side of a sniffer, where it is one.
    pub(crate) fn told(&self) -> anyhow::Result<Option<Box<Told>>> {
        let Self::Sniffer { address, name, credentials } = self else { return Ok(None) };
        let link = Sniffer::start(*address, name, credentials, time::now).context("[intercept] probe")?;
        Ok(Some(Box::new(Told::new(link))))
    }
}

/// The certificates that the keys name.
pub(crate) fn credentials(intercept: &Intercept) -> anyhow::Result<Credentials> {
    let read = |key: &str, path: &Path| {
        fs::read(path).with_context(|| format!("[intercept] {key}: cannot read `{}`", path.display()))
    };
    let authorities = read("authorities", intercept.authorities())?;
    let certificate = read("certificate", intercept.certificate())?;
    let key = ringtap_spool::secret(intercept.certificate_key()).context("[intercept] certificate_key")?;
    Credentials::from_pem(&authorities, &certificate, &key)
        .map_err(|error| anyhow!("[intercept] authorities, certificate, certificate_key: {error}"))
}

/// The point that PDUs name.
pub(crate) fn point(intercept: &Intercept) -> anyhow::Result<Option<InterceptionPoint>> {
    intercept.point().map(InterceptionPoint::new).transpose().context("[intercept] point")
}

impl Placement {
    /// The orders, if they may be others than they were; sniffers are told of them.
    pub(crate) fn look(&mut self, clock: Nanos, followed: Nanos) -> Option<&[Order]> {
        let Self::Register(book, probe) = self else { return None };
        let orders = book.look(clock, followed)?;
        if let Some(probe) = probe {
            probe.orders(orders, followed);
        }
        Some(orders)
    }

    pub(crate) fn is_sniffer(&self) -> bool {
        matches!(self, Self::Probe(_))
    }

    pub(crate) fn told(&mut self) -> Option<&mut Told> {
        match self {
            Self::Register(..) => None,
            Self::Probe(told) => Some(told),
        }
    }

    /// Up to when frames may be looked at, of those before a time.
    pub(crate) fn known(&self, until: Nanos) -> Nanos {
        match self {
            Self::Register(..) => until,
            Self::Probe(told) => until.min(told.until()),
        }
    }

    /// These networks may become a target's: sniffers keep their packets.
    pub(crate) fn soon(&self, networks: &[(IpAddr, u8)], at: Nanos) {
        if let Self::Register(_, Some(probe)) = self {
            probe.soon(networks, at);
        }
    }

    /// Everything has been followed up to that time: sniffers may rely on it.
    pub(crate) fn followed(&self, until: Nanos) {
        if let Self::Register(_, Some(probe)) = self {
            probe.followed(until);
        }
    }

    /// Records what began and ended, also at the sniffers.
    pub(crate) fn record(&mut self, mut changes: Changes, clock: Nanos) {
        match self {
            Self::Probe(told) => told.record(changes),
            Self::Register(book, probe) => {
                let stopped = probe.as_ref().map(|probe| probe.take_stopped()).unwrap_or_default();
                changes.stopped.extend(stopped.into_iter().map(|(name, stop)| {
                    let by = format!("ringtap run on {name}");
                    (stop.liid, StopProof { at: stop.at, last_content: stop.last_content, by })
                }));
                if !changes.begun.is_empty() || !changes.stopped.is_empty() {
                    book.record(changes, clock);
                }
            }
        }
    }

    /// Whether it is known which orders there are.
    pub(crate) fn is_known(&self) -> bool {
        match self {
            Self::Register(book, _) => book.is_known(),
            Self::Probe(told) => told.until() > Nanos::ZERO,
        }
    }

    /// Whether the orders can be asked for.
    pub(crate) fn is_usable(&self) -> bool {
        match self {
            Self::Register(book, _) => book.is_usable(),
            Self::Probe(told) => told.is_connected(),
        }
    }

    pub(crate) fn orders(&self) -> &[Order] {
        match self {
            Self::Register(book, _) => book.orders(),
            Self::Probe(told) => told.orders(),
        }
    }

    /// How often it was not known what happened since the probe was last heard; of a probe, how many sessions
    /// are not told to sniffers that come later.
    pub(crate) fn gaps(&self) -> u64 {
        match self {
            Self::Register(_, probe) => probe.as_ref().map_or(0, |probe| probe.dropped()),
            Self::Probe(told) => told.gaps(),
        }
    }

    /// How the sniffers stand.
    pub(crate) fn sniffers(&self, clock: Nanos) -> Vec<SnifferFigures> {
        let Self::Register(_, Some(probe)) = self else { return Vec::new() };
        probe.sniffers().into_iter().map(|status| figures(status, clock)).collect()
    }
}

fn figures(status: SnifferStatus, clock: Nanos) -> SnifferFigures {
    let report = status.last.report.and_then(|report| serde_json::from_value::<ProductReport>(report).ok());
    SnifferFigures {
        name: status.name,
        is_connected: status.is_connected,
        connections: status.connections,
        restarts: status.restarts,
        unconfirmed: status.unconfirmed,
        slowest_us: status.slowest.micros(),
        clocks_apart_us: status.clocks_apart.map(Nanos::micros),
        behind_ms: clock.since(Nanos(status.last.followed_ns)).0 / 1_000_000,
        report: report.map(Box::new),
    }
}
