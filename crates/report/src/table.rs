//! Tables whose columns fit the width of the terminal.

use std::io::{self, Write};

use ringtap_model::Nanos;

use crate::style::Style;
use crate::text::{self, Align};
use crate::time;

/// Between two columns.
const GAP: usize = 2;
/// Before text below a row.
const INDENT: usize = 4;

/// Layout of a column when the table is wider than the terminal.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its heading.
    pub title: &'static str,
    /// Aligns the column to the right, for numbers.
    pub align: Align,
    /// Width at which it reads well: columns that may leave do so before others get narrower than this.
    pub well: usize,
    /// Narrowest width at which it is still of use; at least its natural width means it never shrinks.
    pub least: usize,
    /// Columns with the highest number go first when shrinking is not enough; 0 stays.
    pub leave: u8,
}

impl Column {
    /// Text that may be cut: readily to `well` columns, at need to `least`.
    pub const fn text(title: &'static str, well: usize, least: usize, leave: u8) -> Self {
        Self { title, align: Align::Left, well, least, leave }
    }

    /// A figure: never cut, since half a number is a wrong number.
    pub const fn figure(title: &'static str, leave: u8) -> Self {
        Self { title, align: Align::Right, well: usize::MAX, least: usize::MAX, leave }
    }

    /// A word that is never cut.
    pub const fn word(title: &'static str, leave: u8) -> Self {
        Self { title, align: Align::Left, well: usize::MAX, least: usize::MAX, leave }
    }
}

/// One field of a row.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    /// A styled text; what came from the wire is made safe here, whoever wrote the row.
    pub fn new(text: impl AsRef<str>, style: Style) -> Self {
        Self { text: text::shown(text.as_ref()).into_owned(), style }
    }

    /// A plain text.
    pub fn plain(text: impl AsRef<str>) -> Self {
        Self::new(text, Style::Plain)
    }

    /// What is known, or a dim `-`.
    pub fn known(text: Option<impl AsRef<str>>) -> Self {
        match text {
            Some(text) => Self::plain(text),
            None => Self { text: "-".to_string(), style: Style::Dim },
        }
    }
}

/// Writes headings and rows, no line wider than `room` unless the columns that must stay need more.
///
/// The rows pass twice, to be measured and to be written: so their cells need not exist all at once. Each row
/// has as many cells as there are columns.
pub fn write(
    out: &mut dyn Write,
    columns: &[Column],
    rows: impl Iterator<Item = Vec<Cell>> + Clone,
    room: usize,
    colour: bool,
) -> io::Result<()> {
    write_told(out, columns, rows, |_| None::<&str>, room, colour)
}

/// Writes a table with text below some rows, wrapped to the room: `below` has the paragraphs of a row by its
/// number from 0.
pub fn write_told<'a, P: IntoIterator<Item = &'a str>>(
    out: &mut dyn Write,
    columns: &[Column],
    rows: impl Iterator<Item = Vec<Cell>> + Clone,
    below: impl Fn(usize) -> P,
    room: usize,
    colour: bool,
) -> io::Result<()> {
    let heading = |column: &Column| Cell { text: column.title.to_string(), style: Style::Bold };
    let headings: Vec<Cell> = columns.iter().map(heading).collect();
    let mut natural = vec![0; columns.len()];
    for row in std::iter::once(headings.clone()).chain(rows.clone()) {
        for (width, cell) in natural.iter_mut().zip(&row) {
            *width = text::width(&cell.text).max(*width);
        }
    }
    let widths = widths(columns, natural, room);
    line(out, columns, &headings, &widths, colour)?;
    for (number, row) in rows.enumerate() {
        line(out, columns, &row, &widths, colour)?;
        let wrapped = |told| text::wrap(&text::shown(told), room.saturating_sub(INDENT).max(20));
        for told in below(number).into_iter().flat_map(wrapped) {
            writeln!(out, "{:INDENT$}{}", "", Style::Dim.paint(&told, colour))?;
        }
    }
    Ok(())
}

fn line(
    out: &mut dyn Write,
    columns: &[Column],
    row: &[Cell],
    widths: &[Option<usize>],
    colour: bool,
) -> io::Result<()> {
    let last = widths.iter().rposition(Option::is_some);
    let mut first = true;
    for (index, (cell, column)) in row.iter().zip(columns).enumerate() {
        let Some(Some(width)) = widths.get(index) else { continue };
        if !std::mem::take(&mut first) {
            write!(out, "{:GAP$}", "")?;
        }
        let mut text = text::fit(&cell.text, *width, column.align);
        if Some(index) == last {
            text.truncate(text.trim_end().len());
        }
        out.write_all(cell.style.paint(&text, colour).as_bytes())?;
    }
    writeln!(out)
}

/// Writes the day above a table, with its zone, where it is the same for all rows. Returns whether each row
/// has to show it.
pub fn day(out: &mut dyn Write, times: impl Iterator<Item = Nanos>, colour: bool) -> io::Result<bool> {
    let mut days = times.map(time::date);
    let first = days.next();
    let (heading, dated) = match &first {
        Some(day) if days.all(|other| other == *day) => (format!("{day} ({})", time::zone_name()), false),
        _ => (format!("Times: {}", time::zone_name()), true),
    };
    writeln!(out, "{}", Style::Dim.paint(&heading, colour))?;
    Ok(dated)
}

