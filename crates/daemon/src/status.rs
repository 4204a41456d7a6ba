//! The status line, and log lines about losses. `docs/manual/run.md` explains each name.

use std::fmt::Write as _;
use std::time::Duration;

use ringtap_engine::Counters;

use super::shared_status::{SharedStatus, Snapshot};

/// The figures of the last line, from which the next line computes rates.
#[derive(Debug)]
pub(crate) struct StatusLine {
    last: Snapshot,
}

impl StatusLine {
    pub(crate) fn new(first: Snapshot) -> Self {
        Self { last: first }
    }

    /// The line for the time since the last line.
    pub(crate) fn line(&mut self, shared_status: &SharedStatus) -> String {
        let now = shared_status.snapshot();
        let line = line(&self.last, &now);
        self.last = now;
        line
    }
}

fn line(before: &Snapshot, now: &Snapshot) -> String {
    let seconds = now.at.saturating_duration_since(before.at).as_secs_f64().max(1e-3);
    let rate = |figure: fn(&super::shared_status::WorkerReport) -> u64| {
        now.sum(figure).saturating_sub(before.sum(figure)) as f64 / seconds
    };
    let calls: usize = now.reports.iter().map(|report| report.under_way.0).sum();
    let mut line = format!(
        "calls={calls}/{} new={:.1}/s sip={:.0}/{:.0}/s rtp={:.0}/{:.0}/s rate={:.1}Mb/s packets={:.0}/s \
        ring={:.0}%",
        now.sum(|report| report.begun),
        rate(|report| report.begun),
        rate(|report| report.counters.sip - report.counters.sip_bad.min(report.counters.sip)),
        rate(|report| report.counters.sip),
        rate(|report| report.counters.rtp - report.counters.rtp_unconfirmed.min(report.counters.rtp)),
        rate(|report| report.counters.rtp),
        rate(|report| report.tap.bytes) * 8.0 / 1e6,
        rate(|report| report.tap.received),
        now.reports.iter().map(|report| report.tap.fill).fold(0.0, f32::max) * 100.0,
    );
    for ((place, total), (_, earlier)) in now.drops().places().into_iter().zip(before.drops().places()) {
        // Writing to a String cannot fail.
        let _ = match total.saturating_sub(earlier) {
            0 => write!(line, " drop_{place}={total}"),
            new => write!(line, " drop_{place}={total}(+{new})"),
        };
    }
    line.push_str(&spool(before, now, seconds));
    let cpus: Vec<String> = now
        .reports
        .iter()
        .zip(&before.reports)
        .map(|(now, before)| {
            let busy = now.cpu.saturating_sub(before.cpu).as_secs_f64();
            let passed = match (now.reported_at, before.reported_at) {
                (Some(now), Some(before)) if now > before => now - before,
                _ => Duration::from_secs_f64(seconds),
            };
            format!("{:.0}%", busy / passed.as_secs_f64() * 100.0)
        })
        .collect();
    let _ = write!(
        line,
        " store_queue={} outbox={} cpu={} rss={}MiB time={}",
        now.store.waiting,
        now.store.outbox_records,
        cpus.join(","),
        now.resident >> 20,
        now.timestamps(),
    );
    if now.clock_step != 0 {
        line.push_str(" clock=STEPPED");
    }
    line
}

/// The part about recording; empty without a spool.
fn spool(before: &Snapshot, now: &Snapshot, seconds: f64) -> String {
    let Some(spool_status) = &now.spool else { return String::new() };
    let kept = |snapshot: &Snapshot| {
        snapshot.sum(|report| report.recording.map_or(0, |figures| figures.counts.packets))
    };
    let rate = match spool_status.stopped {
        true => "STOPPED".to_owned(),
        false => format!("{:.0}/s", kept(now).saturating_sub(kept(before)) as f64 / seconds),
    };
    let [here @ .., far] = spool_status.bytes;
    let bytes: u64 = here.iter().flatten().sum::<u64>() + spool_status.held_bytes;
    let far = match (far.iter().sum::<u64>(), spool_status.is_far_lost) {
        (_, true) => " spool_far=AWAY".to_owned(),
        (0, false) => String::new(),
        (far, false) => format!(" spool_far={}MiB", far >> 20),
    };
    let [space, ..] = spool_status.space;
    let free = space.map_or(0.0, |space| space.free as f64 * 100.0 / space.total.max(1) as f64);
    format!(" spool={rate} spool_size={}MiB spool_free={free:.1}%{far}", bytes >> 20)
}

/// Detects when losses begin and end.
#[derive(Debug, Default)]
pub(crate) struct Losses {
    /// By place: how many there were.
    last: Vec<u64>,
    /// By place: the loss since it began, and the checks without loss since.
    going_on: Vec<Option<(u64, u32)>>,
}

