//! What is asked of each call: one line a field.

use std::net::IpAddr;

use ringtap_model::filter::digits_of;
use ringtap_model::{Attestation, Call, IdentityStatus, LostAt, Nanos, NoteCode, Party, Stream};

use crate::agent::Agent;
use crate::topic::Topic;
use crate::value::{Encoder, Value};

/// A field that calls may have in common.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    /// Name in findings: that of the record where it has one.
    pub(crate) name: &'static str,
    /// What it is about.
    pub(crate) topic: Topic,
    /// The field of the search language that finds calls by it. It may find more: it asks for either side
    /// where this field is about one.
    searched: &'static str,
    /// What calls with the value do, the value as `{}`.
    phrase: &'static str,
    /// Unit of its numbers in words, and in searches.
    units: (&'static str, &'static str),
    /// Gives the values that a call has.
    pub(crate) values: fn(&Call, &[Stream], &mut Values),
}

/// Takes the values of a call.
pub(crate) struct Values<'a> {
    pub(crate) encoder: &'a mut Encoder,
    pub(crate) each: &'a mut dyn FnMut(&[u8]),
    /// The call has the field, with or without one of the values that are counted.
    pub(crate) is_known: bool,
}

/// All fields. Where two values are of the same calls, the one that stands further up names them.
pub(crate) const FIELDS: &[Field] = &[
    field("trunk_to", Topic::Path, "trunk", "go to trunk {}", |call, _, values| {
        values.trunk(call.trunk_to.as_deref());
    }),
    field("trunk_from", Topic::Path, "trunk", "come from trunk {}", |call, _, values| {
        values.trunk(call.trunk_from.as_deref());
    }),
    field("trunk", Topic::Path, "trunk", "come from or go to trunk {}", |call, _, values| {
        values.trunk(call.trunk_to.as_deref());
        values.trunk(call.trunk_from.as_deref());
    }),
    field("dst", Topic::Path, "ip", "are sent to {}", |call, _, values| values.host(call.dst.ip)),
    field("src", Topic::Path, "ip", "come from {}", |call, _, values| values.host(call.src.ip)),
    field("media", Topic::Path, "ip", "have media from or to {}", |_, streams, values| {
        streams.iter().for_each(|stream| {
            values.host(stream.src.ip);
            values.host(stream.dst.ip);
        });
    }),
    field("ip", Topic::Path, "ip", "pass {}", |call, streams, values| {
        hosts(call, streams).for_each(|host| values.host(host));
    }),
    field("user_agent_callee", Topic::Device, "ua", "are answered by {}", |call, _, values| {
        values.agent(call.user_agent_callee.as_deref());
    }),
    field("user_agent_caller", Topic::Device, "ua", "are made by {}", |call, _, values| {
        values.agent(call.user_agent_caller.as_deref());
    }),
    field("user_agent", Topic::Device, "ua", "have {} on one side", |call, _, values| {
        values.agent(call.user_agent_callee.as_deref());
        values.agent(call.user_agent_caller.as_deref());
    }),
    field("codec", Topic::Codec, "codec", "use {}", |_, streams, values| {
        streams.iter().for_each(|stream| values.text(stream.codec.as_deref()));
    }),
    Field {
        units: ("ms", "ms"),
        ..field("ptime", Topic::Codec, "ptime", "have packets of {}", |_, streams, values| {
            streams.iter().for_each(|stream| values.number(stream.ptime_ms));
        })
    },
    field("to", Topic::Callee, "to", "are made to {}", |call, _, values| {
        let named = [&call.to_user, &call.ruri_user].into_iter().flatten();
        named.chain(&call.diverted_to).for_each(|user| values.party(user));
    }),
    field("from", Topic::Caller, "from", "are made from {}", |call, _, values| {
        let named = [&call.from_user, &call.asserted_identity].into_iter().flatten();
        named.for_each(|user| values.party(user));
    }),
    field("net", Topic::Path, "net", "pass the network {}", |call, streams, values| {
        hosts(call, streams).for_each(|host| {
            let bits = if host.is_ipv4() { [24, 16] } else { [64, 48] };
            bits.into_iter().for_each(|bits| values.network(host, bits));
        });
    }),
    field("to_host", Topic::Callee, "uri", "are made to {}", |call, _, values| {
        values.domain(call.to_user.as_deref(), call.to_host.as_deref());
        values.domain(call.ruri_user.as_deref(), call.ruri_host.as_deref());
    }),
    field("from_host", Topic::Caller, "uri", "are made from {}", |call, _, values| {
        values.domain(call.from_user.as_deref(), call.from_host.as_deref());
    }),
    field("transport", Topic::Transport, "transport", "have signalling over {}", |call, _, values| {
        values.text(Some(call.transport.name()));
    }),
    field("diverted", Topic::Callee, "diverted", "are diverted", |call, _, values| {
        values.present(!call.diverted_to.is_empty());
    }),
    field("attestation", Topic::Identity, "attest", "have the attestation {}", |call, _, values| {
        values.or_absent(call.attestation.map(Attestation::name));
    }),
    field(
        "identity_status",
        Topic::Identity,
        "identity",
        "have an identity that is {}",
        |call, _, values| {
            values.text(call.identity_status.map(IdentityStatus::name));
        },
    ),
    field("drops", Topic::Capture, "drops", "lost packets in this capture: {}", |call, _, values| {
        values.at_least(Some(call.capture_drops as f64), &[1.0]);
    }),
    field("began", Topic::Time, "began", "began {}", |call, _, values| values.time(call)),
    field("circumstance", Topic::Note, "note", "have the note {}", |call, _, values| {
        values.notes(call, is_circumstance);
    }),
    field("state", Topic::Outcome, "state", "are {}", |call, _, values| {
        values.text(Some(call.state.name()));
    }),
    field("final_code", Topic::Outcome, "code", "end with {}", |call, _, values| {
        values.number((call.final_code > 0).then_some(call.final_code.into()));
    }),
    field("cause", Topic::Outcome, "cause", "have the cause {}", |call, _, values| {
        values.number(call.cause.map(f64::from));
    }),
    field("final_reason", Topic::Outcome, "reason", "end with the reason {}", |call, _, values| {
        values.text(call.final_reason.as_deref());
    }),
    field("retransmissions", Topic::Outcome, "retrans", "repeat messages: {}", |call, _, values| {
        values.at_least(Some(call.retransmissions.into()), &[1.0, 5.0]);
    }),
    Field {
        units: ("s", "s"),
        ..field("pdd", Topic::Outcome, "pdd", "have a post-dial delay of {}", |call, _, values| {
            values.range(call.pdd_ms.map(|millis| millis / 1e3), &[0.0, 1.0, 3.0, 6.0, 10.0]);
        })
    },
    field("released_by", Topic::Length, "hangup", "are ended by the {}", |call, _, values| {
        values.text(call.released_by.map(Party::name));
    }),
    Field {
        units: ("s", "s"),
        ..field("duration", Topic::Length, "dur", "last {}", |call, _, values| {
            values.range(call.duration_ms.map(|millis| millis / 1e3), &[0.0, 10.0, 60.0, 300.0, 1_800.0]);
        })
    },
    field("note", Topic::Quality, "note", "have the note {}", |call, _, values| {
        values.notes(call, |code| !is_circumstance(code));
    }),
    Field {
        units: ("%", ""),
        ..field("loss", Topic::Quality, "loss", "have a loss of {}", |_, streams, values| {
            let worst = streams.iter().map(Stream::loss_pct).max_by(f64::total_cmp);
            values.at_least(worst, &[1.0, 5.0]);
        })
    },
    field("lost_at", Topic::Quality, "lostat", "lost packets at {}", |_, streams, values| {
        streams.iter().for_each(|stream| values.text(stream.lost_at.map(LostAt::name)));
    }),
    field("mos", Topic::Quality, "mos", "have a MOS of {}", |call, _, values| {
        values.range(call.mos, &[1.0, 2.6, 3.1, 3.6, 4.0]);
    }),
];

