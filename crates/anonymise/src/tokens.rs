//! Numbers as tokens: the same number is the same token wherever it stands, so that a caller can be followed
//! unseen.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::LazyLock;

use hmac::{Hmac, KeyInit, Mac};
use ringtap_model::filter::digits_of;
use ringtap_model::{Alarm, Call, FieldShape, FieldType, Record, Registration, Stream, User};
use ringtap_wire::sip;
use serde_json::Value;
use sha2::Sha256;

use crate::{Key, Mask};

/// Hides numbers and names of people in records and messages under a key.
#[derive(Clone)]
pub struct Tokens {
    key: [u8; 32],
}

impl fmt::Debug for Tokens {
    /// Without the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tokens")
    }
}

impl Tokens {
    /// Hides under this key.
    pub fn new(key: [u8; 32]) -> Self {
        Self { key }
    }

    /// The token of a number or name: `~` and ten characters, always the same for the same digits however
    /// they are written.
    pub fn token(&self, text: &str) -> String {
        let plain = digits_of(text).unwrap_or_else(|| text.to_lowercase());
        // A key of 32 bytes is always taken.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.key) else { return "~".to_owned() };
        mac.update(plain.as_bytes());
        let hash = mac.finalize().into_bytes();
        let letters = hash.iter().take(TOKEN).map(|byte| char::from(ALPHABET[usize::from(byte % 32)]));
        std::iter::once('~').chain(letters).collect()
    }

    /// Replaces numbers in a JSON document: the values of fields that have them, and every copy of those
    /// values in any other text of it, also where they are written in another way.
    pub fn json(&self, value: &mut Value) {
        let mut texts = BTreeMap::new();
        self.collect(value, false, &mut texts);
        let digits = texts.iter().filter_map(|(text, token)| Some((digits_of(text)?, token.clone())));
        let digits: Vec<_> = digits.filter(|(digits, _)| digits.len() >= FEWEST_DIGITS).collect();
        // The longest first, so that no number is replaced within a longer one.
        let mut texts: Vec<(String, String)> = texts.into_iter().collect();
        texts.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
        Found { texts, digits }.replace(value, "");
    }

    fn collect(&self, value: &Value, is_number: bool, found: &mut BTreeMap<String, String>) {
        match value {
            Value::String(text) if is_number && !text.is_empty() => {
                let user = user_of(text);
                let token = self.token(user);
                found.insert(user.to_owned(), token);
            }
            Value::Array(values) => values.iter().for_each(|value| self.collect(value, is_number, found)),
            Value::Object(fields) => {
                fields.iter().for_each(|(name, value)| self.collect(value, NUMBERS.contains(&&**name), found))
            }
            _ => {}
        }
    }

    /// A call without numbers.
    pub fn call(&self, call: &Call) -> Call {
        let masked = serde_json::to_value(call).ok().and_then(|mut value| {
            self.json(&mut value);
            serde_json::from_value(value).ok()
        });
        // What was a record is one after texts in it were replaced; if not, nothing is shown of it.
        masked.unwrap_or_else(|| Call {
            call_id: String::new(),
            from_user: None,
            to_user: None,
            ruri_user: None,
            from_display: None,
            asserted_identity: None,
            diverted_to: Vec::new(),
            notes: Vec::new(),
            dtmf: Vec::new(),
            ..call.clone()
        })
    }

    /// A SIP message without what names anybody; none if it is none. Names in it are replaced as
    /// [`Mask`] does, not by tokens, so that it remains a message.
    pub fn message(&self, raw: &[u8]) -> Option<Vec<u8>> {
        let message = sip::Message::parse(raw).ok()?;
        Some(Mask::new(&Key(self.key)).sip(&message))
    }
}

/// The numbers of a document, with their tokens.
struct Found {
    /// As they are written.
    texts: Vec<(String, String)>,
    /// Telephone numbers as digits.
    digits: Vec<(String, String)>,
}

impl Found {
    /// `name` is that of the field.
    fn replace(&self, value: &mut Value, name: &str) {
        let is_number = NUMBERS.contains(&name);
        match value {
            // The digits of an id or an address may be those of somebody's number, and are not.
            Value::String(_) if !is_number && FIXED.contains(name) => {}
            Value::String(text) => self.replace_in(text, is_number),
            Value::Array(values) => values.iter_mut().for_each(|value| self.replace(value, name)),
            Value::Object(fields) => {
                fields.iter_mut().for_each(|(name, value)| self.replace(value, name));
            }
            _ => {}
        }
    }

    fn replace_in(&self, text: &mut String, is_number: bool) {
        if is_id(text) {
            return;
        }
        for (number, token) in &self.texts {
            // Short texts (a name such as `1`) are replaced as values, not inside of others.
            if is_number && user_of(text) == number || number.len() >= SHORTEST && text.contains(&**number) {
                *text = text.replace(&**number, token);
            }
        }
        if let Some(replaced) = self.without_runs(text) {
            *text = replaced;
        }
    }

    /// The text without digits that are one of the numbers written in another way: with another prefix, or
    /// a piece of it. `None` where there are none.
    fn without_runs(&self, text: &str) -> Option<String> {
        let mut replaced: Option<String> = None;
        let mut done = 0;
        for (begin, run) in runs(text) {
            let Some((_, token)) = self.digits.iter().find(|(digits, _)| is_alike(run, digits)) else {
                continue;
            };
            let replaced = replaced.get_or_insert_default();
            replaced.push_str(&text[done..begin]);
            replaced.push_str(token);
            done = begin + run.len();
        }
        replaced.map(|replaced| replaced + &text[done..])
    }
}

