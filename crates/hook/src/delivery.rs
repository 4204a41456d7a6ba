//! One attempt to deliver a call.

use std::fs::File;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use ringtap_anonymise::Tokens;
use ringtap_model::{Call, Id, Stream};
use ringtap_notify::NotifyError;
use ringtap_store::Reader;
use serde_json::Value;

use crate::document::document;
use crate::forgotten::Forgotten;
use crate::settings::{Hook, HookSound, ServiceSettings, is_in_progress};

/// Carries calls out of this process.
pub trait Transport: Send + Sync {
    /// Makes the sound of a recorded call, as WAV.
    ///
    /// # Errors
    ///
    /// There is none: why, in one line. The call is delivered without.
    fn sound(&self, call: &Id) -> Result<Sound, String>;

    /// Gives a call to whoever the hook names, and waits until that has taken it.
    ///
    /// # Errors
    ///
    /// What went wrong, and whether it is worth another attempt.
    fn deliver(&self, hook: &Hook, document: &Value, sound: Option<Sound>) -> Result<(), NotifyError>;
}

/// The sound of a call: an open file, which has no name any more.
#[derive(Debug)]
pub struct Sound {
    /// The file, at its beginning.
    pub file: File,
    /// Its bytes.
    pub bytes: u64,
}

/// What became of an attempt.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Delivered,
    /// It failed.
    Failed(NotifyError),
    /// The call was forgotten, or its record deleted.
    Forgotten,
    /// Its record may still be replaced: the call was in progress when the daemon ended.
    InProgress,
}

/// What all attempts need.
pub(crate) struct Deliverer {
    /// The directory of the records.
    records: PathBuf,
    forgotten: Mutex<Forgotten>,
    tokens: Option<Tokens>,
    host: String,
    transport: Box<dyn Transport>,
}

impl Deliverer {
    /// Delivers the calls of `records`, whose packets are in `spool`, if they are recorded.
    pub(crate) fn new(settings: &ServiceSettings, transport: Box<dyn Transport>) -> Self {
        Self {
            records: settings.records.clone(),
            forgotten: Mutex::new(Forgotten::of(settings.spool.as_deref())),
            tokens: settings.tokens.clone(),
            host: settings.host.clone(),
            transport,
        }
    }

    /// Delivers a call; `attempt` is the number of this attempt, from 1.
    pub(crate) fn attempt(&self, hook: &Hook, id: Id, attempt: u32) -> Outcome {
        match self.read(&id) {
            Ok(None) => Outcome::Forgotten,
            Ok(Some((call, _))) if is_in_progress(&call) => Outcome::InProgress,
            Ok(Some((call, streams))) => self.deliver(hook, &call, &streams, attempt),
            Err(problem) => Outcome::Failed(NotifyError::later(problem)),
        }
    }

    /// The records of a call; None where it was forgotten.
    fn read(&self, id: &Id) -> Result<Option<(Call, Vec<Stream>)>, String> {
        let wrong = |error: ringtap_store::Error| error.to_string();
        let reader = match Reader::open(&self.records) {
            // The day of the call was deleted, and there was no other one.
            Err(ringtap_store::Error::NoDays { .. }) => return Ok(None),
            opened => opened.map_err(wrong)?,
        };
        let Some(call) = reader.call(id).map_err(wrong)? else { return Ok(None) };
        if self.is_forgotten(&call)? {
            return Ok(None);
        }
        let streams = reader.streams_of(id).map_err(wrong)?;
        Ok(Some((call, streams)))
    }

    fn is_forgotten(&self, call: &Call) -> Result<bool, String> {
        let mut forgotten = self.forgotten.lock().unwrap_or_else(PoisonError::into_inner);
        forgotten.has(call).map_err(|error| error.to_string())
    }

    fn deliver(&self, hook: &Hook, call: &Call, streams: &[Stream], attempt: u32) -> Outcome {
        let tokens = self.tokens.as_ref().filter(|_| hook.mask);
        let mut document = document(hook, call, streams, &self.host, attempt, tokens);
        let sound = match hook.sound {
            HookSound::None => None,
            HookSound::Path | HookSound::Upload => match self.transport.sound(&call.id) {
                Ok(sound) => {
                    document["sound"] = serde_json::json!({"format": "wav", "bytes": sound.bytes});
                    Some(sound)
                }
                Err(why) => {
                    log::info!(target: "hooks", "{}: the sound of {} is left out: {why}", hook.name, call.id);
                    // It may name the Call-ID, in which there may be a number.
                    let told =
                        if hook.mask { "it cannot be made: the log of the hooks says why" } else { &why };
                    document["sound_missing"] = told.into();
                    None
                }
            },
        };
        // Making the sound takes a while, in which somebody may have had the call forgotten.
        match self.is_forgotten(call) {
            Ok(true) => return Outcome::Forgotten,
            Ok(false) => {}
            Err(problem) => return Outcome::Failed(NotifyError::later(problem)),
        }
        match self.transport.deliver(hook, &document, sound) {
            Ok(()) => Outcome::Delivered,
            Err(error) => Outcome::Failed(error),
        }
    }
}
