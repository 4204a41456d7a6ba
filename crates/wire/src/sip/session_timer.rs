//! Session timers, RFC 4028.

use super::header::Header;
use super::message::Message;
use super::params::param;
use super::text::leading_number;

/// Session-Expires, RFC 4028 section 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionExpires {
    /// The session interval in seconds.
    pub seconds: u32,
    /// Who refreshes the session; None where the header does not say.
    pub refresher: Option<Refresher>,
}

/// Who refreshes a session, seen from the transaction that says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refresher {
    /// The side that sent the request.
    Uac,
    /// The side that answers it.
    Uas,
}

impl Message<'_> {
    /// Session-Expires, `x` in its compact form. None where its number does not fit.
    pub fn session_expires(&self) -> Option<SessionExpires> {
        let value = self.header(Header::SessionExpires)?;
        let (seconds, rest) = leading_number(value)?;
        let refresher = param(rest, b"refresher").and_then(|side| match () {
            () if side.eq_ignore_ascii_case(b"uac") => Some(Refresher::Uac),
            () if side.eq_ignore_ascii_case(b"uas") => Some(Refresher::Uas),
            () => None,
        });
        Some(SessionExpires { seconds: u32::try_from(seconds).ok()?, refresher })
    }

    /// Min-SE, RFC 4028 section 5, in seconds: what a 422 asks for.
    pub fn min_se(&self) -> Option<u32> {
        let (seconds, _) = leading_number(self.header(Header::MinSe)?)?;
        u32::try_from(seconds).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(line: &str) -> (Option<SessionExpires>, Option<u32>) {
        let bytes = format!("UPDATE sip:a@example.com SIP/2.0\r\n{line}\r\n\r\n");
        Message::parse_with(bytes.as_bytes(), |message| (message.session_expires(), message.min_se()))
            .unwrap()
    }

    #[test]
    fn full_and_compact_form_with_and_without_refresher() {
        let is = |seconds, refresher| (Some(SessionExpires { seconds, refresher }), None);
        assert_eq!(with("Session-Expires: 1800"), is(1800, None));
        assert_eq!(with("x:90 ; Refresher=UAC"), is(90, Some(Refresher::Uac)));
        assert_eq!(with("X: 4000;foo=bar;refresher=\"uas\""), is(4000, Some(Refresher::Uas)));
        assert_eq!(with("Session-Expires: 90;refresher=me"), is(90, None));
        assert_eq!(with("Session-Expires: soon"), (None, None));
        assert_eq!(with("Session-Expires: 4294967296"), (None, None));
        assert_eq!(with("Min-SE: 3600;lr"), (None, Some(3600)));
        assert_eq!(with("Expires: 60"), (None, None));
    }
}