impl Losses {
    /// The log lines after another check of all places, which are the same each time.
    pub(crate) fn check(&mut self, places: &[(&'static str, u64)]) -> Vec<String> {
        let mut lines = Vec::new();
        self.last.resize(places.len(), 0);
        self.going_on.resize(places.len(), None);
        let before = self.last.iter_mut().zip(&mut self.going_on);
        for (&(place, total), (last, going_on)) in places.iter().zip(before) {
            let new = total.saturating_sub(std::mem::replace(last, total));
            match going_on {
                None if new > 0 => {
                    lines.push(format!("drops began at {place}: {new}; {}", remedy(place)));
                    *going_on = Some((new, 0));
                }
                Some((lost, quiet)) if new > 0 => {
                    *lost += new;
                    *quiet = 0;
                }
                Some((lost, quiet)) => {
                    *quiet += 1;
                    if *quiet >= QUIET {
                        lines.push(format!("drops ended at {place}: {lost} since they began"));
                        *going_on = None;
                    }
                }
                None => {}
            }
        }
        lines
    }
}

/// What tables of the engine gave up for something newer, by the name of the counter.
pub(crate) fn evictions(counters: &Counters) -> Vec<(&'static str, u64)> {
    let is_eviction = |(name, _): &(&str, u64)| name.ends_with("_evicted") || *name == "codecs_refused";
    counters.drops().into_iter().filter(is_eviction).collect()
}

/// Checks without loss after which a loss has ended.
const QUIET: u32 = 5;

/// What to do about losses at a place.
fn remedy(place: &str) -> &'static str {
    match place {
        "nic" => "the network card had no buffer free: `ringtap doctor` checks its ring and its queues",
        "ring" => {
            "a worker was late: set a larger [capture] ring, more workers, or pin each to a CPU of its own"
        }
        "worker" => {
            "messages between workers found their queue full: use fewer workers, or give them more CPU"
        }
        "tables" => "a ceiling of [engine] is reached: raise the one that `ringtap_engine_drops_total` names",
        "reassembly" => {
            "too much is being reassembled at once: raise max_fragmented or max_stream_bytes in [engine]"
        }
        "calls_evicted" => {
            "calls without an answer give way to newer ones: somebody floods with INVITE, or raise max_calls \
            or memory in [engine]"
        }
        "registrations_evicted" => {
            "registrations without an answer give way to newer ones: somebody floods with REGISTER, or raise \
            max_registrations or memory in [engine]"
        }
        "messages_evicted" => {
            "SIP transactions outside of calls are given up early: somebody floods with MESSAGE, OPTIONS or \
            the like, or raise max_messages or memory in [engine]"
        }
        "connections_evicted" => {
            "TCP connections give way to newer ones: somebody opens many or leaves messages unfinished, or \
            raise max_connections or memory in [engine]"
        }
        "fragments_evicted" | "sctp_evicted" => {
            "datagrams that are not whole give way to newer ones: somebody sends fragments only, or raise \
            max_fragmented or memory in [engine]"
        }
        "codecs_evicted" => "codec names give way to newer ones: somebody announces invented names",
        "codecs_refused" => "streams with thousands of invented codec names leave no place for others",
        "spool" => "packets of calls could not be recorded: the log lines of `spool` say why",
        _ => "the disk is too slow for the records: the log lines of `store` say why",
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use ringtap_capture::live::{self, Timestamps};
    use ringtap_store::Counts;

    use super::*;
    use crate::shared_status::{Drops, WorkerReport};

    #[test]
    fn one_line_with_stable_names() {
        let start = Instant::now();
        let report = |scale: u64, seconds| WorkerReport {
            counters: Counters {
                sip: 60 * scale,
                sip_bad: 10 * scale,
                rtp: 900 * scale,
                rtp_unconfirmed: 50 * scale,
                calls_refused: scale,
                ..Counters::default()
            },
            under_way: (4, 8),
            begun: 5 * scale,
            cpu: Duration::from_millis(1_000 * scale),
            tap: live::TapCounters {
                received: 1_000 * scale,
                bytes: 214_000 * scale,
                ring_drops: 10 * (scale - 1),
                fill: 0.25,
                ..live::TapCounters::default()
            },
            timestamps: Some(Timestamps::Kernel),
            reported_at: Some(start + Duration::from_secs(seconds)),
            ..WorkerReport::default()
        };
        let snapshot = |scale, seconds| Snapshot {
            radius: None,
            availability: None,
            clock_step: 0,
            at: start + Duration::from_secs(seconds),
            reports: vec![report(scale, seconds), report(scale, seconds)],
            store: Counts { waiting: 3, outbox_records: 7, ..Counts::default() },
            spool: None,
            cleared: 0,
            amended: 0,
            hooks: Vec::new(),
            notices: crate::notices::NoticeFigures::default(),
            resident: 212 << 20,
        };
        assert_eq!(
            line(&snapshot(1, 0), &snapshot(3, 10)),
            "calls=8/30 new=2.0/s sip=20/24/s rtp=340/360/s rate=0.7Mb/s packets=400/s ring=25% drop_nic=0 \
             drop_ring=40(+40) drop_worker=0 drop_tables=6(+4) drop_reassembly=0 drop_store=0 drop_spool=0 \
             store_queue=3 outbox=7 \
             cpu=20%,20% rss=212MiB time=kernel"
        );
    }

    #[test]
    fn losses_are_told_when_they_begin_and_end() {
        let mut losses = Losses::default();
        let ring = |ring| Drops { ring, ..Drops::default() }.places();
        assert!(losses.check(&ring(0)).is_empty());
        let lines = losses.check(&ring(7));
        assert!(lines.len() == 1 && lines[0].starts_with("drops began at ring: 7; "), "{lines:?}");
        assert!(losses.check(&ring(9)).is_empty());
        let lines: Vec<_> = (0..QUIET + 3).flat_map(|_| losses.check(&ring(9))).collect();
        assert_eq!(lines, ["drops ended at ring: 9 since they began"]);
        assert_eq!(losses.check(&ring(10)).len(), 1);
    }

    #[test]
    fn each_table_that_evicts_has_a_line_of_its_own() {
        let counters = Counters { calls_evicted: 3, sctp_evicted: 1, frames: 9, ..Counters::default() };
        let mut losses = Losses::default();
        let lines = losses.check(&evictions(&counters));
        assert_eq!(lines.len(), 2);
        assert!(
            lines[0].starts_with("drops began at calls_evicted: 3; calls without an answer"),
            "{lines:?}"
        );
        assert!(evictions(&counters).iter().all(|(place, _)| remedy(place) != remedy("store")));
    }
}