/// A field without a unit.
const fn field(
    name: &'static str,
    topic: Topic,
    searched: &'static str,
    phrase: &'static str,
    values: fn(&Call, &[Stream], &mut Values),
) -> Field {
    Field { name, topic, searched, phrase, units: ("", ""), values }
}

impl Field {
    /// A value as people read it.
    pub(crate) fn shown(&self, value: &Value) -> String {
        value.shown(self.units.0)
    }

    /// What calls with that value do: `pass 192.0.2.1`.
    pub(crate) fn phrase(&self, value: &Value) -> String {
        self.phrase.replacen("{}", &self.shown(value), 1)
    }

    /// The search that finds calls by that value.
    pub(crate) fn query(&self, value: &Value) -> String {
        let not = if *value == Value::Absent { "-" } else { "" };
        format!("{not}{}:{}", self.searched, value.searched(self.units.1))
    }
}

impl Values<'_> {
    fn text(&mut self, text: Option<&str>) {
        if let Some(text) = text.map(str::trim).filter(|text| !text.is_empty()) {
            self.is_known = true;
            (self.each)(self.encoder.text(text));
        }
    }

    fn beginning(&mut self, text: &str) {
        self.is_known = true;
        (self.each)(self.encoder.beginning(text));
    }

    /// A word, or that there is none.
    fn or_absent(&mut self, word: Option<&str>) {
        match word {
            Some(word) => self.text(Some(word)),
            None => {
                self.is_known = true;
                (self.each)(self.encoder.absent());
            }
        }
    }

    /// Whether there is something.
    fn present(&mut self, is_present: bool) {
        self.is_known = true;
        if is_present {
            (self.each)(self.encoder.present());
        }
    }

    fn host(&mut self, host: IpAddr) {
        self.is_known = true;
        (self.each)(self.encoder.host(host));
    }

    fn network(&mut self, host: IpAddr, bits: u8) {
        self.is_known = true;
        (self.each)(self.encoder.network(host, bits));
    }

    fn number(&mut self, number: Option<f64>) {
        if let Some(number) = number.filter(|number| number.is_finite()) {
            self.is_known = true;
            (self.each)(self.encoder.number(number));
        }
    }

    /// The range of a number, from one of the limits, in ascending order, to the next.
    fn range(&mut self, number: Option<f64>, limits: &[f64]) {
        let Some(number) = number else { return };
        self.is_known = true;
        let above = limits.partition_point(|limit| *limit <= number);
        if let Some(from) = above.checked_sub(1).and_then(|place| limits.get(place)) {
            let to = limits.get(above).copied().unwrap_or(f64::INFINITY);
            (self.each)(self.encoder.range(*from, to));
        }
    }

    /// Each limit that a number reaches.
    fn at_least(&mut self, number: Option<f64>, limits: &[f64]) {
        let Some(number) = number else { return };
        self.is_known = true;
        for limit in limits.iter().filter(|limit| number >= **limit) {
            (self.each)(self.encoder.range(*limit, f64::INFINITY));
        }
    }

    /// A trunk that has a name: others are addresses, which are asked as such.
    fn trunk(&mut self, trunk: Option<&str>) {
        self.text(trunk.filter(|trunk| trunk.parse::<IpAddr>().is_err()));
    }

    /// A device as a whole, and by what others may share with it.
    fn agent(&mut self, text: Option<&str>) {
        let Some(agent) = text.and_then(Agent::of) else { return };
        self.text(Some(agent.whole));
        agent.release.into_iter().chain(agent.product).for_each(|part| self.beginning(part));
        if let Some(vendor) = agent.vendor {
            self.beginning(vendor);
            if let Some(version) = agent.version.filter(|_| agent.product.is_some()) {
                (self.each)(self.encoder.ends(vendor, version));
            }
        }
    }

    /// A number as a whole, and its first digits: country, area, range of numbers.
    fn party(&mut self, user: &str) {
        let Some(digits) = digits_of(user) else { return self.text(Some(user)) };
        self.text(Some(&digits));
        for length in PREFIXES.filter(|length| *length < digits.len()) {
            self.beginning(&digits[..length]);
        }
    }

    /// The host of a SIP address that has a user.
    fn domain(&mut self, user: Option<&str>, host: Option<&str>) {
        let has_user = user.is_some_and(|user| !user.is_empty());
        if let Some(host) = host.filter(|host| has_user && !host.is_empty()) {
            self.is_known = true;
            (self.each)(self.encoder.ends("", &format!("@{host}")));
        }
    }

    /// The hour in which a call began, and its ten minutes.
    fn time(&mut self, call: &Call) {
        let Some(start) = call.start() else { return };
        self.is_known = true;
        for length in [Nanos::from_secs(3_600), Nanos::from_secs(600)] {
            let from = Nanos(start.0 - start.0 % length.0);
            (self.each)(self.encoder.span(from, length));
        }
    }

    fn notes(&mut self, call: &Call, is_asked: impl Fn(NoteCode) -> bool) {
        self.is_known = true;
        for note in call.notes.iter().filter(|note| is_asked(note.code)) {
            self.text(Some(note.code.name()));
        }
    }
}

