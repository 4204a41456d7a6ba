//! The windows in front of a page: help, questions and forms.

use ringtap_live::calls::is_under_way;
use ringtap_report::text::{self, counted, grouped};

use super::pen::{self, Pen, plain};
use crate::app::{App, Popup};
use crate::form::FIELDS;

const HELP: &[(&str, &str)] = &[
    ("Up Down PgUp PgDn Home End", "move (also j k g G)"),
    ("Enter", "ladder of the call; there: the message"),
    ("Space", "select a call; a selects all that are shown"),
    ("F2 s", "save calls as pcap: SIP, or SIP and RTP"),
    ("F3 /", "show only calls with this text"),
    ("F4 x", "extended ladder: all selected calls in one"),
    ("F5 Ctrl-L", "clear the list"),
    ("F6 r", "messages as text"),
    ("F7 f", "filter the list; in the ladder: colours (c)"),
    ("Space Space", "in the ladder: compare two messages"),
    ("F8 m", "streams, with loss, jitter, MOS over time"),
    ("F9 i", "statistics"),
    ("< > z", "sort by another column; reverse the order"),
    ("p A", "pause the display; stay at the newest call"),
    ("Click wheel", "choose, open, sort; M: leave the mouse alone"),
    ("t Left Right", "in the ladder: text beside it; other hosts"),
    ("Esc q", "back, finally quit; Ctrl-C quits at once"),
];
/// Column of the explanations in the help.
const DOES: u16 = 30;

pub(super) fn draw(app: &App, popup: &Popup, pen: &mut Pen<'_>) {
    match popup {
        Popup::Help => help(pen),
        Popup::Quit => {
            let under_way = app.view.entries.iter().filter(|entry| is_under_way(entry)).count();
            let question = if app.view.over.is_some() || under_way == 0 {
                "Quit ringtap?".to_string()
            } else {
                format!("Quit ringtap? {} under way.", counted(under_way as u64, "call"))
            };
            let mut part = window(pen, 46, 5, "Quit");
            part.put(2, 3, &plain(question));
            part.put(3, 3, &pen::dim("Enter or y: yes   any other key: no"));
        }
        Popup::Search(line) => {
            let row = 2;
            let width = pen.width();
            let mut part = pen.part(0, row, width, 1);
            part.line(0, &[pen::bold(" Search: "), plain(line.0.clone()), pen::bar(" ")]);
        }
        Popup::Filter { filter, at } => {
            let mut part = window(pen, 56, FIELDS.len() as u16 + 6, "Show only calls with");
            let name = |index: usize, name: &str| {
                let mark = if index == *at { ">" } else { " " };
                pen::bold(format!("{mark} {name:<13}"))
            };
            for (index, field) in FIELDS.iter().enumerate() {
                let row = index as u16 + 1;
                let column = part.put(row, 2, &name(index, field));
                // The end of the typed text stays visible.
                let skip = filter.fields[index].0.chars().count().saturating_sub(34);
                let end: String = filter.fields[index].0.chars().skip(skip).collect();
                let column = part.put(row, column, &plain(end));
                if index == *at {
                    part.put(row, column, &pen::bar(" "));
                }
            }
            let calls = if filter.calls { "yes" } else { "no" };
            let row = FIELDS.len() as u16 + 2;
            let column = part.put(row, 2, &name(FIELDS.len(), "Calls only"));
            part.put(row, column, &plain(calls));
            let state = filter.state.map_or("any", |state| state.name());
            let column = part.put(row + 1, 2, &name(FIELDS.len() + 1, "State"));
            part.put(row + 1, column, &plain(state));
        }
        Popup::Save { path, all, media } => {
            let calls = app.to_save(*all);
            let messages: usize = calls.iter().map(|call| call.messages.len()).sum();
            let mut part = window(pen, 66, 8, "Save as pcap");
            let column = part.put(2, 3, &pen::bold("File  "));
            let column = part.put(2, column, &plain(text::cut(&path.0, 50).into_owned()));
            part.put(2, column, &pen::bar(" "));
            let which = if *all { "every call that is shown" } else { "the selected calls, or the open one" };
            let what = format!(
                "{which}: {}, {}",
                counted(calls.len() as u64, "call"),
                counted(messages as u64, "message")
            );
            part.put(3, 3, &plain(what));
            let packets = if *media { "SIP and RTP" } else { "SIP only" };
            let column = part.put(5, 3, &pen::bold(format!("{packets:<13}")));
            part.put(5, column, &pen::dim("Up or Down changes it"));
            let (kept, gone) = app.view.totals.media;
            let kept = format!(
                "{} media packets are kept, {} older ones had to leave",
                grouped(kept),
                grouped(gone)
            );
            part.put(6, 3, &pen::dim(kept));
        }
    }
}

fn help(pen: &mut Pen<'_>) {
    let height = (HELP.len() as u16 + 4).min(pen.height());
    let width = pen.width().min(78);
    let mut part = window(pen, width, height, "Keys");
    for (row, (keys, does)) in HELP.iter().enumerate() {
        let row = row as u16 + 2;
        if row + 1 < height {
            part.put(row, 2, &pen::bold(*keys));
            let room = usize::from(width.saturating_sub(DOES + 2));
            part.put(row, usize::from(DOES), &plain(text::cut(does, room).into_owned()));
        }
    }
}

/// A framed window in the middle of the screen.
fn window<'a>(pen: &'a mut Pen<'_>, width: u16, height: u16, title: &str) -> Pen<'a> {
    let (width, height) = (width.min(pen.width()), height.min(pen.height()));
    let (column, row) = ((pen.width() - width) / 2, (pen.height() - height) / 2);
    let mut part = pen.part(column, row, width, height);
    part.frame(title);
    part
}
