//! Sound that was decoded lately, so that a player that asks for one range after another has it decoded once.

use std::fs::File;
use std::sync::{Arc, Mutex, PoisonError};

use ringtap_model::Id;
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
}

/// A few calls, the latest first.
#[derive(Debug, Default)]
pub(crate) struct SoundCache(Mutex<Vec<(Id, Arc<Sound>)>>);

impl SoundCache {
    /// The sound of a call, if it was decoded lately.
    pub(crate) fn of(&self, call: &Id) -> Option<Arc<Sound>> {
        let mut sounds = self.0.lock().unwrap_or_else(PoisonError::into_inner);
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
