//! Runs a capture and collects its sessions of subscribers.

use std::any::Any;
use std::path::Path;

use ringtap_capture::{Capture, Error, Merge};
use ringtap_engine::{Config, Engine, Sink, StreamEnd};
use ringtap_identity::{IdentityTracker, Sessions};
use ringtap_model::{Call, Identity, Message, Registration};

/// The records of a capture's sessions, as `sessions` follows them, the earliest first.
///
/// # Errors
///
/// The capture cannot be read.
pub fn identities(path: &Path, sessions: Sessions) -> Result<Vec<Identity>, Error> {
    let mut frames = Merge::new(&[Capture::open(path, None)?]);
    let mut engine = Engine::with_tracker(Config::default(), IdentityTracker::new(sessions));
    let mut found = Found::default();
    loop {
        let batch = frames.batch(512);
        if batch.is_empty() {
            break;
        }
        engine.batch(&batch, &mut found);
    }
    engine.close(&mut found);
    found.0.sort_by_key(|record| record.start);
    Ok(found.0)
}

#[derive(Default)]
struct Found(Vec<Identity>);

impl Sink for Found {
    fn call(&mut self, _: Call, _: Vec<StreamEnd>) {}
    fn stream(&mut self, _: StreamEnd) {}
    fn registration(&mut self, _: Registration) {}
    fn message(&mut self, _: Message) {}
    fn event(&mut self, event: &dyn Any) {
        self.0.extend(event.downcast_ref::<Identity>().cloned());
    }
}
