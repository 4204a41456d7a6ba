//! What somebody did, in words, with numbers that can be erased.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What was done: text, and between it what may have to be erased some day. `Display` gives all of it.
///
/// ```
/// use ringtap_access::What;
///
/// let what = What::from("search number:").number("*0138").text(" at:15:00");
/// assert_eq!(what.to_string(), "search number:*0138 at:15:00");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct What {
    pieces: Vec<Piece>,
}

/// A piece of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Stored as it is.
    Text(String),
    /// A number, a user name, or whatever else names a person: sealed under the key of its day.
    Number(String),
    /// A number that the reader did not ask for.
    Hidden,
    /// A number whose key was erased.
    Forgotten,
}

impl What {
    /// Adds text.
    #[must_use]
    pub fn text(self, text: impl Into<String>) -> Self {
        self.with(Piece::Text(text.into()))
    }

    /// Adds a number, a user name, or whatever else names a person.
    #[must_use]
    pub fn number(self, number: impl Into<String>) -> Self {
        self.with(Piece::Number(number.into()))
    }

    pub(crate) fn with(mut self, piece: Piece) -> Self {
        self.pieces.push(piece);
        self
    }

    /// Its pieces, in order.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }
}

impl From<&str> for What {
    fn from(text: &str) -> Self {
        Self::default().text(text)
    }
}

impl From<String> for What {
    fn from(text: String) -> Self {
        Self::default().text(text)
    }
}

impl FromIterator<Piece> for What {
    fn from_iter<I: IntoIterator<Item = Piece>>(pieces: I) -> Self {
        Self { pieces: pieces.into_iter().collect() }
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pieces.iter().try_for_each(|piece| match piece {
            Piece::Text(text) | Piece::Number(text) => f.write_str(text),
            Piece::Hidden => f.write_str("(hidden)"),
            Piece::Forgotten => f.write_str("(forgotten)"),
        })
    }
}

/// A piece as it is stored: a text, or `{"sealed": "..."}` in hex digits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum StoredPiece {
    Text(String),
    Sealed { sealed: String },
}
