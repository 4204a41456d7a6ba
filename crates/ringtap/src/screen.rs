//! Output: a writer for results, a writer for remarks, and the properties of the terminal.

use std::fmt::Display;
use std::io::{self, BufWriter, IsTerminal, Write};

use clap::ValueEnum;
use ringtap_report::text;

use crate::pager::{self, Pager};

/// Width of output to a pipe or a file.
const PIPED: usize = 120;
/// Bytes that are buffered before they are written.
const BUFFER: usize = 256 << 10;
/// Tables are unreadable below this width.
const NARROWEST: usize = 60;

/// When to colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Colour {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    /// Also into a pipe, for example for `less -R`
    Always,
    /// Nowhere
    Never,
}

/// Results go to `out`, remarks and errors to `err`.
pub(crate) struct Screen {
    /// Standard output, buffered.
    pub(crate) out: Box<dyn Write>,
    /// Standard error.
    pub(crate) err: Box<dyn Write>,
    /// Columns per line.
    pub(crate) width: usize,
    /// Results may be coloured.
    pub(crate) colour: bool,
    /// A progress bar may be drawn: standard error is a terminal.
    pub(crate) watched: bool,
    /// Standard output is a terminal: scrolling results would break up a progress bar.
    pub(crate) terminal: bool,
    /// Lines of the terminal, if long output goes to a pager.
    height: Option<usize>,
}

impl Screen {
    /// The screen of the process.
    pub(crate) fn standard(colour: Colour) -> Self {
        let stdout = io::stdout();
        let terminal = stdout.is_terminal();
        let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
        Self {
            out: Box::new(BufWriter::with_capacity(BUFFER, stdout.lock())),
            err: Box::new(io::stderr()),
            width: width(terminal).max(NARROWEST),
            colour: match colour {
                Colour::Auto => terminal && !plain && !dumb,
                Colour::Always => true,
                Colour::Never => false,
            },
            watched: io::stderr().is_terminal(),
            terminal,
            height: None,
        }
    }

    /// A screen that prints nothing, with its remarks to `err`.
    pub(crate) fn quiet(err: Box<dyn Write>, width: usize) -> Self {
        let out = Box::new(io::sink());
        Self { out, err, width, colour: false, watched: false, terminal: false, height: None }
    }

    /// Passes results to a pager from now on, if they are longer than the terminal.
    pub(crate) fn page(&mut self) {
        let rows = terminal_size::terminal_size_of(io::stdout()).map(|(_, rows)| usize::from(rows.0));
        let (Some(height), true) = (rows.filter(|rows| *rows > 1), self.terminal) else { return };
        let command = pager::command(std::env::var_os("PAGER"), std::env::var_os("LESS"));
        if command.is_some() {
            self.height = Some(height);
            self.out = Box::new(Pager::new(io::stdout(), height, command));
        }
    }

    /// Whether that many lines go to the pager: then what sums them up comes first.
    pub(crate) fn is_long(&self, lines: usize) -> bool {
        self.height.is_some_and(|height| lines >= height)
    }

    /// Ends the pager, if there is one: what follows is read below what it showed.
    fn end_paging(&mut self) {
        if self.height.take().is_some() {
            self.out = Box::new(BufWriter::with_capacity(BUFFER, io::stdout()));
        }
    }

    /// Prints a sentence to standard error, with control characters escaped. Errors are ignored.
    pub(crate) fn remark(&mut self, sentence: impl Display) {
        self.end_paging();
        let _ = writeln!(self.err, "ringtap: {}", text::shown(&sentence.to_string()));
    }

    /// Prints a sentence with lines of explanation below it.
    pub(crate) fn explain(&mut self, explanation: &str) {
        let mut lines = explanation.lines();
        self.remark(lines.next().unwrap_or_default());
        for line in lines {
            let _ = writeln!(self.err, "{}", text::shown(line));
        }
    }
}

fn width(terminal: bool) -> usize {
    let asked = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let measured =
        || terminal_size::terminal_size_of(io::stdout()).map(|(columns, _)| usize::from(columns.0));
    match terminal {
        true => measured().or(asked).unwrap_or(PIPED),
        false => asked.unwrap_or(PIPED),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use super::*;

    /// What was printed, readable while the screen is in use.
    #[derive(Clone, Default)]
    pub(crate) struct Captured(Rc<RefCell<Vec<u8>>>);

    impl Captured {
        pub(crate) fn text(&self) -> String {
            String::from_utf8(self.0.borrow().clone()).unwrap()
        }
    }

    impl Write for Captured {
        fn write(&mut self, data: &[u8]) -> io::Result<usize> {
            self.0.borrow_mut().extend_from_slice(data);
            Ok(data.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// A screen of `width` columns without colour, and what it shows on `out` and `err`.
    pub(crate) fn captured(width: usize) -> (Screen, Captured, Captured) {
        let (out, err) = (Captured::default(), Captured::default());
        let screen = Screen {
            out: Box::new(out.clone()),
            err: Box::new(err.clone()),
            width,
            colour: false,
            watched: false,
            terminal: false,
            height: None,
        };
        (screen, out, err)
    }

    #[test]
    fn control_characters_in_remarks_are_escaped() {
        let (mut screen, _, err) = captured(80);
        screen.remark("no call \x1b[2J\nhere");
        assert_eq!(err.text(), "ringtap: no call \\x1b[2J\\nhere\n");
    }
}
