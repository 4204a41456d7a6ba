//! Facts about a call that rules use, gathered from its messages.

use std::net::IpAddr;

use ringtap_model::{Call, Endpoint};
use ringtap_spool::rules::CallFacts;
use ringtap_wire::sdp::{Media, Sdp};
use ringtap_wire::sip::{Header, KeyReport, Message, Method, NameAddr, key_code, key_report, params};

use crate::policy::{LegKey, RecordingPolicy};

/// Facts gathered from a call's messages until it is decided.
#[derive(Debug, Default)]
pub(crate) struct GatheredFacts {
    callers: Vec<String>,
    callees: Vec<String>,
    trunk: Vec<IpAddr>,
    addresses: Vec<IpAddr>,
    codecs: Vec<String>,
    /// Names of the offer's dynamic payload types, for an answer that lists them alone (RFC 3264 section 6.1
    /// wants the names there too): number of the media description, payload type, name.
    offered: Vec<(usize, u8, String)>,
    key: Option<u64>,
    /// The INVITE had a description: the next one is the answer.
    is_offered: bool,
    pub(crate) answered: bool,
    pub(crate) over: bool,
}

impl GatheredFacts {
    /// Adds the numbers of a call's record.
    pub(crate) fn introduce(&mut self, call: &Call) {
        let listed = |numbers: [&Option<String>; 2]| numbers.into_iter().flatten().cloned().collect();
        self.callers = listed([&call.from_user, &call.asserted_identity]);
        self.callees = listed([&call.to_user, &call.ruri_user]);
    }

    /// Adds the numbers of a message outside calls.
    pub(crate) fn introduce_message(&mut self, message: &Message<'_>) {
        let user =
            |uri: ringtap_wire::sip::Uri<'_>| uri.user.map(|user| String::from_utf8_lossy(user).into_owned());
        let identity = message.values(Header::PAssertedIdentity).find_map(NameAddr::parse);
        let from = [message.from(), identity];
        self.callers = from.into_iter().flatten().filter_map(|party| user(party.uri)).collect();
        let to = [message.to().map(|to| to.uri), message.request_uri()];
        self.callees = to.into_iter().flatten().filter_map(user).collect();
    }

    /// Adds the facts of a message.
    pub(crate) fn see(
        &mut self,
        message: &Message<'_>,
        hops: [Endpoint; 2],
        minute: u64,
        policy: &RecordingPolicy,
    ) {
        for host in hops.map(|end| end.ip) {
            add(&mut self.trunk, host);
        }
        if self.key.is_none() {
            self.key = Some(self.new_key(message, minute, policy));
        }
        let Some(sdp) = message.sdp().and_then(|body| Sdp::parse(body).ok()) else { return };
        let method = message.cseq().map_or(message.method(), |(_, method)| method);
        let is_offer = match (method, message.code()) {
            (Method::Invite, None) => true,
            (Method::Invite, Some(_)) => !self.is_offered,
            (Method::Ack, None) => false,
            _ => return,
        };
        self.is_offered |= is_offer;
        if is_offer {
            self.offered.clear();
        }
        for (index, media) in sdp.media().take(MOST).enumerate().filter(|(_, media)| media.port != 0) {
            if is_offer {
                self.add_offered(index, &media);
            }
            if let Some(address) = media.connection().filter(|address| !address.is_unspecified()) {
                add(&mut self.addresses, address);
            }
            let first = media.payload_types().find_map(|payload_type| {
                let own = media.codec(payload_type).map(|codec| String::from_utf8_lossy(codec.name));
                let name = own.or_else(|| Some(self.offered_name(index, payload_type)?.into()))?;
                let is_sound =
                    !["telephone-event", "CN"].iter().any(|other| name.eq_ignore_ascii_case(other));
                is_sound.then(|| name.into_owned())
            });
            // An offer in a response is the best source before its ACK.
            if let Some(codec) = first.filter(|_| !is_offer || message.code().is_some()) {
                add(&mut self.codecs, codec);
            }
        }
    }

    fn add_offered(&mut self, index: usize, media: &Media<'_>) {
        for (payload_type, codec) in media.rtpmaps() {
            if self.offered.len() == MOST {
                return;
            }
            if payload_type >= 96 && codec.name.len() <= MAX_NAME {
                let name = String::from_utf8_lossy(codec.name).into_owned();
                self.offered.push((index, payload_type, name));
            }
        }
    }

    fn offered_name(&self, index: usize, payload_type: u8) -> Option<&str> {
        let found = self.offered.iter().find(|(of, number, _)| (*of, *number) == (index, payload_type));
        found.map(|(.., name)| name.as_str())
    }

