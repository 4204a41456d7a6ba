//! Why bytes are not a message.

/// Why bytes are not a SIP message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ParseError {
    /// The first line is neither a request line nor a status line.
    StartLine,
    /// A status line whose code is not 100 to 699 (RFC 4475 section 3.1.2.19 uses 4294967301).
    StatusCode,
}

impl ParseError {
    /// Name for a counter.
    pub const fn name(self) -> &'static str {
        match self {
            ParseError::StartLine => "start_line",
            ParseError::StatusCode => "status_code",
        }
    }
}
