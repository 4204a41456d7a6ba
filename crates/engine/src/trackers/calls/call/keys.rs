//! Pressed keys that messages of a call tell of.

use ringtap_model::{Dtmf, DtmfSource, Nanos};
use ringtap_wire::sip::{KeyReport, Message, Method, key_code, key_report};

use super::{CallEntry, MAX_DIGITS};
use crate::text::digit_name;

impl CallEntry {
    /// Those of an INFO or a NOTIFY.
    pub(super) fn add_keys(&mut self, message: &Message<'_>, method: Method, time: Nanos) {
        let Some(report) = key_report(message) else { return };
        let source = if method == Method::Info { DtmfSource::Info } else { DtmfSource::Notify };
        self.keyed = Some(time);
        match report {
            KeyReport::Key(code) => self.add_key(code, source, time),
            KeyReport::Keys(keys) => {
                keys.iter()
                    .filter_map(|key| key_code(*key))
                    .for_each(|code| self.add_key(code, source, time));
            }
            KeyReport::Event { code, is_end } => {
                let pressed = std::mem::replace(&mut self.parties.pressed, (!is_end).then_some(code));
                // Its beginning may not have been seen.
                if pressed != Some(code) {
                    self.add_key(code, source, time);
                }
            }
        }
    }

    fn add_key(&mut self, code: u8, source: DtmfSource, time: Nanos) {
        let Some(digit) = digit_name(code) else { return };
        if self.parties.digits.len() < MAX_DIGITS {
            self.has_grown = true;
            self.parties.digits.push(Dtmf { digit: digit.to_owned(), source, time });
        }
    }
}
