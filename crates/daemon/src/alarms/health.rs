//! Figures of this monitor itself, for alarms.

use std::path::PathBuf;
use std::time::Instant;

use ringtap_alarm::{Event, HealthFigure};
use ringtap_model::Nanos;

use crate::shared_status::Snapshot;

/// What was known the last time.
#[derive(Clone, Copy, Debug, Default)]
struct Before {
    received: u64,
    lost: u64,
    refused: u64,
    dropped: u64,
}

/// Takes the figures once a second.
pub(crate) struct Health {
    /// Directories whose file systems are looked at.
    directories: Vec<PathBuf>,
    before: Option<(Instant, Before)>,
}

impl Health {
    pub(crate) fn new(directories: Vec<PathBuf>) -> Self {
        Self { directories, before: None }
    }

    /// The figures since the last time, as events of `time`; none the first time.
    pub(crate) fn events(&mut self, snapshot: &Snapshot, time: Nanos) -> Vec<Event> {
        let drops = snapshot.drops();
        let now = Before {
            received: snapshot.sum(|report| report.tap.received),
            lost: drops.nic + drops.ring + drops.worker,
            refused: drops.tables + drops.reassembly,
            dropped: drops.store + drops.spool,
        };
        let Some((at, before)) = self.before.replace((snapshot.at, now)) else { return Vec::new() };
        let since = |pick: fn(&Before) -> u64| pick(&now).saturating_sub(pick(&before));
        let (received, lost) = (since(|of| of.received), since(|of| of.lost));
        let seconds = snapshot.at.duration_since(at).as_secs_f64().max(1e-3);
        let mut found = vec![
            (HealthFigure::CaptureLoss, String::new(), 100.0 * lost as f64 / (received + lost).max(1) as f64),
            (HealthFigure::PacketRate, String::new(), received as f64 / seconds),
            (HealthFigure::RecordsDropped, String::new(), since(|of| of.dropped) as f64),
            (HealthFigure::Refused, String::new(), since(|of| of.refused) as f64),
            (HealthFigure::ClockStep, String::new(), snapshot.clock_step.unsigned_abs() as f64 * 1e3),
        ];
        for directory in &self.directories {
            // A directory that is away is reported by who writes to it.
            if let Ok(space) = rustix::fs::statvfs(directory) {
                let used = space.f_blocks.saturating_sub(space.f_bfree);
                // As df counts: of what users may have.
                let whole = used.saturating_add(space.f_bavail).max(1);
                let share = 100.0 * used as f64 / whole as f64;
                found.push((HealthFigure::DiskUsed, directory.display().to_string(), share));
            }
        }
        let event = |(figure, subject, value): (_, String, _)| Event::Health {
            time,
            figure,
            subject: subject.into(),
            value,
        };
        found.into_iter().map(event).collect()
    }
}