/// Truncates a text to the width of the widest table: text from the network can be as long as a datagram.
pub fn kept(text: &str) -> Box<str> {
    const MOST: usize = 256;
    text.char_indices().nth(MOST).map_or(text, |(end, _)| &text[..end]).into()
}

/// The width of each column, `None` for one that has to go.
fn widths(columns: &[Column], natural: Vec<usize>, room: usize) -> Vec<Option<usize>> {
    let mut widths: Vec<Option<usize>> = natural.into_iter().map(Some).collect();
    loop {
        let excess = total(&widths).saturating_sub(room);
        if excess <= spare(columns, &widths) {
            shrink(columns, &mut widths, excess, |column| column.well);
            return widths;
        }
        let here = |(index, column): &(usize, &Column)| widths[*index].is_some() && column.leave > 0;
        match columns.iter().enumerate().filter(here).max_by_key(|(_, column)| column.leave) {
            Some((index, _)) => widths[index] = None,
            None => {
                shrink(columns, &mut widths, excess, |column| column.least);
                return widths;
            }
        }
    }
}

/// How much all columns together can give and still read well.
fn spare(columns: &[Column], widths: &[Option<usize>]) -> usize {
    let columns = columns.iter().zip(widths);
    columns.filter_map(|(column, width)| width.map(|width| width.saturating_sub(column.well))).sum()
}

/// Takes up to `excess` columns away, always from the column that has the most to give.
fn shrink(columns: &[Column], widths: &mut [Option<usize>], excess: usize, floor: fn(&Column) -> usize) {
    for _ in 0..excess {
        let givers = columns.iter().zip(widths.iter_mut()).filter_map(|(column, width)| {
            let width = width.as_mut().filter(|width| **width > floor(column))?;
            Some((*width - floor(column), width))
        });
        match givers.max_by_key(|(give, _)| *give) {
            Some((_, width)) => *width -= 1,
            None => return,
        }
    }
}

fn total(widths: &[Option<usize>]) -> usize {
    let shown: Vec<usize> = widths.iter().flatten().copied().collect();
    shown.iter().sum::<usize>() + GAP * shown.len().saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PEOPLE: &[Column] = &[
        Column::text("NAME", 6, 4, 0),
        Column::figure("AGE", 0),
        Column::text("TOWN", 5, 4, 0),
        Column::word("COUNTRY", 1),
    ];

    fn written(columns: &[Column], rows: &[Vec<Cell>], width: usize, colour: bool) -> String {
        let mut out = Vec::new();
        write(&mut out, columns, rows.iter().cloned(), width, colour).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn people(width: usize, colour: bool) -> String {
        let czech = ["Božena", "61", "Nové Město", "CZ"].map(Cell::plain).to_vec();
        let japanese =
            vec![Cell::plain("a\nb"), Cell::known(None::<&str>), Cell::plain("東京"), Cell::plain("JP")];
        written(PEOPLE, &[czech, japanese], width, colour)
    }

    #[test]
    fn columns_take_what_they_need() {
        let text = "NAME    AGE  TOWN        COUNTRY\n\
                    Božena   61  Nové Město  CZ\n\
                    a\\nb      -  東京        JP\n";
        assert_eq!(people(80, false), text);
    }

    #[test]
    fn too_narrow_cuts_the_widest_then_drops_the_least() {
        assert_eq!(people(28, false).lines().nth(1), Some("Božena   61  Nové …  CZ"));
        assert_eq!(people(18, false).lines().next(), Some("NAME    AGE  TOWN"));
        assert_eq!(people(18, false).lines().nth(1), Some("Božena   61  Nové…"));
        assert_eq!(people(17, false).lines().nth(1), Some("Bože…   61  Nové…"));
        assert_eq!(people(3, false).lines().nth(1), Some("Bož…   61  Nov…"));
    }

    #[test]
    fn colour_does_not_count() {
        let plain = people(28, false);
        let painted = people(28, true);
        assert!(painted.starts_with("\x1b[1mNAME"));
        assert_eq!(painted.replace("\x1b[1m", "").replace("\x1b[2m", "").replace("\x1b[0m", ""), plain);
    }

    proptest! {
        #[test]
        fn no_line_is_wider_than_asked(
            names in proptest::collection::vec(any::<String>(), 0..6),
            width in 20_usize..90,
        ) {
            let columns = [Column::text("A", 9, 3, 0), Column::figure("B", 2), Column::text("C", 9, 3, 1)];
            let row = |name: &String| vec![Cell::plain(name), Cell::plain("12345"), Cell::plain(name)];
            let rows: Vec<_> = names.iter().map(row).collect();
            for line in written(&columns, &rows, width, false).lines() {
                prop_assert!(text::width(line) <= width, "{line:?}");
            }
        }
    }
}
