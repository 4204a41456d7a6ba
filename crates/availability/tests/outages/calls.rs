//! Calls through a proxy, message by message, and their media.

use crate::wire::{OTHER, PROXY, Wire};

/// Telephone `number`.
pub(crate) fn phone(number: u8) -> String {
    format!("198.51.100.{number}:5060")
}

/// Where a telephone and the media relay of the proxy have the sound of that telephone's call.
fn media_ends(number: u8) -> [String; 2] {
    let port = 20_000 + 2 * u16::from(number);
    [format!("198.51.100.{number}:{port}"), format!("192.0.2.1:{port}")]
}

/// A message within or before a call: what differs from one to the next.
#[derive(Clone, Copy)]
pub(crate) struct Line<'a> {
    pub(crate) start: &'a str,
    pub(crate) cseq: &'a str,
    /// Tags of From and To; an empty one is left out.
    pub(crate) tags: [&'a str; 2],
    /// Hosts of the Via headers, the last hop first.
    pub(crate) vias: &'a [&'a str],
    pub(crate) more: &'a str,
    pub(crate) body: &'a str,
}

pub(crate) fn text(id: &str, users: (&str, &str), line: Line<'_>) -> String {
    let vias: String = line
        .vias
        .iter()
        .map(|host| format!("Via: SIP/2.0/UDP {host};branch=z9hG4bK{id}{}{host}\r\n", line.cseq.len()))
        .collect();
    let tag = |tag: &str| if tag.is_empty() { String::new() } else { format!(";tag={tag}") };
    let kind = if line.body.is_empty() { "" } else { "Content-Type: application/sdp\r\n" };
    format!(
        "{}\r\n{vias}From: <sip:{}@example.org>{}\r\nTo: <sip:{}@example.org>{}\r\nCall-ID: {id}\r\n\
         CSeq: {}\r\n{}{kind}Content-Length: {}\r\n\r\n{}",
        line.start,
        users.0,
        tag(line.tags[0]),
        users.1,
        tag(line.tags[1]),
        line.cseq,
        line.more,
        line.body.len(),
        line.body
    )
}

/// A description of sound at an endpoint; `direction` is an attribute such as `sendonly`.
pub(crate) fn sdp(end: &str, direction: &str) -> String {
    let (ip, port) = end.split_once(':').expect("an endpoint");
    format!(
        "v=0\r\no=- 1 1 IN IP4 {ip}\r\ns=-\r\nc=IN IP4 {ip}\r\nt=0 0\r\nm=audio {port} RTP/AVP 8\r\n\
         a=rtpmap:8 PCMA/8000\r\na={direction}\r\n"
    )
}

/// A call of telephone `number` to a user behind the proxy: only the hop between the two is captured.
pub(crate) struct Caller {
    number: u8,
    phone: String,
    id: String,
    user: String,
    callee: String,
    /// Header lines of answers to INVITE.
    route: &'static str,
}

impl Caller {
    pub(crate) fn new(number: u8) -> Self {
        Self {
            number,
            phone: phone(number),
            id: format!("call-{number}"),
            user: format!("u{number}"),
            callee: format!("c{number}"),
            route: "Record-Route: <sip:192.0.2.1;lr>\r\nContact: <sip:203.0.113.9>\r\n",
        }
    }