/// Runs of digits, each with where it begins.
fn runs(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let begin = at + text[at..].find(|letter: char| letter.is_ascii_digit())?;
        let rest = &text[begin..];
        let length = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
        at = begin + length;
        Some((begin, &rest[..length]))
    })
    .filter(|(_, run)| run.len() > FEWEST_DIGITS)
}

/// Whether two runs of digits can be the same number, such as `0044` and `+44` in front of the same digits,
/// or a national and an international one.
fn is_alike(run: &str, digits: &str) -> bool {
    let common = run.bytes().rev().zip(digits.bytes().rev()).take_while(|(one, other)| one == other).count();
    run.contains(digits) || digits.contains(run) || common > FEWEST_DIGITS
}

/// Whether it is the id of a record, which has no number in it.
fn is_id(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// The user of `sip:user@host`, `user@host` or a plain number.
fn user_of(text: &str) -> &str {
    let text = text.trim_start_matches('<');
    let rest = ["sips:", "sip:", "tel:"].iter().find_map(|scheme| text.strip_prefix(scheme)).unwrap_or(text);
    let end = rest.find(['@', ';', '>']).unwrap_or(rest.len());
    &rest[..end]
}

/// Fields of records whose values are ids, addresses or fixed names: no text in which a number could stand.
static FIXED: LazyLock<BTreeSet<&'static str>> = LazyLock::new(|| {
    let (mut fixed, mut texts) = (BTreeSet::from(["type", "stream"]), BTreeSet::new());
    for shapes in [Call::SHAPE, Stream::SHAPE, Registration::SHAPE, Alarm::SHAPE, User::SHAPE] {
        sort_fields(shapes, &mut fixed, &mut texts);
    }
    &fixed - &texts
});

/// Adds the fields of a record and of its parts to those with fixed values, or to those with texts.
fn sort_fields(
    shapes: &[FieldShape],
    fixed: &mut BTreeSet<&'static str>,
    texts: &mut BTreeSet<&'static str>,
) {
    for shape in shapes {
        match shape.kind {
            FieldType::Id | FieldType::Ids | FieldType::Endpoint | FieldType::Name(_) => {
                fixed.insert(shape.name);
            }
            FieldType::Text | FieldType::Texts => {
                texts.insert(shape.name);
            }
            FieldType::Parts(_, shapes) => sort_fields(shapes, fixed, texts),
            FieldType::Integer | FieldType::Real => {}
        }
    }
}

/// Fields that have numbers or names of people.
const NUMBERS: &[&str] = &[
    "from_user",
    "from_display",
    "to_user",
    "ruri_user",
    "asserted_identity",
    "diverted_to",
    "display_name",
    "aor",
    "contact",
    "from",
    "to",
    "digit",
    "identity_number",
    "orig",
    "dest",
];
/// Letters of a token.
const TOKEN: usize = 10;
const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
/// A number of fewer characters is not looked for within other texts.
const SHORTEST: usize = 3;
/// A number of fewer digits is not looked for in other ways of writing. Ports have as many at most.
const FEWEST_DIGITS: usize = 5;

#[cfg(test)]
mod tests {
    use ringtap_testing::samples;
    use serde_json::json;

    use super::*;

    #[test]
    fn one_number_is_one_token_however_it_is_written() {
        let tokens = Tokens::new([7; 32]);
        assert_eq!(tokens.token("+44 20 7946-0138"), tokens.token("00442079460138"));
        assert_ne!(tokens.token("442079460138"), tokens.token("442079460139"));
        assert_ne!(Tokens::new([8; 32]).token("442079460138"), tokens.token("442079460138"));
    }

    /// A user called `full` or `192`, and a number whose digits an id has.
    #[test]
    fn an_id_an_address_and_a_fixed_name_stay_as_they_are() {
        for user in ["full", "192", &samples::call().id.to_string()[4..8]] {
            let call = Call { from_user: Some(user.to_owned()), ..samples::call() };
            let masked = Tokens::new([7; 32]).call(&call);
            assert_ne!(masked.from_user, call.from_user);
            let same = (masked.id, masked.recorded, masked.src, masked.streams);
            assert_eq!(same, (call.id, call.recorded, call.src, call.streams), "{user}");
        }
    }

    #[test]
    fn a_number_is_nowhere_in_a_masked_record() {
        let mut value = json!({
            "call": samples::call(),
            "sentences": [format!("It was transferred to {}.", samples::call().to_user.unwrap_or_default())],
            "users": [{ "aor": "442079460138@example.org" }],
            "text": "a call of 442079460138 failed",
        });
        let before = value.to_string();
        let numbers: Vec<String> =
            [samples::call().from_user, samples::call().to_user].into_iter().flatten().collect();
        assert!(numbers.iter().all(|number| before.contains(number)));
        Tokens::new([7; 32]).json(&mut value);
        let after = value.to_string();
        assert!(!after.contains("442079460138"), "{after}");
        for number in numbers.iter().filter(|number| number.len() >= SHORTEST) {
            assert!(!after.contains(number), "{number} in {after}");
        }
        let id = samples::call().id.to_string();
        assert!(after.contains(&id), "{after}");
    }

    #[test]
    fn a_number_that_is_written_otherwise_is_hidden_too() {
        let tokens = Tokens::new([7; 32]);
        let token = tokens.token("+442079460138");
        let mut value = json!({
            "from_user": "+442079460138",
            "texts": ["00442079460138", "02079460138, national", "x-79460138-y", "10.0.0.1:20794", "079461"],
            "id": "00000000442079460138000000000000",
        });
        tokens.json(&mut value);
        let expected = [
            token.clone(),
            format!("{token}, national"),
            format!("x-{token}-y"),
            "10.0.0.1:20794".to_owned(),
            "079461".to_owned(),
        ];
        assert_eq!(value["texts"], json!(expected));
        assert_eq!(value["id"], "00000000442079460138000000000000");
    }
}
