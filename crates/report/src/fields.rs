//! Lines of a name and a value.

use std::io::{self, Write};

use crate::style::Style;
use crate::text::{self, wrap};

/// How such lines are laid out.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Before the name.
    pub indent: usize,
    /// Columns of the name.
    pub name: usize,
    /// Columns of the whole line.
    pub width: usize,
    /// Names may be bold, values in their style.
    pub colour: bool,
}

impl Layout {
    /// The fields of a call or a stream, under its heading.
    pub const fn under_heading(width: usize) -> Self {
        Self { indent: 2, name: 14, width, colour: false }
    }

    /// Writes one field; a long value goes on below itself. Whatever is in the value, it is harmless
    /// afterwards.
    pub fn line(self, out: &mut dyn Write, name: &str, value: &str, style: Style) -> io::Result<()> {
        let before = self.indent + self.name;
        let lines = wrap(&text::shown(value), self.width.saturating_sub(before).max(20));
        for (index, line) in lines.iter().enumerate() {
            let name = if index == 0 { name } else { "" };
            let name = Style::Bold.paint(&format!("{name:<width$}", width = self.name), self.colour);
            writeln!(out, "{:indent$}{name}{}", "", style.paint(line, self.colour), indent = self.indent)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_values_go_on_below() {
        let mut out = Vec::new();
        let layout = Layout { indent: 1, name: 5, width: 30, colour: false };
        layout.line(&mut out, "Name", "a value that is\tlonger than the line", Style::Bad).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, " Name a value that is\\tlonger\n      than the line\n");
    }
}
