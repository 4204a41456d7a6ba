//! `ringtap call`: shows everything about one call.

mod stored;

use std::collections::HashMap;
use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use ringtap_engine::SipSeen;
use ringtap_export::find::{Finder, SelectedCalls};
use ringtap_export::page::svg;
use ringtap_export::replay::band;
use ringtap_export::steps::Steps;
use ringtap_model::Id;
use ringtap_report::file::Target;
use ringtap_report::ladder::{self, Page};
use ringtap_report::style::Style;
use ringtap_report::text;
use ringtap_report::{detail, streams};

use crate::assumed::Assumed;
use crate::exit::Exit;
use crate::input::{Input, Unpacking};
use crate::join::JoinArgs;
use crate::legs::{LegCollector, LegFinder};
use crate::screen::Screen;
use crate::spool_args::SpoolArgs;
use crate::store_args::StoreArgs;

/// Show one call: parties, times, the message ladder, and its streams in intervals of 10 s
///
/// Use it for a call that `analyze` or `calls` listed, to see what went wrong: who sent which message when,
/// which message was retransmitted, and the quality of each direction in every interval. A call of the
/// database has its messages in the spool, if its packets were recorded; what is missing is said where it
/// would stand. A call that is a leg of a conversation is shown with its other legs, on one ladder.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CallArgs {
    /// Call-ID of the call, a unique beginning of it (also with the `…` of a table), or the id of its record
    #[arg(value_name = "CALL-ID")]
    call: String,
    /// Capture files; `-` is standard input
    #[arg(value_name = "FILE", conflicts_with_all = ["store", "spool"])]
    files: Vec<PathBuf>,
    #[command(flatten)]
    unpacking: Unpacking,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    spool: SpoolArgs,
    #[command(flatten)]
    assumed: Assumed,
    #[command(flatten)]
    join: JoinArgs,
    /// Show this call alone, without the other legs of its conversation
    #[arg(long)]
    leg: bool,
    /// Draw the ladder with ASCII characters only
    #[arg(long)]
    ascii: bool,
    /// Write the ladder, with its streams and digits, to this file as SVG instead
    #[arg(long, value_name = "OUT", conflicts_with = "ascii")]
    svg: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  ringtap call 4f2a19 trunk.pcap
  ringtap call 4f2a19 trunk.pcap --svg ladder.svg
  ringtap call 4f2a19… --spool /var/lib/ringtap/spool
  ringtap call --color always 4f2a19@192.0.2.1 trunk-*.pcap | less -R";

impl CallArgs {
    /// Whether it is shown, not written to a file.
    pub(crate) fn is_shown(&self) -> bool {
        self.svg.is_none()
    }

    /// Runs it.
    pub(crate) fn run(self, screen: &mut Screen) -> anyhow::Result<Exit> {
        if self.files.is_empty() {
            return self.show_stored(screen);
        }
        let input = Input::open(&self.files, self.unpacking)?.assuming(self.assumed.clone());
        let svg = self.svg.as_deref().map(Target::create).transpose()?;
        let bar = input.progress(screen, "searching");
        let mut steps = Steps::default();
        let mut push = |seen: &SipSeen<'_>| steps.push(seen);
        let finder = Finder::<true>::new(&self.call, &mut push);
        let mut finder = LegFinder::new(finder, self.join.joiner());
        let mut pass = input.pass(&mut finder, &bar);
        let (finder, conversations) = finder.into_parts();
        let found = match finder.found() {
            Ok(found) => found,
            Err(_) if !steps.is_empty() => {
                self.without_a_call(&steps, screen).context(WRITING)?;
                return Ok(pass.exit(screen));
            }
            Err(error) => {
                // Damage of the input may be the reason why the call is missing.
                return match pass.exit(screen) {
                    Exit::Interrupted => Ok(Exit::Interrupted),
                    _ => Err(error.into()),
                };
            }
        };
        if !self.leg
            && svg.is_none()
            && pass.interrupted.is_none()
            && let [one] = &found[..]
        {
            let legs = conversations.legs_of(&one.call.id);
            if !legs.is_empty() {
                return self.show_legs(&input, legs, screen);
            }
        }
        let call_id = found.first().map(|found| found.call.call_id.clone()).unwrap_or_default();
        let mut found = found;
        if call_id != self.call && pass.interrupted.is_none() {
            // It was named by a prefix or its record: a second pass reads its messages.
            let bar = input.progress(screen, "reading");
            let mut push = |seen: &SipSeen<'_>| steps.push(seen);
            let mut finder = Finder::<true>::new(&call_id, &mut push);
            pass = input.pass(&mut finder, &bar);
            found = finder.found()?;
        }
        let selected = SelectedCalls::of(found, &self.call);
        match svg {
            Some(target) => draw(&selected, &steps, target, screen)?,
            None => self.show(&selected, &steps, screen).context(WRITING)?,
        }
        Ok(pass.exit(screen))
    }

