//! How large an answer may be, and what is cut where it would be larger.

use ringtap_report::text::shown;
use serde_json::Value;

/// Bytes that are left of an answer.
#[derive(Debug)]
pub(crate) struct Room(usize);

impl Default for Room {
    fn default() -> Self {
        Self(MOST_BYTES)
    }
}

impl Room {
    /// Takes the room of a part; false if it does not fit, and nothing is taken.
    pub(crate) fn take(&mut self, part: &Value) -> bool {
        let bytes = part.to_string().len() + 1;
        let fits = bytes <= self.0;
        if fits {
            self.0 -= bytes;
        }
        fits
    }

    /// The first parts that fit, and how many do not.
    pub(crate) fn fill(&mut self, parts: impl IntoIterator<Item = Value>) -> (Vec<Value>, usize) {
        let (mut taken, mut left_out) = (Vec::new(), 0);
        for part in parts {
            match left_out == 0 && self.take(&part) {
                true => taken.push(part),
                false => left_out += 1,
            }
        }
        (taken, left_out)
    }
}

/// Escapes what a terminal or a reader would act on, and cuts long texts, in a whole document.
pub(crate) fn clean(value: &mut Value) {
    match value {
        Value::String(text) => {
            let count = text.chars().count();
            let kept: String = text.chars().take(MOST_LETTERS).collect();
            let mut safe = shown(&kept).into_owned();
            if count > MOST_LETTERS {
                safe.push_str(&format!("… ({} more characters)", count - MOST_LETTERS));
            }
            *text = safe;
        }
        Value::Array(values) => values.iter_mut().for_each(clean),
        Value::Object(fields) => fields.iter_mut().for_each(|(_, value)| clean(value)),
        _ => {}
    }
}

/// Most bytes of an answer, without what says how to go on.
pub(crate) const MOST_BYTES: usize = 40_000;
/// Most characters of one text, such as a header or a line of a body.
const MOST_LETTERS: usize = 1_000;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn control_characters_are_escaped_and_long_texts_cut() {
        let mut value = json!({ "a": ["x\u{1b}[2J\ny\u{202e}"], "b": "z".repeat(MOST_LETTERS + 7) });
        clean(&mut value);
        assert_eq!(value["a"][0], "x\\x1b[2J\\ny\\u{202e}");
        assert!(value["b"].as_str().unwrap().ends_with("zz… (7 more characters)"));
    }

    #[test]
    fn an_answer_has_room_for_so_many_parts() {
        let mut room = Room::default();
        let (taken, left_out) = room.fill((0..100).map(|_| json!("x".repeat(1_000))));
        assert_eq!((taken.len() + left_out, taken.len()), (100, MOST_BYTES / 1_003));
        assert!(room.take(&json!("y")), "what is small still fits");
    }
}
