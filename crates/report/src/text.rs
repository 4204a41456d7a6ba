//! Escapes and measures text from the network for a terminal.
//!
//! Names, phrases and Call-IDs come from the network. Without escaping, `ESC ]` could change the window's
//! title, `CR` could overwrite a line, and a right-to-left override could reverse a number. So all text that
//! is shown passes through [`shown`] first.

use std::borrow::Cow;
use std::fmt::Write as _;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Marks the end of truncated text.
const CUT: char = '…';

/// `text` with every control, format and invisible character replaced by its escape (`\t`, `\x1b`,
/// `\u{202e}`).
pub fn shown(text: &str) -> Cow<'_, str> {
    if !text.chars().any(hostile) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\t' => safe.push_str("\\t"),
            '\n' => safe.push_str("\\n"),
            '\r' => safe.push_str("\\r"),
            // Writing to a String cannot fail.
            c if hostile(c) && (c as u32) < 0x100 => _ = write!(safe, "\\x{:02x}", c as u32),
            c if hostile(c) => _ = write!(safe, "\\u{{{:x}}}", c as u32),
            c => safe.push(c),
        }
    }
    Cow::Owned(safe)
}

/// Whether a terminal would act on `c`, or hide it: the C0 and C1 controls, Unicode's format characters (Cf),
/// line and paragraph separators, variation tags.
pub fn hostile(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// Columns that `text` takes on a terminal.
pub fn width(text: &str) -> usize {
    text.width()
}

/// `text` in at most `columns` columns; where something had to go, it ends in `…`.
pub fn cut(text: &str, columns: usize) -> Cow<'_, str> {
    if width(text) <= columns {
        return Cow::Borrowed(text);
    }
    let Some(room) = columns.checked_sub(1) else { return Cow::Borrowed("") };
    let mut short = String::new();
    let mut used = 0;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > room {
            break;
        }
        short.push(c);
    }
    short.push(CUT);
    Cow::Owned(short)
}

/// Which side of its column a text stands on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// The text first, then padding.
    Left,
    /// Padding first, then the text.
    Right,
    /// Padding on both sides.
    Centre,
}

/// `text` cut or padded to exactly `columns` columns, the padding being `fill`.
pub fn fit_with(text: &str, columns: usize, align: Align, fill: char) -> String {
    let text = cut(text, columns);
    let spare = columns.saturating_sub(width(&text));
    let before = match align {
        Align::Left => 0,
        Align::Right => spare,
        Align::Centre => spare / 2,
    };
    let mut line = String::with_capacity(text.len() + spare * fill.len_utf8());
    line.extend(std::iter::repeat_n(fill, before));
    line.push_str(&text);
    line.extend(std::iter::repeat_n(fill, spare - before));
    line
}

/// `text` cut or padded with spaces to exactly `columns` columns.
pub fn fit(text: &str, columns: usize, align: Align) -> String {
    fit_with(text, columns, align, ' ')
}

/// `1,234,567`.
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `count` and its noun: `1 call`, `2 calls`.
pub fn counted(count: u64, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        _ => format!("{count} {noun}s"),
    }
}

/// Breaks at spaces; a word too long for a line is cut.
pub fn wrap(text: &str, room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let word = cut(word, room);
        let line = lines.last_mut().map(|line| (width(line), line));
        match line {
            Some((0, line)) => line.push_str(&word),
            Some((used, line)) if used + 1 + width(&word) <= room => {
                line.push(' ');
                line.push_str(&word);
            }
            _ => lines.push(word.into_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn controls_lose_their_power() {
        assert_eq!(shown("plain ěšč 日本"), "plain ěšč 日本");
        assert_eq!(shown("a\x1b]0;owned\x07b"), "a\\x1b]0;owned\\x07b");
        assert_eq!(shown("x\ty\r\nz\u{9b}2J"), "x\\ty\\r\\nz\\x9b2J");
        assert_eq!(shown("123\u{202e}456"), "123\\u{202e}456");
        assert_eq!(shown("a\u{200b}b\u{7f}"), "a\\u{200b}b\\x7f");
    }

    #[test]
    fn wide_characters_take_two_columns() {
        assert_eq!(width("日本"), 4);
        assert_eq!(cut("日本語", 5), "日本…");
        assert_eq!(cut("日本語", 4), "日…");
        assert_eq!(fit("日本語", 4, Align::Left), "日… ");
        assert_eq!(fit("ab", 5, Align::Right), "   ab");
        assert_eq!(fit("ab", 5, Align::Centre), " ab  ");
        assert_eq!(cut("abc", 0), "");
        assert_eq!(cut("abc", 1), "…");
    }

    #[test]
    fn long_lines_wrap() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("extraordinary", 7), ["extrao…"]);
    }

    proptest! {
        #[test]
        fn any_text_fits_and_is_harmless(text in any::<String>(), columns in 0_usize..60) {
            let safe = shown(&text);
            prop_assert!(!safe.chars().any(hostile));
            prop_assert!(width(&cut(&safe, columns)) <= columns);
            prop_assert_eq!(width(&fit(&safe, columns, Align::Left)), columns);
        }
    }
}