/// Hosts of the signalling and of the media.
fn hosts(call: &Call, streams: &[Stream]) -> impl Iterator<Item = IpAddr> {
    let media = streams.iter().flat_map(|stream| [stream.src, stream.dst]);
    [call.src, call.dst].into_iter().chain(media).map(|endpoint| endpoint.ip)
}

/// Whether a note tells how a call was made rather than what went wrong: it may be why others were noted.
fn is_circumstance(code: NoteCode) -> bool {
    use NoteCode::{
        BadIdentity, CodecsDiffer, Encrypted, Fax, Hold, Nat, NoIdentity, PacketTime, PacketTimesDiffer,
        PayloadTypesDiffer, SharedMedia, Transfer,
    };
    let media = [CodecsDiffer, PayloadTypesDiffer, PacketTime, PacketTimesDiffer, Encrypted, Fax];
    let others = [Hold, Transfer, Nat, NoIdentity, BadIdentity, SharedMedia];
    media.contains(&code) || others.contains(&code)
}

/// Lengths of the beginnings of numbers.
const PREFIXES: std::ops::RangeInclusive<usize> = 1..=7;

#[cfg(test)]
mod tests {
    use ringtap_model::{CallState, Note};
    use ringtap_testing::samples;

    use super::*;

    /// The values of a call in a field, as searches.
    fn queries(name: &str, call: &Call, streams: &[Stream]) -> (Vec<String>, bool) {
        let field = FIELDS.iter().find(|field| field.name == name).unwrap();
        let (mut encoder, mut found) = (Encoder::default(), Vec::new());
        let mut each = |value: &[u8]| found.push(field.query(&Value::decode(value)));
        let mut values = Values { encoder: &mut encoder, each: &mut each, is_known: false };
        (field.values)(call, streams, &mut values);
        let is_known = values.is_known;
        (found, is_known)
    }

