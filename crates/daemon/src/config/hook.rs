//! One `[[hook]]` as it is written.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ringtap_hook::{Hook, HookCommand, HookEvent, HookSound, HookTarget};
use ringtap_model::Nanos;
use ringtap_notify::Http;
use ringtap_search::{Context, parse};

use super::key::{Bounds, GIB, HOUR, MIB, SECOND, section};
use super::spool::Spool;
use super::values::{HookSoundName, HookWhen, Size, Span};

section! {
    /// Who is given calls that have ended, as it is written.
    #[name = "[hook]"]
    pub(crate) struct HookEntry {
        /// Its name: in the log, the metrics and what is delivered.
        #[accepts = "a text, such as \"transcription\""]
        name: String = String::new(),
        /// Which calls: `finished` ones, or those of which something was `recorded`.
        when: HookWhen = HookWhen::Finished,
        /// Which of these, in the search language. Empty is all.
        #[accepts = "a search, such as \"trunk:carrier-a dur>10\""]
        query: String = String::new(),
        /// Program that is started for each call, with its arguments, without a shell. It reads the call from
        /// its standard input.
        #[accepts = "a list of a path and arguments, such as [\"/usr/local/bin/transcribe\", \"--fast\"]"]
        command: Vec<String> = Vec::new(),
        /// URL that each call is posted to, in place of a command.
        #[accepts = "a URL, such as \"https://archive.example.org/calls\""]
        url: String = String::new(),
        /// File of header fields that are sent to the URL, one a line, readable by its owner alone.
        #[accepts = "a path, such as \"/etc/ringtap-keys/archive\", or \"\" for none"]
        header_file: PathBuf = PathBuf::new(),
        /// File of the certificates, in PEM, that alone vouch for the server. Empty uses this machine's.
        #[accepts = "a path, such as \"/etc/ringtap/ca.pem\", or \"\" for none"]
        ca: PathBuf = PathBuf::new(),
        /// The sound of the call: `none`; for a command its `path`, a WAV file that is removed when the
        /// command ends; for a URL `upload`, the file as a second part of the request.
        sound: HookSoundName = HookSoundName::None,
        /// Numbers and names of people are replaced by tokens. Sound is not changed by it.
        mask: bool = false,
        /// Environment of the command: `NAME=VALUE`, or the `NAME` of a variable that is passed on. Besides
        /// it there is `PATH` alone.
        #[accepts = "a list of texts, such as [\"LANG=C.UTF-8\", \"HOME\"]"]
        environment: Vec<String> = Vec::new(),
        /// How long after its record a call is delivered. Without it 0s, and `[spool] age` and 5 s more where
        /// something is recorded, so that all of it is on the disk.
        delay: Option<Span> = None,
        /// How long a delivery may take. A command is killed then, with all that it started.
        #[bounds = Bounds::between(SECOND, HOUR)]
        timeout: Span = Span(Nanos::from_secs(60)),
        /// Deliveries at the same time.
        #[bounds = Bounds::between(1, 64)]
        at_once: usize = 2,
        /// Calls that may wait, on the disk. The oldest gives way to a new one.
        #[bounds = Bounds::between(1, 100_000)]
        queue: usize = 10_000,
        /// Attempts to deliver a call. Waits between them grow from 5 s to 5 minutes.
        #[bounds = Bounds::between(1, 1_000)]
        tries: u32 = 20,
        /// Memory that each process of the command may map. 0 is any.
        #[bounds = Bounds::between(16 * MIB, 1024 * GIB).zero("0 is any")]
        memory: Size = Size(4 << 30),
    }
}

