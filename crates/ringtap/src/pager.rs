//! Passes output that is longer than the terminal to a pager.

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::{Child, Command, Stdio};

/// Output of which the first screenful is held back: if there is more, all of it goes to a pager.
pub(crate) struct Pager<W: Write> {
    /// Where short output goes.
    plain: W,
    /// Lines that fit on the terminal.
    height: usize,
    lines: usize,
    /// None: there is no pager, or it cannot be started.
    command: Option<Command>,
    held: Vec<u8>,
    child: Option<Child>,
}

impl<W: Write> Pager<W> {
    /// For a terminal of `height` lines.
    pub(crate) fn new(plain: W, height: usize, command: Option<Command>) -> Self {
        Self { plain, height, lines: 0, command, held: Vec::new(), child: None }
    }

    /// Writes what was held back, to the pager if the output is long.
    fn release(&mut self) -> io::Result<()> {
        let started = self.command.take().map(|mut command| command.stdin(Stdio::piped()).spawn());
        // A pager that is not installed is no reason to show nothing.
        self.child = started.and_then(Result::ok);
        let held = std::mem::take(&mut self.held);
        self.pass(&held)
    }

    fn pass(&mut self, data: &[u8]) -> io::Result<()> {
        match self.child.as_mut().and_then(|child| child.stdin.as_mut()) {
            Some(pager) => pager.write_all(data),
            None => self.plain.write_all(data),
        }
    }
}

impl<W: Write> Write for Pager<W> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        if self.command.is_none() {
            self.pass(data)?;
            return Ok(data.len());
        }
        self.held.extend_from_slice(data);
        self.lines += data.iter().filter(|byte| **byte == b'\n').count();
        // The prompt of the shell needs a line.
        if self.lines >= self.height {
            self.release()?;
        }
        Ok(data.len())
    }

    /// What is held back stays so: the end decides.
    fn flush(&mut self) -> io::Result<()> {
        match self.child.as_mut().and_then(|child| child.stdin.as_mut()) {
            Some(pager) => pager.flush(),
            None => self.plain.flush(),
        }
    }
}

/// Ends the output: waits until the reader leaves the pager.
impl<W: Write> Drop for Pager<W> {
    fn drop(&mut self) {
        // Nobody is left to whom an error could be returned.
        let held = std::mem::take(&mut self.held);
        let _ = self.pass(&held).and_then(|()| self.flush());
        if let Some(mut child) = self.child.take() {
            drop(child.stdin.take());
            let _ = child.wait();
        }
    }
}

/// The pager that the variables PAGER and LESS ask for: less if there is none, nothing if PAGER is empty or
/// `cat`.
pub(crate) fn command(pager: Option<OsString>, options: Option<OsString>) -> Option<Command> {
    let mut command = match pager {
        Some(pager) if pager.is_empty() || pager == "cat" => return None,
        Some(pager) => {
            let mut shell = Command::new("sh");
            shell.arg("-c").arg(pager);
            shell
        }
        None => Command::new("less"),
    };
    if options.is_none() {
        // Leaves if it all fits, shows colours, leaves the text on the terminal.
        command.env("LESS", "FRX");
    }
    Some(command)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// What arrives without and with a pager, of so many lines on a terminal of 4.
    fn shown(lines: usize, command: Option<Command>) -> String {
        let mut plain = Vec::new();
        let mut pager = Pager::new(&mut plain, 4, command);
        for line in 0..lines {
            writeln!(pager, "line {line}").unwrap();
            pager.flush().unwrap();
        }
        drop(pager);
        String::from_utf8(plain).unwrap()
    }

    #[test]
    fn only_long_output_is_paged_and_all_of_it() {
        let dir = tempfile::tempdir().unwrap();
        let paged = dir.path().join("paged");
        let pager = || command(Some(format!("cat > '{}'", paged.display()).into()), None);
        assert_eq!(shown(3, pager()).lines().count(), 3);
        assert!(!paged.exists());
        assert_eq!(shown(9, pager()), "");
        assert_eq!(fs::read_to_string(&paged).unwrap().lines().count(), 9);
    }

    #[test]
    fn without_a_pager_nothing_is_lost() {
        let missing = Some(Command::new("/nonexistent/pager"));
        assert_eq!(shown(9, missing).lines().count(), 9);
        assert_eq!(shown(9, command(Some("".into()), None)).lines().count(), 9);
        assert!(command(Some("cat".into()), None).is_none());
        assert_eq!(command(None, None).unwrap().get_program(), "less");
        assert!(command(None, Some("R".into())).unwrap().get_envs().next().is_none());
    }
}