    #[test]
    fn each_field_has_a_name_and_a_place_in_the_rows() {
        assert!(FIELDS.len() <= 64, "the fields of a call are bits of a word");
        for (place, field) in FIELDS.iter().enumerate() {
            assert!(FIELDS[..place].iter().all(|other| other.name != field.name), "{}", field.name);
        }
    }

    #[test]
    fn a_call_has_these_values() {
        let (call, stream) = (samples::call(), samples::stream());
        let of = |name| queries(name, &call, std::slice::from_ref(&stream)).0;
        assert_eq!(of("dst"), ["ip:192.0.2.2"]);
        assert_eq!(
            of("net")[..2],
            ["ip:192.0.2.0/24", "ip:192.0.0.0/16"].map(|text| text.replace("ip", "net"))
        );
        let from = ["from:420221111111", "from:4*", "from:42*", "from:420*", "from:4202*", "from:42022*"];
        assert_eq!(of("from")[..6], from);
        assert_eq!(of("from_host"), ["uri:*\"@example.org\""]);
        assert_eq!(of("to").last().unwrap(), "to:voicemail");
        assert_eq!(
            of("user_agent_caller"),
            ["ua:\"Phone/1.0\"", "ua:\"Phone/\"*", "ua:Phone*", "ua:Phone*\"1.0\""]
        );
        assert_eq!(of("state"), ["state:completed"]);
        assert_eq!(of("duration"), ["dur:60s..300s"]);
        assert_eq!(of("pdd"), ["pdd:0s..1s"]);
        assert_eq!(of("retransmissions"), ["retrans:1.."]);
        assert_eq!(of("attestation"), ["-attest:*"]);
        assert_eq!(of("diverted"), ["diverted:*"]);
        let began = ["02:00:00Z..2026-11-21T03:00:00Z", "02:00:00Z..2026-11-21T02:10:00Z"];
        assert_eq!(of("began"), began.map(|span| format!("began:2026-11-21T{span}")));
        assert_eq!(of("codec"), ["codec:PCMA"]);
        assert_eq!(of("ptime"), ["ptime:20ms"]);
    }

    #[test]
    fn what_is_not_there_is_not_known_or_not_so() {
        let call =
            Call { state: CallState::Failed, final_code: 0, user_agent_callee: None, ..samples::call() };
        for name in ["final_code", "user_agent_callee", "codec", "loss", "media", "trunk_to"] {
            assert_eq!(queries(name, &call, &[]), (vec![], false), "{name}");
        }
        // That there are none is known of these.
        for name in ["drops", "note", "circumstance"] {
            assert_eq!(queries(name, &call, &[]), (vec![], true), "{name}");
        }
        let learned = Call { trunk_to: Some("192.0.2.9".into()), ..samples::call() };
        assert_eq!(queries("trunk", &learned, &[]), (vec![], false), "an address is asked as an address");
    }

    #[test]
    fn notes_are_circumstances_or_symptoms() {
        let notes = [NoteCode::Nat, NoteCode::OneWay].map(|code| Note::new(code, "x".into()));
        let call = Call { notes: notes.into(), ..samples::call() };
        assert_eq!(queries("circumstance", &call, &[]).0, ["note:nat"]);
        assert_eq!(queries("note", &call, &[]).0, ["note:one_way"]);
    }
}
