//! What the configuration says of hooks, checked together.

use std::path::{Path, PathBuf};

use ringtap_hook::Hook;

use super::Config;
use super::alarm_config::Mistake;
use super::hook::HookEntry;
use super::key::Keys;

impl Config {
    /// The hooks.
    pub(crate) fn hooks(&self) -> Vec<Hook> {
        // They were checked when they were read.
        self.read_hooks().unwrap_or_default()
    }

    /// The same; all mistakes where there are any.
    pub(super) fn read_hooks(&self) -> Result<Vec<Hook>, Vec<Mistake>> {
        let (mut hooks, mut mistakes) = (Vec::<Hook>::new(), Vec::new());
        for (place, written) in self.hook.iter().enumerate() {
            let mut wrong = |(key, problem)| mistakes.push(Mistake::of_entry("hook", place, key, problem));
            written.check_bounds().into_iter().for_each(|(_, key, problem)| wrong((key, problem)));
            match written.hook(&self.spool) {
                Ok(hook) if hooks.iter().any(|other| other.name == hook.name) => {
                    wrong(("name", format!("`{}` is the name of another one too", hook.name)));
                }
                Ok(hook) => hooks.push(hook),
                Err(problem) => wrong(problem),
            }
        }
        if mistakes.is_empty() { Ok(hooks) } else { Err(mistakes) }
    }

    /// The directory of their state; None without hooks.
    pub(crate) fn hooks_directory(&self) -> Option<&Path> {
        self.hooks.directory().filter(|_| !self.hook.is_empty())
    }

    /// The files with secrets of hooks.
    pub(crate) fn hook_files(&self) -> impl Iterator<Item = PathBuf> {
        self.hook.iter().filter_map(HookEntry::secret_file)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ringtap_hook::{HookEvent, HookSound, HookTarget};
    use ringtap_notify::Http;

    use super::*;

    const HEAD: &str = "[capture]\ninterfaces = [\"eth0\"]\n[spool]\ndirectory = \"/x\"\nage = \"2s\"\n";

    fn parsed(hooks: &str) -> Result<Vec<Hook>, String> {
        let config = Config::parse(&format!("{HEAD}{hooks}"));
        config.map(|config| config.hooks()).map_err(|error| error.of(Path::new("x.toml")).to_string())
    }

    #[test]
    fn a_hook_has_limits_and_waits_for_what_is_recorded() {
        let hooks = "[[hook]]\nname = \"a\"\ncommand = [\"/bin/x\", \"-y\"]\nwhen = \"recorded\"\n\
                     sound = \"path\"\nenvironment = [\"HOME\", \"A=b c\"]\n\
                     [[hook]]\nname = \"b\"\nurl = \"https://h/\"\nquery = \"state:failed\"\nmask = true\n";
        let [command, url] = &parsed(hooks).unwrap()[..] else { panic!("two hooks") };
        assert_eq!((command.delay, url.delay), (Duration::from_secs(7), Duration::ZERO));
        assert_eq!((command.event, command.sound), (HookEvent::Recorded, HookSound::Path));
        assert!(matches!(&command.target, HookTarget::Command(command) if command.program[1] == "-y"));
        assert!(
            url.mask
                && url.target
                    == HookTarget::Url(Http { url: "https://h/".into(), header_file: None, ca: None })
        );
    }

    #[test]
    fn mistakes_name_line_key_and_what_would_be_right() {
        let command = "[[hook]]\nname = \"a\"\ncommand = [\"/bin/x\"]\n";
        for (hooks, expected) in [
            ("[[hook]]\nname = \"a\"\n", "x.toml:6: [[hook]] command: is missing: write a command or a url"),
            ("[[hook]]\nname = \"a b\"\n", "x.toml:7: [[hook]] name: must have 1 to 64 letters"),
            (&command.replace("/bin/x", "x"), "x.toml:8: [[hook]] command: `x` must be a path from /"),
            (&format!("{command}url = \"https://h\""), "x.toml:9: [[hook]] url: is set beside command"),
            (&format!("{command}ca = \"/x\""), "x.toml:9: [[hook]] ca: has no effect with a command"),
            (&format!("{command}query = \"state:failled\""), "x.toml:9: [[hook]] query: cannot be read: "),
            (&format!("{command}sound = \"upload\""), "x.toml:9: [[hook]] sound: \"upload\" is for a url"),
            (&format!("{command}at_once = 65"), "x.toml:9: [[hook]] at_once: must be from 1 to 64"),
            (&format!("{command}timeout = \"0s\""), "x.toml:9: [[hook]] timeout: must be from 1s to 1h"),
            (&format!("{command}environment = [\"=x\"]"), "x.toml:9: [[hook]] environment: `=x` must be"),
            (&format!("{command}{command}"), "x.toml:10: [[hook]] name: `a` is the name of another one"),
            (&format!("{command}querry = \"\""), "x.toml:9: [[hook]] querry: no such key; did you mean"),
            (
                "[[hook]]\nname = \"a\"\nurl = \"http://h\"\nheader_file = \"/x\"\n",
                "[[hook]] header_file: is sent",
            ),
        ] {
            let told = parsed(hooks).unwrap_err();
            assert!(told.contains(expected), "{hooks}\n{told}\n{expected}");
        }
    }
}
