//! How calls leave: a process makes the sound of one, and another one delivers it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ringtap_hook::{Hook, Sound, Transport};
use ringtap_model::Id;
use ringtap_notify::NotifyError;
use serde_json::Value;

use crate::config::Config;
use crate::processes::child::Process;
use crate::processes::hook_command::last_of;
use crate::processes::hook_exchange::ask;

/// The processes that deliver.
pub(super) struct Processes {
    /// Starts one for each delivery.
    starter: Process,
    directory: PathBuf,
    /// What `ringtap export` is told of where recordings are; None where nothing is recorded.
    export: Option<Vec<String>>,
    number: AtomicU64,
}

impl Processes {
    pub(super) fn new(config: &Config, directory: &Path, starter: Process) -> Self {
        let text = |path: &Path| path.display().to_string();
        let export = config.spool.directory().map(|spool| {
            let mut options =
                vec!["--store".to_owned(), text(&config.store.directory), "--spool".to_owned(), text(spool)];
            let seal = config.spool.key_files().map(|files| files.seal).unwrap_or_default();
            if !seal.as_os_str().is_empty() {
                options.extend(["--key".to_owned(), text(&seal)]);
            }
            options
        });
        Self { starter, directory: directory.to_owned(), export, number: AtomicU64::new(0) }
    }
}

impl Transport for Processes {
    /// Decoding what came from the wire happens in a process of its own, as for everybody who exports a call.
    /// It reads the recording, and never interception product.
    fn sound(&self, call: &Id) -> Result<Sound, String> {
        let options = self.export.as_ref().ok_or("nothing is recorded")?;
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        let path = self.directory.join(format!("{SOUND}{number}.wav"));
        let made = make_sound(call, options, &path);
        let opened = made.and_then(|()| File::open(&path).map_err(|error| error.to_string()));
        // It is read by its open file alone.
        let _ = fs::remove_file(&path);
        let file = opened?;
        let bytes = file.metadata().map_err(|error| error.to_string())?.len();
        match bytes > MOST_SOUND {
            true => Err(format!("it has more than {} MiB", MOST_SOUND >> 20)),
            false => Ok(Sound { file, bytes }),
        }
    }

    fn deliver(&self, hook: &Hook, document: &Value, sound: Option<Sound>) -> Result<(), NotifyError> {
        let failed = |error: std::io::Error| {
            NotifyError::later(format!("the process that delivers it does not answer: {error}"))
        };
        let connection = self.starter.connect().map_err(failed)?;
        let document = serde_json::to_vec(document).map_err(|error| failed(error.into()))?;
        ask(&connection, &hook.name, &document, sound, hook.timeout + MARGIN).map_err(failed)?
    }
}

fn make_sound(call: &Id, options: &[String], path: &Path) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("its sound cannot be made: {error}");
    let mut child = Command::new("/proc/self/exe")
        .args(["export", &call.to_string()])
        .args(options)
        .arg("--wav")
        .arg(path)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let stderr = child.stderr.take();
    let reader = thread::spawn(move || stderr.map(last_of).unwrap_or_default());
    let status = wait(&mut child).map_err(failed)?;
    let said = reader.join().unwrap_or_default();
    // A part of the packets may be missing (status 3): what there is can be heard.
    match status {
        Some(_) if path.exists() => Ok(()),
        Some(_) => Err(said),
        None => Err(format!("it took more than {} s", SOUND_TIME.as_secs())),
    }
}

/// Waits for the end of a process, and kills it when its time is over: None then.
fn wait(child: &mut Child) -> std::io::Result<Option<ExitStatus>> {
    let until = Instant::now() + SOUND_TIME;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= until {
            child.kill()?;
            return child.wait().map(|_| None);
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// Removes sound that a killed service left.
pub(super) fn remove_left(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(SOUND) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Longest time that making the sound of a call may take.
const SOUND_TIME: Duration = Duration::from_secs(600);
/// What the files of sound begin with.
const SOUND: &str = "sound-";
/// Most bytes of sound: two hours of G.711 on two channels.
const MOST_SOUND: u64 = 256 << 20;
/// For a process to start, and to end what it killed.
const MARGIN: Duration = Duration::from_secs(60);
