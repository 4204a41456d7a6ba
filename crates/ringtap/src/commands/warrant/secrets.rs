//! Passphrases on their way in: from the terminal without echo, or from a file descriptor; never from
//! arguments or the environment.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};

use anyhow::{Context, bail};
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, tcgetattr, tcsetattr};
use zeroize::Zeroizing;

use crate::exit::{Interrupted, Misuse};

/// Where passphrases come from.
pub(crate) enum Secrets {
    Terminal(File),
    Lines(BufReader<File>),
}

impl Secrets {
    /// The terminal, or a file descriptor with a passphrase on each line.
    pub(crate) fn open(descriptor: Option<u32>) -> anyhow::Result<Self> {
        if let Some(descriptor) = descriptor {
            let path = format!("/proc/self/fd/{descriptor}");
            let file = File::open(&path);
            let file =
                file.with_context(|| format!("cannot read passphrases from descriptor {descriptor}"))?;
            return Ok(Self::Lines(BufReader::with_capacity(1, file)));
        }
        let terminal = OpenOptions::new().read(true).write(true).open("/dev/tty");
        let none =
            "there is no terminal to ask for the passphrase on: run this on one, or use `--passphrase-fd`";
        terminal.map(Self::Terminal).map_err(|_| Misuse(none.to_owned()).into())
    }

    /// Asks for a passphrase.
    pub(crate) fn ask(&mut self, prompt: &str) -> anyhow::Result<Zeroizing<String>> {
        let bytes = match self {
            Self::Terminal(terminal) => hidden_line(terminal, prompt)?,
            Self::Lines(lines) => {
                let mut line = Zeroizing::new(Vec::with_capacity(MOST));
                let limited = lines.take(MOST as u64).read_until(b'\n', &mut line);
                limited.context("cannot read a passphrase")?;
                if line.pop_if(|byte| *byte == b'\n').is_none() && line.is_empty() {
                    bail!("the descriptor has no further line with a passphrase");
                }
                line
            }
        };
        let text = std::str::from_utf8(&bytes).context("the passphrase is not UTF-8")?;
        Ok(Zeroizing::new(text.to_owned()))
    }

    /// Asks for a new one, on a terminal twice.
    pub(crate) fn ask_for_new(&mut self, whose: &str) -> anyhow::Result<Zeroizing<String>> {
        let first = self.ask(&format!("New passphrase of {whose}: "))?;
        if let Self::Terminal(_) = self
            && *self.ask(&format!("New passphrase of {whose}, again: "))? != *first
        {
            bail!("the two passphrases differ: nothing was changed");
        }
        Ok(first)
    }
}

/// Reads a line from the terminal that is not shown. Ctrl-C ends it, too.
fn hidden_line(terminal: &mut File, prompt: &str) -> anyhow::Result<Zeroizing<Vec<u8>>> {
    const FAILED: &str = "cannot ask for a passphrase on the terminal";
    let before = tcgetattr(&*terminal).context(FAILED)?;
    let mut quiet = before.clone();
    quiet.local_modes -= LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG;
    quiet.special_codes[SpecialCodeIndex::VMIN] = 1;
    quiet.special_codes[SpecialCodeIndex::VTIME] = 0;
    terminal.write_all(prompt.as_bytes()).context(FAILED)?;
    tcsetattr(&*terminal, OptionalActions::Flush, &quiet).context(FAILED)?;
    let read = keys(terminal);
    tcsetattr(&*terminal, OptionalActions::Flush, &before).context(FAILED)?;
    terminal.write_all(b"\n").context(FAILED)?;
    read
}

/// The keys up to Enter.
fn keys(terminal: &mut File) -> anyhow::Result<Zeroizing<Vec<u8>>> {
    // Without growing, so that no copy stays behind.
    let mut line = Zeroizing::new(Vec::with_capacity(MOST));
    let mut key = [0];
    loop {
        let count = terminal.read(&mut key).context("cannot read the passphrase from the terminal")?;
        match key[0] {
            _ if count == 0 => return Err(Interrupted.into()),
            CTRL_C | CTRL_D => return Err(Interrupted.into()),
            b'\n' | b'\r' => return Ok(line),
            // The last character: its continuation bytes first.
            BACKSPACE | DELETE => while line.pop().is_some_and(|byte| byte & 0xc0 == 0x80) {},
            CTRL_U => line.clear(),
            byte if line.len() < MOST => line.push(byte),
            _ => {}
        }
    }
}

const CTRL_C: u8 = 3;
const CTRL_D: u8 = 4;
const BACKSPACE: u8 = 8;
const CTRL_U: u8 = 21;
const DELETE: u8 = 127;
/// Bytes of the longest line.
const MOST: usize = 2048;
