//! Calls that the previous run left in the journal: looked for in the spool, then recorded.

use std::collections::HashSet;
use std::path::Path;
use std::thread::{self, JoinHandle};

use anyhow::Context;
use ringtap_model::{Id, Nanos};
use ringtap_recorder::recovery::RecoveredCalls;
use ringtap_report::text::counted;
use ringtap_spool::{Reader, RecordedSpans, Segment};
use ringtap_store::RecordSender;

use crate::config::Config;
use crate::far_tier::FarTier;

/// Records the calls, but for those that go on, in a thread of its own, since the spool may be large. Returns
/// None if there are none.
///
/// Call it before a worker writes: what this run records is not looked at.
pub(crate) fn record(
    calls: RecoveredCalls,
    going_on: HashSet<Id>,
    config: &Config,
    far_tier: &FarTier,
    store: RecordSender,
) -> anyhow::Result<Option<JoinHandle<()>>> {
    if calls.is_empty() {
        return Ok(None);
    }
    // Without the spool, the calls are recorded as far as the journal knows them.
    let spool = config.spool.directory().and_then(|directory| {
        let spool = segments(directory, config.retention.tier(), far_tier, &calls);
        spool.inspect_err(log_failure).ok()
    });
    let run = move || {
        let spans = match spool {
            Some((mut reader, segments)) => {
                reader.find_spans(&calls.owners(), &segments).inspect_err(log_failure).unwrap_or_default()
            }
            None => RecordedSpans::new(),
        };
        let (mut done, mut recorded) = (0, 0);
        for (call, streams) in calls.records(&spans) {
            if going_on.contains(&call.id) {
                store.recover_streams(streams);
                continue;
            }
            done += 1;
            recorded += u64::from(call.recorded_packets.is_some());
            store.recover(call, streams);
        }
        if done == 0 {
            return;
        }
        log::info!(
            target: "store",
            "{} of the previous run recorded; the spool has packets of {recorded}",
            counted(done, "call"),
        );
    };
    let thread = thread::Builder::new().name("recover".into()).spawn(run);
    thread.map(Some).context("cannot start the thread that records calls of the previous run")
}

/// The spool, and the segments of the previous run that may have packets of the calls.
fn segments(
    directory: &Path,
    tier: Option<&Path>,
    far_tier: &FarTier,
    calls: &RecoveredCalls,
) -> Result<(Reader, Vec<Segment>), ringtap_spool::Error> {
    let mut reader = Reader::open(directory)?;
    tier.iter().for_each(|tier| reader.add_dir(tier));
    far_tier.far().into_iter().for_each(|far| reader.far(far));
    let from = calls.owners().into_values().min().unwrap_or_default();
    let segments = reader.between(from, Nanos::MAX)?;
    Ok((reader, segments))
}

fn log_failure(error: &ringtap_spool::Error) {
    log::error!(
        target: "spool",
        "cannot look for what is recorded of the calls of the previous run: {error}; their records say \
         that nothing is",
    );
}
