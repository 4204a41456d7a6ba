//! Lines that people type into, and what is chosen by them.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ringtap_live::calls::DialogEntry;
use ringtap_model::CallState;

/// Longest line.
const LONGEST: usize = 200;

/// One line; the cursor stands at its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Line(pub(crate) String);

impl Line {
    /// Takes a key that writes or rubs out; others are left to whoever asks.
    pub(crate) fn key(&mut self, key: KeyEvent) {
        match key.code {
            KeyCode::Char('u') if key.modifiers.contains(KeyModifiers::CONTROL) => self.0.clear(),
            KeyCode::Char('w') if key.modifiers.contains(KeyModifiers::CONTROL) => {
                let end = self.0.trim_end().rfind(' ').map_or(0, |at| at + 1);
                self.0.truncate(end);
            }
            KeyCode::Char(_) if key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) => {}
            KeyCode::Char(c) if !c.is_control() && self.0.chars().count() < LONGEST => self.0.push(c),
            KeyCode::Backspace => _ = self.0.pop(),
            _ => {}
        }
    }
}

/// Which entries are shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Filter {
    /// Anywhere in what the list shows, or in the Call-ID.
    pub(crate) any: String,
    /// In the fields of [`FIELDS`].
    pub(crate) fields: [Line; 5],
    /// Only calls.
    pub(crate) calls: bool,
    /// Only calls in this state.
    pub(crate) state: Option<CallState>,
}

/// What the fields of a filter are held against.
pub(crate) const FIELDS: [&str; 5] = ["From", "To", "Source", "Destination", "Messages"];

impl Filter {
    /// Something is left out by it.
    pub(crate) fn is_set(&self) -> bool {
        *self != Self::default()
    }

    /// In a few words.
    pub(crate) fn told(&self) -> String {
        let mut parts = Vec::new();
        if !self.any.is_empty() {
            parts.push(format!("`{}`", self.any));
        }
        let fields = FIELDS.iter().zip(&self.fields).filter(|(_, line)| !line.0.is_empty());
        parts.extend(fields.map(|(name, line)| format!("{name} `{}`", line.0)));
        if self.calls {
            parts.push("calls only".to_string());
        }
        parts.extend(self.state.map(|state| state.name().to_string()));
        parts.join(", ")
    }

    /// Whether an entry is shown.
    pub(crate) fn passes(&self, entry: &DialogEntry) -> bool {
        let [from, to, src, dst, messages] = &self.fields;
        let state = entry.call.as_ref().map(|call| call.state);
        (!self.calls || entry.call.is_some())
            && self.state.is_none_or(|wanted| state == Some(wanted))
            && has(&from.0, || entry.from.to_string())
            && has(&to.0, || entry.to.to_string())
            && has(&src.0, || entry.src.to_string())
            && has(&dst.0, || entry.dst.to_string())
            && (messages.0.is_empty()
                || entry.messages.iter().any(|message| contains(message.text(), &messages.0)))
            && has(&self.any, || {
                let code = entry.call.as_ref().map_or(0, |call| call.final_code);
                format!(
                    "{}\n{}\n{}\n{}\n{}\n{}\n{code}",
                    entry.from,
                    entry.to,
                    entry.src,
                    entry.dst,
                    entry.call_id,
                    entry.state()
                )
            })
    }

    /// The state after the one chosen now.
    pub(crate) fn next_state(&mut self) {
        let place = self.state.and_then(|state| CallState::ALL.iter().position(|other| *other == state));
        self.state = CallState::ALL.get(place.map_or(0, |place| place + 1)).copied();
    }
}

fn has(wanted: &str, text: impl Fn() -> String) -> bool {
    wanted.is_empty() || contains(text().as_bytes(), wanted)
}

/// Without regard to the case of ASCII letters.
fn contains(text: &[u8], wanted: &str) -> bool {
    let wanted = wanted.as_bytes();
    text.windows(wanted.len().max(1)).any(|window| window.eq_ignore_ascii_case(wanted))
}
