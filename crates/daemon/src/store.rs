//! The store's settings, and its events as log lines.

use ringtap_model::{Amendment, Call};
use ringtap_report::text::counted;
use ringtap_stir::Checker;
use ringtap_store::{Annotate, StoreEvent, StoreSettings};

use crate::config::Config;

pub(crate) fn settings(config: &Config) -> StoreSettings {
    StoreSettings {
        directory: config.store.directory.clone(),
        queue: config.store.queue,
        cache: usize::try_from(config.store.cache.0).unwrap_or(usize::MAX),
        outbox: config.store.outbox.clone(),
        outbox_size: config.store.outbox_size.0,
        journal: config.journal.enabled.then(|| config.journal.path.clone()),
        retain: config.store.retained(),
    }
}

/// Checks the Identity headers of calls as their records are stored.
pub(crate) struct Identities(pub(crate) Checker);

impl Annotate for Identities {
    fn call(&mut self, call: &mut Call) -> Vec<Amendment> {
        self.0.check(call);
        Vec::new()
    }
}

/// Logs an event of the store.
pub(crate) fn log_event(event: StoreEvent) {
    match event {
        StoreEvent::Recovered { calls, waiting, cut } => {
            let calls = counted(calls as u64, "call");
            let mut line =
                format!("the previous run did not end cleanly: {calls} recovered from its journal");
            if waiting > 0 {
                line.push_str(&format!(", {} in the outbox", counted(waiting, "record")));
            }
            if cut > 0 {
                line.push_str(&format!(", {} of an incomplete entry discarded", counted(cut, "byte")));
            }
            log::warn!(target: "store", "{}", line);
        }
        StoreEvent::Migrating(migration) if migration.unreadable > 0 => {
            log::warn!(target: "store", "{migration}")
        }
        StoreEvent::Migrating(migration) => log::info!(target: "store", "{migration}"),
        StoreEvent::JournalTooLarge { refused } => log::error!(
            target: "journal",
            "the journal has more than 512 MiB of calls in progress: {refused} entries left out; find out \
            who wrote it, or lower [engine] max_calls",
        ),
        StoreEvent::Unavailable(error) => {
            log::error!(target: "store", "{error}; records wait until the store works again")
        }
        StoreEvent::Available { after, waiting } => log::info!(
            target: "store",
            "the day files accept records again after {:.1} s; {} in the outbox",
            after.as_secs_f64(),
            counted(waiting, "record"),
        ),
        StoreEvent::Behind => log::warn!(
            target: "store",
            "the day files are slower than records arrive: some records take the outbox",
        ),
        StoreEvent::CaughtUp => {
            log::info!(target: "store", "the outbox is empty: the day files have caught up")
        }
        StoreEvent::OutboxFailed(error) => {
            log::error!(target: "store", "the outbox cannot be written either: {error}; records wait in \
            memory");
        }
        StoreEvent::OutboxFull => {
            log::error!(target: "store", "the outbox is full: records wait in memory, and are dropped when \
            [store] queue is full")
        }
        StoreEvent::OutboxRecovered => log::info!(target: "store", "the outbox accepts records again"),
        StoreEvent::JournalFailed(error) => {
            log::error!(target: "journal", "{error}; if ringtap is killed now, calls in progress are lost");
        }
        StoreEvent::JournalRecovered => log::info!(target: "journal", "the journal is written again"),
        StoreEvent::Dropped(records) => log::error!(
            target: "store",
            "{} lost at the end: neither the day files nor the outbox can be written, see the lines above; \
             the next start records the calls among them from the journal, as interrupted",
            counted(records, "record"),
        ),
        StoreEvent::DaysDeleted(days) => {
            let days: Vec<String> = days.iter().map(ToString::to_string).collect();
            log::info!(target: "store", "deleted day files older than [store] retain: {}", days.join(", "));
        }
        StoreEvent::DayNotDeleted(error) => {
            log::error!(target: "store", "cannot delete an old day file: {error}")
        }
        other => log::info!(target: "store", "{other:?}"),
    }
}
