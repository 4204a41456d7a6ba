//! Numbers hidden from those who may not see them: the same number is the same token wherever it stands.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::LazyLock;

use anyhow::{Context, bail};
use hmac::{Hmac, KeyInit, Mac};
use ringtap_anonymise::{Key, Mask};
use ringtap_model::{Alarm, Call, FieldShape, FieldType, Record, Registration, Stream, User};
use ringtap_wire::sip;
use serde_json::Value;
use sha2::Sha256;

/// The key of this installation: made at the first start, and kept, since tokens would change with it.
pub(crate) fn key(dir: &Path) -> anyhow::Result<[u8; 32]> {
    let path = dir.join("masking.key");
    let named = || format!("the key that hides numbers, {}", path.display());
    match fs::read(&path) {
        Ok(bytes) => match <[u8; 32]>::try_from(&*bytes) {
            Ok(key) => Ok(key),
            Err(_) => bail!("{} has {} bytes instead of 32: restore it from a backup", named(), bytes.len()),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let mut key = [0; 32];
            getrandom::fill(&mut key).map_err(|error| anyhow::anyhow!("no random bytes: {error}"))?;
            let mut file = OpenOptions::new();
            let file = file.write(true).create_new(true).mode(0o600).open(&path);
            let write = |mut file: fs::File| {
                file.write_all(&key)?;
                file.sync_all()
            };
            file.and_then(write).with_context(|| format!("{} cannot be written", named()))?;
            Ok(key)
        }
        Err(error) => Err(error).with_context(|| format!("{} cannot be read", named())),
    }
}

/// Hides numbers and names of people under a key of this installation.
#[derive(Clone)]
pub(crate) struct Masker {
    key: [u8; 32],
}

impl std::fmt::Debug for Masker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Masker")
    }
}

impl Masker {
    /// Hides under this key.
    pub(crate) fn new(key: [u8; 32]) -> Self {
        Self { key }
    }

    /// The token of a number or name: `~` and ten characters, always the same for the same digits however
    /// they are written.
    pub(crate) fn token(&self, text: &str) -> String {
        let plain: String = match ringtap_model::filter::digits_of(text) {
            Some(digits) => digits,
            None => text.to_lowercase(),
        };
        // A key of 32 bytes is always taken.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.key) else { return "~".to_owned() };
        mac.update(plain.as_bytes());
        let hash = mac.finalize().into_bytes();
        let letters = hash.iter().take(TOKEN).map(|byte| char::from(ALPHABET[usize::from(byte % 32)]));
        std::iter::once('~').chain(letters).collect()
    }

    /// Replaces numbers in a JSON document: the values of fields that have them, and every copy of those
    /// values in any other text of it.
    pub(crate) fn json(&self, value: &mut Value) {
        let mut found = BTreeMap::new();
        self.collect(value, false, &mut found);
        // The longest first, so that no number is replaced within a longer one.
        let mut found: Vec<(String, String)> = found.into_iter().collect();
        found.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
        replace(value, "", &found);
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
    pub(crate) fn call(&self, call: &Call) -> Call {
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

    /// A SIP message without what names anybody; none if it is none.
    pub(crate) fn message(&self, raw: &[u8]) -> Option<Vec<u8>> {
        let message = sip::Message::parse(raw).ok()?;
        Some(Mask::new(&Key(self.key)).sip(&message))
    }
}

/// `name` is that of the field.
fn replace(value: &mut Value, name: &str, found: &[(String, String)]) {
    let is_number = NUMBERS.contains(&name);
    match value {
        // The digits of an id or an address may be those of somebody's number, and are not.
        Value::String(_) if !is_number && FIXED.contains(name) => {}
        Value::String(text) => {
            for (number, token) in found {
                // Short texts (a name such as `1`) are replaced as values, not inside of others.
                if is_number && user_of(text) == number
                    || number.len() >= SHORTEST && text.contains(&**number)
                {
                    *text = text.replace(&**number, token);
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| replace(value, name, found)),
        Value::Object(fields) => fields.iter_mut().for_each(|(name, value)| replace(value, name, found)),
        _ => {}
    }
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

#[cfg(test)]
mod tests {
    use ringtap_testing::samples;
    use serde_json::json;

    use super::*;

    #[test]
    fn one_number_is_one_token_however_it_is_written() {
        let masker = Masker::new([7; 32]);
        assert_eq!(masker.token("+44 20 7946-0138"), masker.token("00442079460138"));
        assert_ne!(masker.token("442079460138"), masker.token("442079460139"));
        assert_ne!(Masker::new([8; 32]).token("442079460138"), masker.token("442079460138"));
    }

    /// A user called `full` or `192`, and a number whose digits an id has.
    #[test]
    fn an_id_an_address_and_a_fixed_name_stay_as_they_are() {
        for user in ["full", "192", &samples::call().id.to_string()[4..8]] {
            let call = Call { from_user: Some(user.to_owned()), ..samples::call() };
            let masked = Masker::new([7; 32]).call(&call);
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
        Masker::new([7; 32]).json(&mut value);
        let after = value.to_string();
        assert!(!after.contains("442079460138"), "{after}");
        for number in numbers.iter().filter(|number| number.len() >= SHORTEST) {
            assert!(!after.contains(number), "{number} in {after}");
        }
    }
}
