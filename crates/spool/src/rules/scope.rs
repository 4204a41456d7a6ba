//! What is recorded of a call.

use std::str::FromStr;

use crate::rules::values::InvalidValue;

/// What is recorded of a call. Each scope includes those before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RecordingScope {
    /// Its record alone.
    #[default]
    Nothing,
    /// Its messages.
    Signalling,
    /// And the headers of its media packets, up to and including the RTP header.
    Headers,
    /// And its complete media.
    Full,
}

impl RecordingScope {
    /// All scopes, in order.
    pub const ALL: [Self; 4] = [Self::Nothing, Self::Signalling, Self::Headers, Self::Full];

    /// As the configuration writes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Signalling => "signalling",
            Self::Headers => "headers",
            Self::Full => "full",
        }
    }
}

impl FromStr for RecordingScope {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        Self::ALL.into_iter().find(|what| what.name() == text).ok_or_else(|| InvalidValue {
            given: text.to_owned(),
            right: "one of nothing, signalling, headers, full",
        })
    }
}
