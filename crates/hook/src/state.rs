//! What a restart must know: how far the store was followed, and which calls wait.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use ringtap_store::Places;
use serde::{Deserialize, Serialize};

use crate::error::HookError;
use crate::queue::{HookCounts, HookQueue};

/// The state of the hooks. Places and queues are in one file, so that no call is between them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct State {
    /// How far the store was followed.
    pub(crate) places: Places,
    /// The queue of each hook, by its name.
    pub(crate) queues: BTreeMap<String, HookQueue>,
}

/// What became of the calls of a hook, for whoever shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookFigures {
    /// Its name.
    pub hook: String,
    /// What became of its calls.
    pub counts: HookCounts,
    /// Calls that wait.
    pub waiting: u64,
}

/// The figures of the hooks whose state is in that directory, as they were saved last; none where there is no
/// state.
pub fn figures(directory: &Path) -> Vec<HookFigures> {
    let state = read(&file_in(directory)).ok().flatten().unwrap_or_default();
    let of = |(hook, queue): (String, HookQueue)| HookFigures {
        hook,
        counts: queue.counts,
        waiting: queue.waiting.len() as u64,
    };
    state.queues.into_iter().map(of).collect()
}

/// The file of the state.
#[derive(Debug)]
pub(crate) struct StateFile {
    path: PathBuf,
}

impl StateFile {
    /// The file in that directory, and what it holds; None where there is none yet.
    ///
    /// # Errors
    ///
    /// It cannot be read, or is no state.
    pub(crate) fn open(directory: &Path) -> Result<(Self, Option<State>), HookError> {
        let path = file_in(directory);
        let state = read(&path).map_err(|error| HookError::State { path: path.clone(), error })?;
        Ok((Self { path }, state))
    }

    /// Replaces what it holds: after a power cut it holds the one or the other.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub(crate) fn save(&self, state: &State) -> Result<(), HookError> {
        self.write(state).map_err(|error| HookError::State { path: self.path.clone(), error })
    }

    fn write(&self, state: &State) -> io::Result<()> {
        let new = self.path.with_extension("new");
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o640).open(&new)?;
        file.write_all(&serde_json::to_vec(state)?)?;
        file.sync_all()?;
        fs::rename(&new, &self.path)?;
        File::open(self.path.parent().unwrap_or(Path::new(".")))?.sync_all()
    }
}

fn read(path: &Path) -> io::Result<Option<State>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn file_in(directory: &Path) -> PathBuf {
    directory.join("state.json")
}

#[cfg(test)]
mod tests {
    use ringtap_model::Id;

    use super::*;
    use crate::queue::Waiting;

    #[test]
    fn what_was_saved_is_read_again_and_what_is_no_state_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let (file, none) = StateFile::open(dir.path()).unwrap();
        assert_eq!((none, figures(dir.path())), (None, vec![]));
        let mut queue = HookQueue::default();
        queue.push(Waiting { id: Id([7; 16]), ready: 12, failures: 3 }, 1);
        queue.counts.delivered = 5;
        let places = Places::from([("2026-11-21.sqlite".into(), 9)]);
        let state = State { places, queues: BTreeMap::from([("archive".into(), queue)]) };
        file.save(&state).unwrap();
        assert_eq!(StateFile::open(dir.path()).unwrap().1, Some(state));
        let [shown] = &figures(dir.path())[..] else { panic!("one hook") };
        assert_eq!((&*shown.hook, shown.counts.delivered, shown.waiting), ("archive", 5, 1));
        fs::write(dir.path().join("state.json"), "[").unwrap();
        let error = StateFile::open(dir.path()).unwrap_err().to_string();
        assert!(error.contains("state.json") && error.contains("move it away"), "{error}");
    }
}
