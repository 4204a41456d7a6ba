//! `ringtap man`: writes the manual pages, made from the arguments of the commands.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::Context;
use clap::builder::Resettable;
use clap::{Args, Command};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};
use ringtap_report::text::counted;

use crate::exit::Exit;
use crate::screen::Screen;

/// Write the manual pages: one for ringtap, and one for each command
///
/// Packages and `make install` have them already. After `cargo install`, write them to a directory that `man`
/// searches.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ManArgs {
    /// Directory of the pages; it is made if it does not exist, and pages in it are overwritten
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

const EXAMPLES: &str = "\
Examples:
  ringtap man ~/.local/share/man/man1     # then: man ringtap-call";

impl ManArgs {
    /// Runs it; `program` is the whole command line.
    pub(crate) fn run(self, program: &Command, screen: &mut Screen) -> anyhow::Result<Exit> {
        let directory = &self.directory;
        fs::create_dir_all(directory)
            .with_context(|| format!("cannot make the directory `{}`", directory.display()))?;
        let pages = pages(program).context("cannot format the manual pages")?;
        for (name, page) in &pages {
            let path = directory.join(name);
            fs::write(&path, page).with_context(|| format!("cannot write `{}`", path.display()))?;
        }
        let written = counted(pages.len() as u64, "manual page");
        writeln!(screen.out, "{}: {written}", directory.display())
            .and_then(|()| screen.out.flush())
            .context("cannot write to standard output")?;
        Ok(Exit::Done)
    }
}

/// File names and texts (roff, man(7)) of all pages.
pub(crate) fn pages(program: &Command) -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut pages = vec![page(program.clone())?];
    add_pages(program, &mut pages)?;
    Ok(pages)
}

/// Those of the commands of a command, and of theirs.
fn add_pages(command: &Command, pages: &mut Vec<(String, Vec<u8>)>) -> io::Result<()> {
    for command in command.get_subcommands() {
        pages.push(page(command.clone())?);
        add_pages(command, pages)?;
    }
    Ok(())
}

fn page(command: Command) -> io::Result<(String, Vec<u8>)> {
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    // clap_mangen would fill the lines of the examples as one paragraph.
    let man = Man::new(command.after_help(Resettable::Reset))
        .source(concat!("ringtap ", env!("CARGO_PKG_VERSION")))
        .manual("ringtap manual");
    let mut text = Vec::new();
    man.render(&mut text)?;
    let mut roff = Roff::default();
    help.split("\n\n").for_each(|paragraph| section(&mut roff, paragraph));
    if !help.is_empty() {
        roff.to_writer(&mut text)?;
    }
    Ok((man.get_filename(), text))
}

/// One paragraph of the text after a command's help: examples, a block of lines under a heading, or prose.
fn section(roff: &mut Roff, paragraph: &str) {
    let (first, lines) = paragraph.split_once('\n').unwrap_or((paragraph, ""));
    if let Some(statuses) = paragraph.strip_prefix("Exit status: ") {
        roff.control("SH", ["EXIT STATUS"]).text([roman(statuses)]);
    } else if !lines.starts_with("  ") {
        roff.control("SH", ["NOTES"]).text([roman(paragraph)]);
    } else if first == "Examples:" {
        roff.control("SH", ["EXAMPLES"]);
        block(roff, lines);
    } else {
        roff.control("PP", []).text([roman(first)]);
        block(roff, lines);
    }
}

/// Lines as they are.
fn block(roff: &mut Roff, lines: &str) {
    roff.control("nf", []);
    for line in lines.lines() {
        roff.text([roman(line)]);
    }
    roff.control("fi", []);
}