    /// Calls `ask` with the facts.
    pub(crate) fn ask<T>(&self, mos: Option<f64>, judged: bool, ask: impl FnOnce(&CallFacts<'_>) -> T) -> T {
        fn names(list: &[String]) -> Vec<&str> {
            list.iter().map(String::as_str).collect()
        }
        ask(&CallFacts {
            callers: &names(&self.callers),
            callees: &names(&self.callees),
            trunk: &self.trunk,
            addresses: &self.addresses,
            codecs: &names(&self.codecs),
            mos,
            key: self.key.unwrap_or_default(),
            answered: self.answered,
            over: self.over,
            judged,
        })
    }

    /// What the legs of a call have in common, hashed.
    fn new_key(&self, message: &Message<'_>, minute: u64, policy: &RecordingPolicy) -> u64 {
        let common = policy.legs.iter().find_map(|leg| match leg {
            LegKey::Session => session(message).map(|id| policy.hash(&[&id.to_ascii_lowercase()])),
            LegKey::Charging => {
                let value = message.header(Header::PChargingVector)?;
                let icid = params(value).find(|(name, _)| name.eq_ignore_ascii_case(b"icid-value"))?.1?;
                (!icid.is_empty()).then(|| policy.hash(&[icid]))
            }
            LegKey::Header(name) => {
                let value = message.header_named(name.as_bytes())?.trim_ascii();
                (!value.is_empty()).then(|| policy.hash(&[value]))
            }
            LegKey::Numbers => {
                let (caller, callee) = (self.callers.first()?, self.callees.last()?);
                Some(policy.hash(&[caller.as_bytes(), callee.as_bytes(), &minute.to_be_bytes()]))
            }
        });
        // The value alone, not the name of its header: `X-CID` of one leg is the Call-ID of the other.
        common.unwrap_or_else(|| policy.hash(&[message.call_id().unwrap_or_default()]))
    }
}

/// RFC 7989: the UUID of the side that called. Its own comes first in what it sends, and as `remote` in what
/// it gets.
fn session<'a>(message: &Message<'a>) -> Option<&'a [u8]> {
    let value = message.header(Header::SessionId)?;
    let own = value.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    let remote = params(value).find(|(name, _)| name.eq_ignore_ascii_case(b"remote")).and_then(|(_, id)| id);
    let is_id = |id: &&[u8]| !id.is_empty() && id.iter().any(|byte| *byte != b'0');
    match message.code() {
        Some(_) => remote.filter(is_id).or(Some(own)),
        None => Some(own),
    }
    .filter(is_id)
}

/// Payload types that a description gives to telephone-events (RFC 4733): bit 0 is 96, bit 31 is 127.
/// Redundant audio (RFC 2198) that may have them in it counts.
pub(crate) fn events(message: &Message<'_>) -> u32 {
    let Some(sdp) = message.sdp().and_then(|body| Sdp::parse(body).ok()) else { return 0 };
    let bit = |number: u8| if (96..128).contains(&number) { 1u32 << (number - 96) } else { 0 };
    let mut events = 0;
    for media in sdp.media().take(MOST) {
        let maps = || media.rtpmaps().take(64);
        let own = maps()
            .filter(|(_, codec)| codec.is("telephone-event"))
            .fold(0, |events, map| events | bit(map.0));
        for (number, _) in maps().filter(|(_, codec)| codec.is("red")) {
            let holds =
                media.fmtp(number).unwrap_or_default().split(|byte| !byte.is_ascii_digit()).any(|text| {
                    let inner = std::str::from_utf8(text).ok().and_then(|text| text.parse::<u8>().ok());
                    inner.is_some_and(|inner| bit(inner) & own != 0)
                });
            events |= if holds { bit(number) } else { 0 };
        }
        events |= own;
    }
    events
}

/// Whether a message tells of pressed keys in its body, or in a part of it: an INFO
/// (`application/dtmf-relay`, `application/dtmf`), or a NOTIFY (KPML, RFC 4730; telephone-events).
pub(crate) fn has_digits(message: &Message<'_>) -> bool {
    let tells = |kind: &[u8]| {
        DIGITS.iter().any(|name| kind.windows(name.len()).any(|text| text.eq_ignore_ascii_case(name)))
    };
    message.parts().any(|part| tells(part.content_type))
}

/// The key that an INFO or a NOTIFY tells of; of several the last, of one that is held its beginning.
pub(crate) fn digit(message: &Message<'_>) -> Option<u8> {
    let code = match key_report(message)? {
        KeyReport::Key(code) | KeyReport::Event { code, is_end: false } => Some(code),
        KeyReport::Event { .. } => None,
        KeyReport::Keys(keys) => keys.iter().rev().find_map(|key| key_code(*key)),
    };
    digit_of_event(&[code?])
}

