//! The store: as the configuration has it, and what it says, for the operator.

use ringtap_report::text::counted;
use ringtap_store::{StoreEvent, StoreSettings};

use crate::config::Config;

pub(crate) fn settings(config: &Config) -> StoreSettings {
    StoreSettings {
        directory: config.store.directory.clone(),
        queue: config.store.queue,
        outbox: config.store.outbox.clone(),
        outbox_size: config.store.outbox_size.0,
        journal: config.journal.enabled.then(|| config.journal.path.clone()),
        retain: config.store.retain.0,
    }
}

/// What the store says, for the operator.
pub(crate) fn tell(notice: StoreEvent) {
    match notice {
        StoreEvent::Recovered { calls, waiting, cut } => {
            let calls = counted(calls as u64, "call");
            let mut line = format!("the run before did not end cleanly: {calls} taken from its journal");
            if waiting > 0 {
                line.push_str(&format!(", {} in the outbox", counted(waiting, "record")));
            }
            if cut > 0 {
                line.push_str(&format!(", {} torn at the end cut off", counted(cut, "byte")));
            }
            log::warn!(target: "store", "{}", line);
        }
        StoreEvent::Unavailable(error) => {
            log::error!(target: "store", "{error}; records wait until it works again")
        }
        StoreEvent::Available { after, waiting } => log::info!(
            target: "store",
            "works again after {:.1} s; {} to catch up",
            after.as_secs_f64(),
            counted(waiting, "record"),
        ),
        StoreEvent::Behind => log::warn!(
            target: "store",
            "slower than the records come: some go by way of the outbox",
        ),
        StoreEvent::CaughtUp => log::info!(target: "store", "caught up: the outbox is empty"),
        StoreEvent::OutboxFailed(error) => {
            log::error!(target: "store", "the outbox takes nothing either: {error}; records wait in memory");
        }
        StoreEvent::OutboxFull => {
            log::error!(target: "store", "the outbox is full: records wait in memory, then they are dropped")
        }
        StoreEvent::OutboxRecovered => log::info!(target: "store", "the outbox takes records again"),
        StoreEvent::JournalFailed(error) => {
            log::error!(target: "journal", "{error}; a kill now would forget calls under way");
        }
        StoreEvent::JournalRecovered => log::info!(target: "journal", "works again"),
        StoreEvent::DaysDeleted(days) => {
            let days: Vec<String> = days.iter().map(ToString::to_string).collect();
            log::info!(target: "store", "deleted, older than [store] retain: {}", days.join(", "));
        }
        StoreEvent::DayNotDeleted(error) => {
            log::error!(target: "store", "an old day cannot be deleted: {error}")
        }
        other => log::info!(target: "store", "{other:?}"),
    }
}
