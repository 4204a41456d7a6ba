//! One JSON object per line, with the field names of the records.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{CharEscape, Formatter};

use crate::text;

/// Writes `record` and a line feed.
pub fn line(out: &mut dyn Write, record: &impl Serialize) -> io::Result<()> {
    Lines::default().write(out, record)
}

/// Writes many records, formatting each in a reused buffer.
#[derive(Default)]
pub struct Lines(Vec<u8>);

impl Lines {
    /// Writes `record` and a line feed.
    pub fn write(&mut self, out: &mut dyn Write, record: &impl Serialize) -> io::Result<()> {
        self.0.clear();
        // Format in memory: a record is written in hundreds of pieces of a few bytes.
        let mut serializer = serde_json::Serializer::with_formatter(&mut self.0, Harmless);
        record.serialize(&mut serializer).map_err(io::Error::from)?;
        self.0.push(b'\n');
        out.write_all(&self.0)
    }
}

/// Compact JSON in which what a terminal would act on is escaped too: serde_json leaves DEL, the C1 controls
/// and direction overrides as they are, RFC 8259 section 7 lets any character be escaped. The value stays the
/// same.
struct Harmless;

impl Formatter for Harmless {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, out: &mut W, fragment: &str) -> io::Result<()> {
        // Nearly all text has no such character.
        if fragment.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            return out.write_all(fragment.as_bytes());
        }
        let mut rest = fragment;
        while let Some((index, c)) = rest.char_indices().find(|(_, c)| text::hostile(*c)) {
            let (before, after) = rest.split_at(index);
            out.write_all(before.as_bytes())?;
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(out, "\\u{unit:04x}")?;
            }
            rest = &after[c.len_utf8()..];
        }
        out.write_all(rest.as_bytes())
    }

    fn write_char_escape<W: ?Sized + Write>(&mut self, out: &mut W, escape: CharEscape) -> io::Result<()> {
        let plain = match escape {
            CharEscape::Quote => "\\\"",
            CharEscape::ReverseSolidus => "\\\\",
            CharEscape::Solidus => "/",
            CharEscape::Backspace => "\\b",
            CharEscape::FormFeed => "\\f",
            CharEscape::LineFeed => "\\n",
            CharEscape::CarriageReturn => "\\r",
            CharEscape::Tab => "\\t",
            CharEscape::AsciiControl(byte) => return write!(out, "\\u{byte:04x}"),
        };
        out.write_all(plain.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ringtap_testing::samples;
    use serde_json::Value;

    use super::*;

    #[test]
    fn a_record_is_one_line() {
        let mut out = Vec::new();
        line(&mut out, &samples::call()).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.starts_with(r#"{"type":"call","id":"abababab"#), "{text}");
        assert_eq!(text.matches('\n').count(), 1);
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["invite_us"], 1_795_226_400_000_000_u64);
        assert_eq!(value["asserted_identity"], Value::Null);
    }

    #[test]
    fn a_line_leaves_nothing_to_the_next() {
        let mut lines = Lines::default();
        for record in [&samples::hostile_call(), &samples::call()] {
            let (mut one, mut other) = (Vec::new(), Vec::new());
            lines.write(&mut one, record).unwrap();
            line(&mut other, record).unwrap();
            assert_eq!(one, other);
        }
    }

    proptest! {
        #[test]
        fn any_text_comes_back_and_is_harmless(string in any::<String>()) {
            let mut out = Vec::new();
            line(&mut out, &string).unwrap();
            let written = String::from_utf8(out).unwrap();
            prop_assert!(!written.trim_end_matches('\n').chars().any(text::hostile));
            prop_assert_eq!(serde_json::from_str::<String>(&written).unwrap(), string);
        }
    }
}
