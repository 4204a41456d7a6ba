//! The header of a packet, and its place in a stream.

use super::attribute::{Attribute, Attributes};
use super::number::Number;

/// Code, identifier, length and authenticator (RFC 2865 section 3).
const HEADER: usize = 20;
/// Longest packet (RFC 2865 section 3). RFC 7930 allows 65,535 over TCP, which is accepted everywhere.
const USUAL_MOST: usize = 4096;

/// Codes of packets (RFC 2865 section 3, RFC 2866 section 3, RFC 5176 section 2.3).
pub mod code {
    /// A user wants in.
    pub const ACCESS_REQUEST: u8 = 1;
    /// It is let in.
    pub const ACCESS_ACCEPT: u8 = 2;
    /// It is turned away.
    pub const ACCESS_REJECT: u8 = 3;
    /// The NAS reports.
    pub const ACCOUNTING_REQUEST: u8 = 4;
    /// The server has the report.
    pub const ACCOUNTING_RESPONSE: u8 = 5;
    /// The user is asked for more.
    pub const ACCESS_CHALLENGE: u8 = 11;
    /// Is the server alive (RFC 5997)?
    pub const STATUS_SERVER: u8 = 12;
    /// Is the client alive?
    pub const STATUS_CLIENT: u8 = 13;
    /// The NAS is told to end a session.
    pub const DISCONNECT_REQUEST: u8 = 40;
    /// It did.
    pub const DISCONNECT_ACK: u8 = 41;
    /// It did not.
    pub const DISCONNECT_NAK: u8 = 42;
    /// The NAS is told to change a session.
    pub const COA_REQUEST: u8 = 43;
    /// It did.
    pub const COA_ACK: u8 = 44;
    /// It did not.
    pub const COA_NAK: u8 = 45;

    /// Whether it is one of these.
    pub const fn is_known(code: u8) -> bool {
        matches!(code, 1..=5 | 11..=13 | 40..=45)
    }

    /// Whether it is a request, which waits for an answer.
    pub const fn is_request(code: u8) -> bool {
        matches!(
            code,
            ACCESS_REQUEST
                | ACCOUNTING_REQUEST
                | STATUS_SERVER
                | STATUS_CLIENT
                | DISCONNECT_REQUEST
                | COA_REQUEST
        )
    }

    /// The request that an answer of this code belongs to. Status-Server may be answered with Access-Accept
    /// or Accounting-Response (RFC 5997 section 2.1): the caller looks for it too.
    pub const fn request_of(code: u8) -> Option<u8> {
        match code {
            ACCESS_ACCEPT | ACCESS_REJECT | ACCESS_CHALLENGE => Some(ACCESS_REQUEST),
            ACCOUNTING_RESPONSE => Some(ACCOUNTING_REQUEST),
            DISCONNECT_ACK | DISCONNECT_NAK => Some(DISCONNECT_REQUEST),
            COA_ACK | COA_NAK => Some(COA_REQUEST),
            _ => None,
        }
    }
}

/// Why bytes are not a RADIUS packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ParseError {
    /// The code is none of [`code`].
    UnknownCode,
    /// Shorter than the header, or than the length that it states.
    Truncated,
    /// The stated length is smaller than the header.
    BadLength,
    /// An attribute shorter than its own header, or longer than what is left.
    BadAttribute,
}

/// The length that a packet states, header included: its length in a TCP stream (RFC 6613 section 2.6.4).
///
/// `None` while fewer than four bytes have arrived.
///
/// # Errors
///
/// [`ParseError::UnknownCode`] and [`ParseError::BadLength`]: the stream is out of step.
pub fn total_len(data: &[u8]) -> Result<Option<usize>, ParseError> {
    if data.first().is_some_and(|code| !code::is_known(*code)) {
        return Err(ParseError::UnknownCode);
    }
    let Some(&[_, _, high, low]) = data.first_chunk::<4>() else { return Ok(None) };
    match usize::from(u16::from_be_bytes([high, low])) {
        len if len < HEADER => Err(ParseError::BadLength),
        len => Ok(Some(len)),
    }
}

/// Whether a datagram on any port is most probably RADIUS: it has a known code, its length is the stated one,
/// and its attributes, of which there is at least one, end where it does.
pub fn looks_like_radius(data: &[u8]) -> bool {
    (HEADER + 2..=USUAL_MOST).contains(&data.len())
        && total_len(data) == Ok(Some(data.len()))
        && View::parse(data).is_ok()
}

/// A RADIUS packet whose attributes fit it.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// INVARIANT: at least [`HEADER`] bytes, then attributes that each have two bytes or more and end within.
    data: &'a [u8],
    authenticator: &'a [u8; 16],
}

impl<'a> View<'a> {
    /// Checks the header and the lengths of all attributes. Bytes after the stated length are padding (RFC
    /// 2865 section 3).
    ///
    /// # Errors
    ///
    /// Why the bytes are no RADIUS packet.
    pub fn parse(data: &'a [u8]) -> Result<Self, ParseError> {
        let len = total_len(data)?.ok_or(ParseError::Truncated)?;
        let data = data.get(..len).ok_or(ParseError::Truncated)?;
        let authenticator = data.get(4..).and_then(<[u8]>::first_chunk).ok_or(ParseError::Truncated)?;
        let mut rest = data.get(HEADER..).unwrap_or_default();
        while !rest.is_empty() {
            let &[_, len] = rest.first_chunk().ok_or(ParseError::BadAttribute)?;
            if len < 2 {
                return Err(ParseError::BadAttribute);
            }
            // INVARIANT: len >= 2, so each iteration consumes bytes.
            rest = rest.get(usize::from(len)..).ok_or(ParseError::BadAttribute)?;
        }
        Ok(Self { data, authenticator })
    }

    /// What it is: see [`code`].
    pub fn code(&self) -> u8 {
        self.data.first().copied().unwrap_or_default()
    }

    /// Matches answers to requests.
    pub fn identifier(&self) -> u8 {
        self.data.get(1).copied().unwrap_or_default()
    }

    /// Request Authenticator or Response Authenticator.
    pub fn authenticator(&self) -> &'a [u8; 16] {
        self.authenticator
    }

    /// The packet, without what follows its stated length.
    pub fn bytes(&self) -> &'a [u8] {
        self.data
    }

    /// Its attributes in order; those inside a container instead of the container.
    pub fn attributes(&self) -> Attributes<'a> {
        Attributes::new(self.data, HEADER)
    }

    /// The first attribute of that number.
    pub fn find(&self, number: Number) -> Option<Attribute<'a>> {
        self.attributes().find(|attribute| attribute.number == number)
    }
}
