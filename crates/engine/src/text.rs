//! Text and numbers as records keep them.

use crate::spare::Spare;

/// Longest text that a record keeps of one header field.
const MAX_TEXT: usize = 256;

/// As [`text`], in memory that is there already.
pub(crate) fn text_in(bytes: &[u8], spare: &Spare) -> Option<String> {
    match std::str::from_utf8(bytes) {
        Ok("") => None,
        Ok(text) => Some(spare.text(cut(text))),
        Err(_) => text(bytes).map(String::from),
    }
}

/// Text from the wire: UTF-8 unchanged, anything else read as Latin-1 (what such senders mean); cut at a
/// character boundary after 256 bytes; None when empty.
pub(crate) fn text(bytes: &[u8]) -> Option<Box<str>> {
    if bytes.is_empty() {
        return None;
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => cut(text).to_owned(),
        Err(_) => {
            let latin: String = bytes.iter().take(MAX_TEXT).map(|&byte| char::from(byte)).collect();
            cut(&latin).to_owned()
        }
    };
    Some(text.into_boxed_str())
}

fn cut(text: &str) -> &str {
    if text.len() <= MAX_TEXT {
        return text;
    }
    let end = (0..=MAX_TEXT).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
    &text[..end]
}

/// Six digits after the point: what a nanosecond clock tells, and the same text on every machine.
pub(crate) fn round(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

/// Three digits after the point for what is an estimate.
pub(crate) fn round3(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

/// RFC 4733 section 3.2, table 3.
pub(crate) fn digit_name(code: u8) -> Option<&'static str> {
    const NAMES: [&str; 17] =
        ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "*", "#", "A", "B", "C", "D", "flash"];
    NAMES.get(usize::from(code)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utf8_latin1_empty_and_long() {
        assert_eq!(text("Jiří".as_bytes()).as_deref(), Some("Jiří"));
        assert_eq!(text(b"J\xfcrgen").as_deref(), Some("Jürgen"));
        assert_eq!(text(b""), None);
        let long = "ř".repeat(300);
        assert_eq!(text(long.as_bytes()).map(|text| text.len()), Some(256));
    }
}
