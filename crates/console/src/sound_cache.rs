//! Sound that was decoded lately, so that a player that asks for one range after another has it decoded once.

use std::fs::{self, File};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use ringtap_model::Id;
use ringtap_spool::DELETION_LOG;
use serde_json::Value;

/// The sound of a call: a file without a name, which ends with the last who reads it.
#[derive(Debug)]
pub(crate) struct Sound {
    pub(crate) wav: File,
    pub(crate) length: u64,
    /// The waveform, as JSON.
    pub(crate) peaks: Vec<u8>,
    /// Where packets are missing, as JSON.
    pub(crate) marks: Value,
    /// What had been erased from the spool when it was decoded.
    pub(crate) erased: Erased,
}

/// The state of a spool's log of what was erased on purpose: sound from before an entry may be that of a call
/// that was made unreadable since, whose record stays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Erased {
    /// Bytes of the log, into which each order is entered before it is carried out.
    length: u64,
}

impl Erased {
    /// That of a spool now; an order has no entry yet where there is no log.
    pub(crate) fn of(spool: Option<&Path>) -> Self {
        let log = spool.and_then(|spool| fs::metadata(spool.join(DELETION_LOG)).ok());
        Self { length: log.map_or(0, |log| log.len()) }
    }
}

/// A few calls, the latest first.
#[derive(Debug, Default)]
pub(crate) struct SoundCache(Mutex<Vec<(Id, Arc<Sound>)>>);

impl SoundCache {
    /// The sound of a call, if it was decoded lately, and nothing was erased since.
    pub(crate) fn of(&self, call: &Id, erased: Erased) -> Option<Arc<Sound>> {
        let mut sounds = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sounds.retain(|(_, sound)| sound.erased == erased);
        let place = sounds.iter().position(|(id, _)| id == call)?;
        let entry = sounds.remove(place);
        let sound = Arc::clone(&entry.1);
        sounds.insert(0, entry);
        Some(sound)
    }

    /// Remembers it, instead of the one that nobody asked for the longest.
    pub(crate) fn add(&self, call: Id, sound: Arc<Sound>) {
        let mut sounds = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sounds.retain(|(id, _)| *id != call);
        sounds.insert(0, (call, sound));
        let mut bytes = 0;
        sounds.retain(|(_, sound)| {
            bytes += sound.length;
            bytes <= MOST_BYTES
        });
        sounds.truncate(MOST);
    }
}

/// Most calls.
const MOST: usize = 16;
/// Most bytes of all of them.
const MOST_BYTES: u64 = 1 << 30;