    /// The proxy is what is called, too.
    pub(crate) fn of_the_proxy(self) -> Self {
        Self { route: "Record-Route: <sip:192.0.2.1;lr>\r\nContact: <sip:menu@192.0.2.1:5060>\r\n", ..self }
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    fn text(&self, line: Line<'_>) -> String {
        text(&self.id, (&self.user, &self.callee), line)
    }

    fn request(&self, method: &str, cseq: &str, is_within: bool, body: &str) -> String {
        self.text(Line {
            start: &format!("{method} sip:{}@example.org SIP/2.0", self.callee),
            cseq,
            tags: ["a", if is_within { "b" } else { "" }],
            vias: &["198.51.100.9"],
            more: "",
            body,
        })
    }

    pub(crate) fn invite(&self, wire: &mut Wire, times: &[f64]) {
        let offer = sdp(&media_ends(self.number)[0], "sendrecv");
        let invite = self.request("INVITE", "1 INVITE", false, &offer);
        times.iter().for_each(|time| wire.datagram(*time, &self.phone, PROXY, &invite));
    }

    /// An answer to the INVITE: a 2xx with the media relay's description.
    pub(crate) fn answer(&self, wire: &mut Wire, time: f64, code: u16) {
        self.answer_to(wire, time, code, "1 INVITE", "sendrecv");
    }

    fn answer_to(&self, wire: &mut Wire, time: f64, code: u16, cseq: &str, direction: &str) {
        let is_2xx = (200..300).contains(&code) && cseq.ends_with("INVITE");
        let body = if is_2xx { sdp(&media_ends(self.number)[1], direction) } else { String::new() };
        let answer = self.text(Line {
            start: &format!("SIP/2.0 {code} Answer"),
            cseq,
            tags: ["a", if code == 100 { "" } else { "b" }],
            vias: &["198.51.100.9"],
            more: self.route,
            body: &body,
        });
        wire.datagram(time, PROXY, &self.phone, &answer);
    }

    /// Set up in 60 ms.
    pub(crate) fn established(&self, wire: &mut Wire, time: f64) {
        self.invite(wire, &[time]);
        self.answer(wire, time + 0.01, 100);
        self.answer(wire, time + 0.02, 180);
        self.answer(wire, time + 0.05, 200);
        let ack = self.request("ACK", "1 ACK", true, "");
        wire.datagram(time + 0.06, &self.phone, PROXY, &ack);
    }

    /// The telephone puts the other on hold, or takes it back.
    pub(crate) fn describe_again(&self, wire: &mut Wire, time: f64, number: u32, directions: [&str; 2]) {
        let offer = sdp(&media_ends(self.number)[0], directions[0]);
        let cseq = format!("{number} INVITE");
        wire.datagram(time, &self.phone, PROXY, &self.request("INVITE", &cseq, true, &offer));
        self.answer_to(wire, time + 0.02, 200, &cseq, directions[1]);
    }

    /// BYE of the telephone, sent at these times.
    pub(crate) fn hang_up(&self, wire: &mut Wire, times: &[f64]) {
        let bye = self.request("BYE", "9 BYE", true, "");
        times.iter().for_each(|time| wire.datagram(*time, &self.phone, PROXY, &bye));
        if let Some(last) = times.last() {
            self.answer_to(wire, last + 0.01, 200, "9 BYE", "");
        }
    }

    /// BYE of the far side: `vias` says whether the proxy passes it on, or has made it.
    pub(crate) fn hung_up(&self, wire: &mut Wire, time: f64, vias: &[&str], more: &str) {
        let bye = Line {
            start: &format!("BYE sip:{}@example.org SIP/2.0", self.user),
            cseq: "1 BYE",
            tags: ["b", "a"],
            vias,
            more,
            body: "",
        };
        let bye = text(&self.id, (&self.callee, &self.user), bye);
        wire.datagram(time, PROXY, &self.phone, &bye);
    }

    pub(crate) fn cancel(&self, wire: &mut Wire, time: f64) {
        let cancel = self.request("CANCEL", "1 CANCEL", false, "");
        wire.datagram(time, &self.phone, PROXY, &cancel);
        self.answer(wire, time + 0.01, 487);
    }

    /// Sound in both directions, 20 ms a packet, but that of the times in `lost`.
    pub(crate) fn sound(&self, wire: &mut Wire, (from, to): (f64, f64), lost: [(f64, f64); 2]) {
        for (side, (gap_from, gap_to)) in lost.into_iter().enumerate() {
            for number in 0..((to - from) * 50.0) as u32 {
                let time = from + f64::from(number) * 0.02;
                if !(gap_from <= time && time < gap_to) {
                    self.rtp(wire, time, side, (number as u16, number * 160, side as u32));
                }
            }
        }
    }

    /// A packet from the telephone (side 0) or to it, with its number, timestamp and SSRC.
    pub(crate) fn rtp(
        &self,
        wire: &mut Wire,
        time: f64,
        side: usize,
        (number, stamp, ssrc): (u16, u32, u32),
    ) {
        let ends = media_ends(self.number);
        let ssrc = 0x1000 * u32::from(self.number) + ssrc;
        let mut packet = vec![0x80, 8];
        packet.extend(number.to_be_bytes());
        packet.extend(stamp.to_be_bytes());
        packet.extend(ssrc.to_be_bytes());
        packet.extend([0xd5; 160]);
        wire.packet(time, &ends[side], &ends[1 - side], &packet);
    }
}

/// OPTIONS to the service each second until the end, in vain from `down` to `up`, when the service answers
/// again.
pub(crate) fn watched(wire: &mut Wire, service: &str, (down, up): (u32, u32), end: u32) {
    for second in 0..end {
        let (from, id) = (f64::from(second), format!("{service}-{second}"));
        wire.request(from, (OTHER, service), "OPTIONS", &id);
        if (down..up).contains(&second) {
            wire.request(from + 0.5, (OTHER, service), "OPTIONS", &id);
        } else {
            wire.answer(from + 0.002, (OTHER, service), "OPTIONS", &id, 200);
        }
    }
}