/// A mistake in an entry: the key, and how to correct it.
type Problem = (&'static str, String);

impl HookEntry {
    /// The file of its secret.
    pub(super) fn secret_file(&self) -> Option<PathBuf> {
        named(&self.header_file)
    }

    /// The hook, for what is recorded into that spool.
    pub(super) fn hook(&self, spool: &Spool) -> Result<Hook, Problem> {
        let sound = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
        if self.name.is_empty() || self.name.len() > 64 || !self.name.chars().all(sound) {
            let problem = "must have 1 to 64 letters, digits, -, _ and ., for example \"transcription\"";
            return Err(("name", problem.to_owned()));
        }
        // Sites may change after this: `ringtap hooks` reads them.
        let context = Context { sites: None, ..Context::utc(Nanos::ZERO) };
        if let Err(error) = parse(&self.query, &context) {
            return Err(("query", format!("cannot be read: {error}")));
        }
        let target = self.target()?;
        let event = match self.when {
            HookWhen::Finished => HookEvent::Finished,
            HookWhen::Recorded => HookEvent::Recorded,
        };
        let sound = self.sound(spool, &target)?;
        let is_recorded = event == HookEvent::Recorded || sound != HookSound::None;
        if event == HookEvent::Recorded && spool.directory().is_none() {
            let problem = "is \"recorded\", but nothing is: set [spool] directory, or write \"finished\"";
            return Err(("when", problem.to_owned()));
        }
        let usual = if is_recorded { spool.age() + MARGIN } else { Nanos::ZERO };
        Ok(Hook {
            name: self.name.clone(),
            event,
            query: self.query.clone(),
            target,
            sound,
            mask: self.mask,
            delay: Duration::from_nanos(self.delay.map_or(usual, |delay| delay.0).0),
            timeout: Duration::from_nanos(self.timeout.0.0),
            at_once: self.at_once,
            queue: self.queue,
            tries: self.tries,
        })
    }

    fn target(&self) -> Result<HookTarget, Problem> {
        let wrong = |key, problem: &str| Err((key, problem.to_owned()));
        match (self.command.first(), self.url.is_empty()) {
            (None, true) => return wrong("command", "is missing: write a command or a url"),
            (Some(_), false) => return wrong("url", "is set beside command: make two hooks of it"),
            (Some(program), true) if !Path::new(program).is_absolute() => {
                let problem =
                    format!("`{program}` must be a path from /, such as \"/usr/local/bin/{program}\"");
                return Err(("command", problem));
            }
            (Some(_), true) => {
                for (key, path) in [("header_file", &self.header_file), ("ca", &self.ca)] {
                    if named(path).is_some() {
                        return wrong(key, "has no effect with a command: remove it");
                    }
                }
            }
            (None, false) if !self.environment.is_empty() => {
                return wrong("environment", "has no effect with a url: remove it");
            }
            (None, false) => {
                let (header_file, ca) = (named(&self.header_file), named(&self.ca));
                let http = Http { url: self.url.clone(), header_file, ca };
                http.check()?;
                return Ok(HookTarget::Url(http));
            }
        }
        let is_name = |text: &str| {
            let name = text.split('=').next().unwrap_or_default();
            let letters = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            letters && !name.is_empty() && !text.contains('\0')
        };
        if let Some(other) = self.environment.iter().find(|text| !is_name(text)) {
            let problem = format!("`{other}` must be NAME=VALUE, or the NAME of a variable");
            return Err(("environment", problem));
        }
        Ok(HookTarget::Command(HookCommand {
            program: self.command.clone(),
            environment: self.environment.clone(),
            memory: self.memory.0,
        }))
    }

    fn sound(&self, spool: &Spool, target: &HookTarget) -> Result<HookSound, Problem> {
        let wrong = |problem: &str| Err(("sound", problem.to_owned()));
        let sound = match (self.sound, target) {
            (HookSoundName::None, _) => return Ok(HookSound::None),
            (HookSoundName::Path, HookTarget::Command(_)) => HookSound::Path,
            (HookSoundName::Upload, HookTarget::Url(_)) => HookSound::Upload,
            (HookSoundName::Path, _) => {
                return wrong("\"path\" is for a command: write \"upload\", since a server has other files");
            }
            (HookSoundName::Upload, _) => return wrong("\"upload\" is for a url: write \"path\""),
        };
        if spool.directory().is_none() {
            return wrong("needs recorded packets: set [spool] directory, or write \"none\"");
        }
        if spool.key_files().is_some_and(|files| !files.seal_command.is_empty()) {
            return wrong(
                "cannot be read from a spool that is sealed by [spool] seal_command: use [spool] seal, or \
                 write \"none\"",
            );
        }
        Ok(sound)
    }
}

fn named(path: &Path) -> Option<PathBuf> {
    (!path.as_os_str().is_empty()).then(|| path.to_owned())
}

/// For packets that are on their way to the disk when their time in memory is over.
const MARGIN: Nanos = Nanos::from_secs(5);
