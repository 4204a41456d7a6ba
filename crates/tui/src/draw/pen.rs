//! Writing into a buffer: measured, cut, and harmless whoever wrote the text.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ringtap_live::calls::SipMessage;
use ringtap_report::style;
use ringtap_report::text;

/// A text in a style.
#[derive(Clone, Debug)]
pub(super) struct Ink {
    pub(super) text: String,
    pub(super) style: Style,
}

pub(super) fn plain(text: impl Into<String>) -> Ink {
    Ink { text: text.into(), style: Style::new() }
}

pub(super) fn bold(text: impl Into<String>) -> Ink {
    Ink { text: text.into(), style: Style::new().add_modifier(Modifier::BOLD) }
}

pub(super) fn dim(text: impl Into<String>) -> Ink {
    Ink { text: text.into(), style: Style::new().add_modifier(Modifier::DIM) }
}

/// Headings of columns, and the names of keys.
pub(super) fn bar(text: impl Into<String>) -> Ink {
    Ink { text: text.into(), style: Style::new().add_modifier(Modifier::REVERSED) }
}

pub(super) fn styled(text: impl Into<String>, style: style::Style) -> Ink {
    Ink { text: text.into(), style: of(style) }
}

pub(super) fn coloured(text: impl Into<String>, colour: Color) -> Ink {
    Ink { text: text.into(), style: Style::new().fg(colour) }
}

/// The house's styles in a terminal's.
pub(super) fn of(style: style::Style) -> Style {
    match style {
        style::Style::Plain => Style::new(),
        style::Style::Bold => Style::new().add_modifier(Modifier::BOLD),
        style::Style::Dim => Style::new().add_modifier(Modifier::DIM),
        style::Style::Good => Style::new().fg(Color::Green),
        style::Style::Fair => Style::new().fg(Color::Yellow),
        style::Style::Bad => Style::new().fg(Color::Red),
    }
}

/// One of a few colours that tell calls apart.
pub(super) fn of_call(index: usize) -> Color {
    const COLOURS: [Color; 6] =
        [Color::Cyan, Color::Yellow, Color::Green, Color::Magenta, Color::Blue, Color::Red];
    COLOURS[index % COLOURS.len()]
}

/// Requests by their method, answers by their class.
pub(super) fn of_method(message: &SipMessage) -> Style {
    let method = message.label.trim_start_matches("re-").split(' ').next().unwrap_or_default();
    let colour = match (message.code, method) {
        (Some(..=199), _) | (None, "ACK" | "PRACK") => return Style::new(),
        (Some(..=299), _) => Color::Green,
        (Some(..=399), _) | (None, "CANCEL") => Color::Yellow,
        (Some(_), _) => Color::Red,
        (None, "INVITE") => Color::Magenta,
        (None, "BYE") => Color::Blue,
        (None, _) => Color::Cyan,
    };
    Style::new().fg(colour)
}

/// Writes into one part of a buffer.
pub(super) struct Pen<'a> {
    buffer: &'a mut Buffer,
    area: Rect,
    colour: bool,
}

impl<'a> Pen<'a> {
    pub(super) fn new(buffer: &'a mut Buffer, area: Rect, colour: bool) -> Self {
        Self { buffer, area, colour }
    }

    pub(super) fn width(&self) -> u16 {
        self.area.width
    }

    pub(super) fn height(&self) -> u16 {
        self.area.height
    }

    /// A pen for a part, whose cells are emptied.
    pub(super) fn part(&mut self, column: u16, row: u16, width: u16, height: u16) -> Pen<'_> {
        let area = Rect::new(self.area.x + column, self.area.y + row, width, height).intersection(self.area);
        for y in area.top()..area.bottom() {
            for x in area.left()..area.right() {
                if let Some(cell) = self.buffer.cell_mut((x, y)) {
                    cell.reset();
                }
            }
        }
        Pen { buffer: &mut *self.buffer, area, colour: self.colour }
    }

    /// Writes from `column` on, as much as fits; gives the column after it.
    pub(super) fn put(&mut self, row: u16, column: usize, ink: &Ink) -> usize {
        let room = usize::from(self.area.width).saturating_sub(column);
        if row >= self.area.height || room == 0 {
            return column;
        }
        let shown = text::shown(&ink.text);
        let shown = text::cut(&shown, room);
        let style = if self.colour { ink.style } else { Style { fg: None, bg: None, ..ink.style } };
        self.buffer.set_stringn(self.area.x + column as u16, self.area.y + row, &shown, room, style);
        column + text::width(&shown)
    }

    /// Writes pieces one after the other from the left edge on.
    pub(super) fn line(&mut self, row: u16, inks: &[Ink]) {
        let mut column = 0;
        for ink in inks {
            column = self.put(row, column, ink);
        }
    }

    /// Turns a row's colours round: where the cursor is.
    pub(super) fn mark(&mut self, row: u16) {
        if row < self.area.height {
            let area = Rect::new(self.area.x, self.area.y + row, self.area.width, 1);
            self.buffer.set_style(area, Style::new().add_modifier(Modifier::REVERSED));
        }
    }

    /// A bar over the whole width.
    pub(super) fn heading(&mut self, row: u16, text: &str) {
        let padded = text::fit(&text::shown(text), usize::from(self.area.width), text::Align::Left);
        self.put(row, 0, &bar(padded));
    }

    /// A frame around the part, with a title.
    pub(super) fn frame(&mut self, title: &str) {
        let (width, height) = (usize::from(self.area.width), self.area.height);
        if width < 4 || height < 2 {
            return;
        }
        let line = "─".repeat(width - 2);
        self.put(0, 0, &plain(format!("┌{line}┐")));
        self.put(height - 1, 0, &plain(format!("└{line}┘")));
        for row in 1..height - 1 {
            self.put(row, 0, &plain("│"));
            self.put(row, width - 1, &plain("│"));
        }
        let title = text::shown(title).into_owned();
        self.put(0, 2, &bold(format!(" {} ", text::cut(&title, width.saturating_sub(6)))));
    }
}
