//! The messages of a call as a softphone and a gateway send them (RFC 3261), 370 to 900 bytes each.

use std::io::Write;

use crate::headers::Headers;
use crate::load::Codec;
use crate::packets::{Side, media, signalling, ssrc, udp};

/// A message of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    Invite,
    Trying,
    Ringing,
    Answer,
    Ack,
    Bye,
    ByeAnswer,
}

impl Message {
    /// Messages from INVITE to ACK.
    pub(crate) const SET_UP: [Self; 5] = [Self::Invite, Self::Trying, Self::Ringing, Self::Answer, Self::Ack];

    /// Messages in a whole call.
    pub(crate) const COUNT: usize = 7;

    fn sender(self) -> Side {
        match self {
            Self::Invite | Self::Ack | Self::Bye => Side::Caller,
            Self::Trying | Self::Ringing | Self::Answer | Self::ByeAnswer => Side::Callee,
        }
    }

    fn has_sdp(self) -> bool {
        matches!(self, Self::Invite | Self::Answer)
    }

    fn sequence(self) -> &'static str {
        match self {
            Self::Ack => "1 ACK",
            Self::Bye | Self::ByeAnswer => "2 BYE",
            _ => "1 INVITE",
        }
    }
}

/// Writes messages into reused buffers.
#[derive(Default)]
pub(crate) struct Writer {
    frame: Vec<u8>,
    text: Vec<u8>,
    body: Vec<u8>,
    /// Below media.
    headers: Headers,
}

impl Writer {
    /// Of calls whose media has these headers.
    pub(crate) fn announcing(headers: Headers) -> Self {
        Self { headers, ..Self::default() }
    }

    /// The frame that carries a message of a call.
    pub(crate) fn frame(&mut self, call: u32, message: Message, codec: Codec) -> &[u8] {
        self.body.clear();
        self.text.clear();
        if message.has_sdp() {
            sdp(&mut self.body, (call, message.sender()), codec, self.headers);
        }
        // Writing to a Vec cannot fail.
        let _ = head(&mut self.text, call, message, self.body.len());
        self.text.extend_from_slice(&self.body);
        let side = message.sender();
        udp(&mut self.frame, signalling(call, side), signalling(call, side.other()), self.text.len());
        self.frame.extend_from_slice(&self.text);
        &self.frame
    }
}

/// The number of the call in a Call-ID.
pub(crate) fn call_of(call_id: &str) -> Option<u32> {
    u32::from_str_radix(call_id.get(..8)?, 16).ok()
}

fn head(text: &mut Vec<u8>, call: u32, message: Message, body: usize) -> std::io::Result<()> {
    let (caller, _) = signalling(call, Side::Caller);
    let (callee, _) = signalling(call, Side::Callee);
    let number = call % 1_000_000;
    match message {
        Message::Invite => write!(text, "INVITE sip:+44163297{number:06}@{callee};user=phone SIP/2.0\r\n")?,
        Message::Ack => write!(text, "ACK sip:+44163297{number:06}@{callee}:5060 SIP/2.0\r\n")?,
        Message::Bye => write!(text, "BYE sip:+44163297{number:06}@{callee}:5060 SIP/2.0\r\n")?,
        Message::Trying => write!(text, "SIP/2.0 100 Trying\r\n")?,
        Message::Ringing => write!(text, "SIP/2.0 180 Ringing\r\n")?,
        Message::Answer | Message::ByeAnswer => write!(text, "SIP/2.0 200 OK\r\n")?,
    }
    let branch = match message {
        Message::Ack => 'a',
        Message::Bye | Message::ByeAnswer => 'b',
        _ => 'i',
    };
    write!(text, "Via: SIP/2.0/UDP {caller}:5060;branch=z9hG4bK{call:08x}5d3c0f17{branch};rport\r\n")?;
    let request = message.sender() == Side::Caller;
    if request {
        write!(text, "Max-Forwards: 70\r\n")?;
    }
    write!(text, "From: \"Caller {number}\" <sip:+44163296{number:06}@{caller}>;tag={call:08x}c41e\r\n")?;
    let to_tag = !matches!(message, Message::Invite | Message::Trying);
    write!(text, "To: <sip:+44163297{number:06}@{callee};user=phone>")?;
    if to_tag {
        write!(text, ";tag={call:08x}9b07")?;
    }
    write!(text, "\r\nCall-ID: {call:08x}7f3c9a2be15d4460@{caller}\r\nCSeq: {}\r\n", message.sequence())?;
    if !matches!(message, Message::Trying | Message::ByeAnswer) {
        let (side, user) = if request { (caller, 96) } else { (callee, 97) };
        write!(text, "Contact: <sip:+441632{user}{number:06}@{side}:5060>\r\n")?;
    }
    if message.has_sdp() {
        write!(text, "Allow: INVITE, ACK, CANCEL, OPTIONS, BYE, UPDATE, PRACK, REFER, NOTIFY, INFO\r\n")?;
        write!(text, "Supported: timer, 100rel, replaces\r\n")?;
    }
    match request {
        true => write!(text, "User-Agent: Example Phone 3.2.1\r\n")?,
        false => write!(text, "Server: Example Gateway 7.0\r\n")?,
    }
    if body > 0 {
        write!(text, "Content-Type: application/sdp\r\n")?;
    }
    write!(text, "Content-Length: {body}\r\n\r\n")
}

/// An offer or an answer (RFC 8866).
fn sdp(body: &mut Vec<u8>, (call, side): (u32, Side), codec: Codec, headers: Headers) {
    let (host, port) = media(call, side);
    let host = headers.host(host);
    let version = if host.is_ipv4() { 4 } else { 6 };
    // Writing to a Vec cannot fail.
    let _ = write!(
        body,
        "v=0\r\no=- {} 1 IN IP{version} {host}\r\ns=-\r\nc=IN IP{version} {host}\r\nt=0 0\r\n\
         m=audio {port} RTP/AVP {} 101\r\n\
         a=rtpmap:{}\r\na=rtpmap:101 telephone-event/8000\r\na=fmtp:101 0-15\r\na=ptime:20\r\na=sendrecv\r\n",
        ssrc(call, side),
        codec.payload_type(),
        codec.rtpmap(),
    );
}

#[cfg(test)]
mod tests {
    use ringtap_wire::sip::Message as View;

    use super::*;
    use crate::headers::PLAIN;

    #[test]
    fn messages_can_be_read() {
        let mut writer = Writer::default();
        for message in Message::SET_UP.into_iter().chain([Message::Bye, Message::ByeAnswer]) {
            let frame = writer.frame(0x1_2345, message, Codec::G729);
            let view = View::parse(&frame[PLAIN..]).unwrap();
            assert_eq!(
                view.call_id().and_then(|id| call_of(std::str::from_utf8(id).unwrap())),
                Some(0x1_2345)
            );
            assert_eq!(view.sdp().is_some(), message.has_sdp(), "{message:?}");
            assert_eq!(view.code().is_some(), message.sender() == Side::Callee);
            assert!((370..900).contains(&frame.len()), "{message:?}: {} bytes", frame.len());
        }
    }
}