/// The digit of a telephone-event, RFC 4733 section 3.2.
pub(crate) fn digit_of_event(payload: &[u8]) -> Option<u8> {
    match *payload.first()? {
        event @ 0..=9 => Some(b'0' + event),
        10 => Some(b'*'),
        11 => Some(b'#'),
        event @ 12..=15 => Some(b'A' + event - 12),
        _ => None,
    }
}

fn add<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if list.len() < MOST && !list.contains(&item) {
        list.push(item);
    }
}

/// Parts of content types that report pressed keys.
const DIGITS: [&[u8]; 4] = [b"dtmf", b"digits", b"kpml-response", b"telephone-event"];
/// Most entries of each fact, and most media read of a description.
const MOST: usize = 16;
/// Longest name of a codec that is kept.
const MAX_NAME: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::PolicySettings;

    fn policy(legs: &[&str]) -> RecordingPolicy {
        let legs = legs.iter().map(|name| LegKey::of_name(name)).collect();
        RecordingPolicy::new(PolicySettings { legs, secret: "x".to_owned(), ..PolicySettings::default() })
    }

    fn key(policy: &RecordingPolicy, call_id: &str, headers: &str) -> u64 {
        let text = format!(
            "INVITE sip:200@x SIP/2.0\r\nFrom: <sip:100@x>;tag=1\r\nTo: <sip:200@x>\r\nCall-ID: \
            {call_id}\r\n{headers}\r\n"
        );
        let message = Message::parse(text.as_bytes()).unwrap();
        let mut facts = GatheredFacts::default();
        facts.introduce_message(&message);
        let here = Endpoint::new([192, 0, 2, 1].into(), 5060);
        facts.see(&message, [here, here], 7, policy);
        facts.key.unwrap()
    }

    #[test]
    fn legs_of_a_call_have_one_key() {
        let session = policy(&["Session-ID"]);
        let own = "Session-ID: ab30317f1a784dc48ff824d0d3715d86;remote=00000000000000000000000000000000\r\n";
        let same = "Session-ID: AB30317f1a784dc48ff824d0d3715d86;remote=47755a9de7794ba387653f2099600ef2\r\n";
        assert_eq!(key(&session, "a", own), key(&session, "b", same));
        let nil = "Session-ID: 00000000000000000000000000000000;remote=00000000000000000000000000000000\r\n";
        for without in ["", nil, "Session-ID: ;remote=x\r\n"] {
            assert_eq!(key(&session, "a", without), key(&session, "a", ""), "{without}");
            assert_ne!(key(&session, "a", without), key(&session, "b", without), "{without}");
        }
        let crossed = policy(&["X-CID", "P-Charging-Vector"]);
        assert_eq!(key(&crossed, "a", ""), key(&crossed, "b", "X-CID: a\r\n"));
        let vector = "P-Charging-Vector: icid-value=\"1234\";icid-generated-at=192.0.2.1\r\n";
        assert_eq!(
            key(&crossed, "a", vector),
            key(&crossed, "b", "P-Charging-Vector: icid-value=1234;orig-ioi=x\r\n")
        );
        let numbers = policy(&["numbers"]);
        assert_eq!(key(&numbers, "a", ""), key(&numbers, "b", ""));
        // The secret decides, and another one decides otherwise.
        let legs = vec![LegKey::Session];
        let other = RecordingPolicy::new(PolicySettings {
            legs,
            secret: "y".to_owned(),
            ..PolicySettings::default()
        });
        assert_ne!(key(&other, "a", ""), key(&session, "a", ""));
    }

    #[test]
    fn an_answer_also_names_the_caller_of_the_session() {
        let text = "SIP/2.0 180 Ringing\r\nCall-ID: a\r\nCSeq: 1 INVITE\r\nSession-ID: \
        47755a9de7794ba387653f2099600ef2;remote=ab30\r\n\r\n";
        let message = Message::parse(text.as_bytes()).unwrap();
        assert_eq!(session(&message), Some(&b"ab30"[..]));
    }

    fn described(start: &str, sdp: &str) -> Vec<u8> {
        format!(
            "{start}Call-ID: a\r\nCSeq: 1 INVITE\r\nContent-Type: application/sdp\r\n\r\nv=0\r\nc=IN IP4 \
        198.51.100.9\r\n{sdp}"
        )
        .into_bytes()
    }

    #[test]
    fn codecs_are_those_of_the_answer() {
        let policy = policy(&[]);
        let invite = described("INVITE sip:b@x SIP/2.0\r\n", "m=audio 4000 RTP/AVP 8 18\r\n");
        let answer = described(
            "SIP/2.0 200 OK\r\n",
            "m=audio 4002 RTP/AVP 101 18\r\na=rtpmap:101 telephone-event/8000\r\n",
        );
        let here = Endpoint::new([192, 0, 2, 1].into(), 5060);
        let mut facts = GatheredFacts::default();
        facts.see(&Message::parse(&invite).unwrap(), [here, here], 0, &policy);
        assert!(facts.codecs.is_empty());
        assert_eq!(facts.addresses, ["198.51.100.9".parse::<IpAddr>().unwrap()]);
        let answer = Message::parse(&answer).unwrap();
        facts.see(&answer, [here, here], 0, &policy);
        assert_eq!((&facts.codecs[..], events(&answer)), (&["G729".to_owned()][..], 1 << 5));
        // Where the INVITE has no offer, the answer has it.
        let mut late = GatheredFacts::default();
        late.see(&answer, [here, here], 0, &policy);
        assert_eq!(late.codecs, ["G729"]);
    }

    /// RFC 3264 section 6.1 wants them in the answer too.
    #[test]
    fn payload_types_that_only_the_offer_names_are_its_codecs() {
        let here = Endpoint::new([192, 0, 2, 1].into(), 5060);
        let policy = policy(&[]);
        let offer = "m=audio 0 RTP/AVP 98\r\na=rtpmap:98 G726-32/8000\r\n\
                     m=audio 4000 RTP/AVP 8 97 98 101\r\n\
                     a=rtpmap:97 speex/8000\r\na=rtpmap:98 iLBC/8000\r\n\
                     a=rtpmap:101 telephone-event/8000\r\n";
        let invite = described("INVITE sip:b@x SIP/2.0\r\n", offer);
        for (list, expected) in [("98 8", "iLBC"), ("101 97", "speex"), ("101 8", "PCMA"), ("96 8", "PCMA")] {
            let sdp = format!("m=audio 0 RTP/AVP 98\r\nm=audio 4002 RTP/AVP {list}\r\n");
            let answer = described("SIP/2.0 200 OK\r\n", &sdp);
            let mut facts = GatheredFacts::default();
            facts.see(&Message::parse(&invite).unwrap(), [here, here], 0, &policy);
            facts.see(&Message::parse(&answer).unwrap(), [here, here], 0, &policy);
            assert_eq!(facts.codecs, [expected], "{list}");
        }
    }

    #[test]
    fn events_and_what_has_them_in_it() {
        let sdp = "m=audio 1 RTP/AVP 0 101 110 121 122\r\na=rtpmap:101 telephone-event/8000\r\na=rtpmap:110 \
        telephone-event/48000\r\n\
                   a=rtpmap:121 red/8000\r\na=fmtp:121 0/101/101\r\na=rtpmap:122 red/48000\r\na=fmtp:122 \
                   111/111\r\n";
        let message = described("INVITE sip:b@x SIP/2.0\r\n", sdp);
        let bits = 1 << (101 - 96) | 1 << (110 - 96) | 1 << (121 - 96);
        assert_eq!(events(&Message::parse(&message).unwrap()), bits);
    }

    #[test]
    fn digits_of_messages() {
        let info = |kind: &str, body: &str| {
            format!(
                "INFO sip:b@x SIP/2.0\r\nCall-ID: a\r\nCSeq: 2 INFO\r\nContent-Type: {kind}\r\n\r\n{body}"
            )
            .into_bytes()
        };
        for (kind, body, expected) in [
            ("application/dtmf-relay", "Signal=5\r\nDuration=160\r\n", Some(b'5')),
            ("application/dtmf-relay", "Duration=160\r\nsignal = 11\r\n", Some(b'#')),
            ("Application/DTMF", "*", Some(b'*')),
            ("application/dtmf", "55", None),
            ("text/plain", "5", None),
            (
                "multipart/mixed;boundary=b",
                "--b\r\nContent-Type: application/dtmf-relay\r\n\r\nSignal=7\r\n--b--",
                Some(b'7'),
            ),
            (
                "multipart/mixed;boundary=b",
                "--b\r\nContent-Type: text/dtmf-is-not-this\r\n\r\nno\r\n--b--",
                None,
            ),
        ] {
            assert_eq!(digit(&Message::parse(&info(kind, body)).unwrap()), expected, "{kind} {body}");
        }
        assert!(has_digits(&Message::parse(&info("application/kpml-response+xml", "<x/>")).unwrap()));
        let event = info("audio/telephone-event", "\u{1}\0\u{7}0");
        assert!(has_digits(&Message::parse(&event).unwrap()));
        assert_eq!(digit(&Message::parse(&event).unwrap()), Some(b'1'));
        assert_eq!(
            [0, 9, 10, 11, 12, 16].map(|event| digit_of_event(&[event, 0, 0, 0])),
            [Some(b'0'), Some(b'9'), Some(b'*'), Some(b'#'), Some(b'A'), None]
        );
    }
}