    fn show(&self, selected: &SelectedCalls, steps: &Steps, screen: &mut Screen) -> io::Result<()> {
        let page = self.page(screen);
        let Screen { out, width, colour, .. } = screen;
        for (index, (found, range)) in selected.0.iter().enumerate() {
            if index > 0 {
                writeln!(out)?;
            }
            detail::write(out, &found.call, &found.records(), *width, *colour)?;
            writeln!(out)?;
            ladder::draw(out, &steps.within(*range), page)?;
            for remark in steps.remarks(*range) {
                writeln!(out, "{remark}")?;
            }
            for stream in &found.streams {
                writeln!(out)?;
                streams::detail(out, &stream.record, *width, *colour)?;
            }
        }
        out.flush()
    }

    /// Shows all legs of a conversation, with one ladder: another pass reads their messages.
    fn show_legs(
        &self,
        input: &Input,
        legs: HashMap<Id, Box<str>>,
        screen: &mut Screen,
    ) -> anyhow::Result<Exit> {
        let bar = input.progress(screen, "reading");
        let mut collector = LegCollector::new(legs, self.join.joiner());
        let pass = input.pass(&mut collector, &bar);
        let LegCollector { mut found, steps, .. } = collector;
        found.sort_by_key(|found| (found.call.start(), found.call.id));
        let page = self.page(screen);
        let Screen { out, width, colour, .. } = screen;
        let mut show = || -> io::Result<()> {
            for found in &found {
                detail::write(out, &found.call, &found.records(), *width, *colour)?;
                writeln!(out)?;
            }
            ladder::draw(out, steps.all(), page)?;
            for stream in found.iter().flat_map(|found| &found.streams) {
                writeln!(out)?;
                streams::detail(out, &stream.record, *width, *colour)?;
            }
            out.flush()
        };
        show().context(WRITING)?;
        Ok(pass.exit(screen))
    }

    /// Shows the messages of a Call-ID that is not a call, such as a registration or OPTIONS.
    fn without_a_call(&self, steps: &Steps, screen: &mut Screen) -> io::Result<()> {
        let page = self.page(screen);
        let heading = format!("{} is not a call; these messages have that Call-ID", text::shown(&self.call));
        writeln!(screen.out, "{}", Style::Bold.paint(&heading, screen.colour))?;
        ladder::draw(&mut *screen.out, steps.all(), page)?;
        screen.out.flush()
    }

    fn page(&self, screen: &Screen) -> Page {
        Page { width: screen.width, colour: screen.colour, ascii: self.ascii }
    }
}

/// Draws the ladder of the first call. If a Call-ID was reused, the id of a record selects another one.
fn draw(
    selected: &SelectedCalls,
    steps: &Steps,
    mut target: Target,
    screen: &mut Screen,
) -> anyhow::Result<()> {
    let Some((found, range)) = selected.0.first() else { return Ok(()) };
    let bands: Vec<_> = found.streams.iter().map(|stream| band(&stream.record, Vec::new())).collect();
    let path = target.path().display().to_string();
    let writing = || format!("cannot write {path}");
    svg(&mut target, &found.call, steps, *range, &bands).with_context(writing)?;
    target.keep()?;
    screen.remark(&path);
    if selected.0.len() > 1 {
        screen.remark(
"several calls have this Call-ID, and the first was drawn: select another by the id of its record",
        );
    }
    Ok(())
}

const WRITING: &str = "cannot write the results";
