//! The call record: one call attempt.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use crate::definition::{names, record};
use crate::{Endpoint, Id, Nanos, Note};

names! {
    /// The protocol of the signalling.
    pub enum Protocol {
        /// RFC 3261.
        Sip = "sip",
    }
}

names! {
    /// What carried the signalling.
    pub enum Transport {
        /// UDP.
        Udp = "udp",
        /// TCP.
        Tcp = "tcp",
        /// SCTP, RFC 4168.
        Sctp = "sctp",
        /// WebSocket, RFC 7118.
        Ws = "ws",
        /// Mirrored by a HEP agent.
        Hep = "hep",
    }
}

names! {
    /// How far a call has come.
    pub enum CallState {
        /// Answered, then released.
        Completed = "completed",
        /// Answered, not released when the input ended.
        Active = "active",
        /// Ended with a final 4xx, 5xx or 6xx.
        Failed = "failed",
        /// Ended with a final 3xx.
        Redirected = "redirected",
        /// Given up by the caller.
        Cancelled = "cancelled",
        /// No final answer within the limit, or answered and then silent: it ends at its last packet.
        Timeout = "timeout",
        /// The last answer was an 18x when the input ended.
        Ringing = "ringing",
        /// No 18x was seen when the input ended.
        Trying = "trying",
        /// Under way when the monitor was killed.
        Interrupted = "interrupted",
    }
}

names! {
    /// Who ended an answered call.
    pub enum Party {
        /// The side that sent the INVITE.
        Caller = "caller",
        /// The side that answered it.
        Callee = "callee",
        /// Neither: a proxy, or the time limit.
        Network = "network",
    }
}

names! {
    /// How a digit was sent.
    pub enum DtmfSource {
        /// As a telephone-event in RTP, RFC 4733 (and RFC 2833).
        Rfc4733 = "rfc4733",
        /// In the body of a SIP INFO, RFC 6086.
        Info = "info",
        /// In the body of a NOTIFY: KPML (RFC 4730), a telephone-event, or as in an INFO.
        Notify = "notify",
    }
}

names! {
    /// What was recorded of a call beside its record.
    pub enum Recorded {
        /// Nothing.
        None = "none",
        /// Its signalling alone.
        Signalling = "signalling",
        /// Its signalling, and its media without payload.
        Headers = "headers",
        /// Every packet.
        Full = "full",
    }
}

record! {
    /// A digit that one party pressed.
    #[part]
    #[name = "dtmf"]
    pub struct Dtmf {
        /// `0`-`9`, `*`, `#`, `A`-`D`, or `flash`.
        pub digit: String,
        /// How it was sent.
        pub source: DtmfSource,
        /// When it began.
        #[name = "time_us"]
        pub time: Nanos,
    }
}

names! {
    /// What joins a call to another leg of its conversation.
    pub enum JoinReason {
        /// The same Session-ID, RFC 7989.
        SessionId = "session_id",
        /// The same charging identifier: `icid-value` of P-Charging-Vector, RFC 7315 section 4.6.
        ChargingId = "charging_id",
        /// A Replaces header, or one inside a Refer-To, that names the other's Call-ID (RFC 3891).
        Replaces = "replaces",
        /// A REFER to where the other call then went (RFC 3515).
        Refer = "refer",
        /// A 3xx answer with the contact to which the other call then went.
        Redirect = "redirect",
        /// The same session in SDP: `o=`, RFC 8866 section 5.2.
        SdpOrigin = "sdp_origin",
        /// The same media address and port.
        MediaAddress = "media_address",
        /// The same numbers at the same time through a host that has both legs.
        Numbers = "numbers",
        /// The same conference.
        Conference = "conference",
    }
}

names! {
    /// How strongly the caller's operator vouches for the calling number, RFC 8588 section 4.
    pub enum Attestation {
        /// It knows the customer, and that the number is theirs.
        Full = "A",
        /// It knows the customer, not whether the number is theirs.
        Partial = "B",
        /// It only knows where the call entered its network.
        Gateway = "C",
    }
}

names! {
    /// What became of checking an Identity header, RFC 8224 section 6.2.
    pub enum IdentityStatus {
        /// Signed by a certificate that leads to a configured one, fresh, and for these numbers.
        Verified = "verified",
        /// Nobody checked it: no certificate is configured for it, or there were too many to check.
        NotChecked = "not_checked",
        /// It could not be read.
        Malformed = "malformed",
        /// The signature does not fit.
        BadSignature = "bad_signature",
        /// Its certificate does not lead to a configured one, or has expired.
        Untrusted = "untrusted",
        /// Its date is too far from the time of the call.
        Stale = "stale",
        /// It was made for other numbers than those of the call.
        OtherNumbers = "other_numbers",
    }
}

record! {
    /// Another leg of the same conversation, and how that is known.
    #[part]
    #[name = "join"]
    pub struct Join {
        /// Id of the other call.
        pub call: Id,
        /// What joins them.
        pub reason: JoinReason,
        /// How certain that is, above 0 and up to 1.
        pub confidence: f64,
        /// The evidence in words.
        pub evidence: String,
    }
}

names! {
    /// What a quality report is.
    pub enum QualityReportKind {
        /// Of a whole session, RFC 6035.
        Session = "session",
        /// Of a part of it, RFC 6035.
        Interval = "interval",
        /// A threshold was crossed, RFC 6035.
        Alert = "alert",
        /// Statistics in a header field of a BYE or its answer.
        Statistics = "statistics",
    }
}

names! {
    /// Whose media a quality report is about.
    pub enum QualityView {
        /// What the reporter received.
        Local = "local",
        /// What the other side received, as it told the reporter.
        Remote = "remote",
    }
}

record! {
    /// What an endpoint says of the quality of a call.
    #[part]
    #[name = "quality_report"]
    pub struct QualityReport {
        /// When it passed here.
        #[name = "time_us"]
        pub time: Nanos,
        /// What it is.
        pub kind: QualityReportKind,
        /// Whose media it is about.
        pub view: QualityView,
        /// Who reports; null where the report names neither party of the call.
        pub by: Option<Party>,
        /// What the report calls its reporter (`LocalID` of RFC 6035).
        pub reporter: Option<String>,
        /// What carried it, and what it says of itself: `VQSessionReport CallTerm`, `P-RTP-Stat`.
        pub source: String,
        /// Codec as the reporter writes it.
        pub codec: Option<String>,
        /// Packets that the reporter sent.
        #[unit = Packets]
        pub sent: Option<u64>,
        /// Packets that it received.
        #[unit = Packets]
        pub received: Option<u64>,
        /// Packets lost on the way to it.
        #[unit = Packets]
        pub lost: Option<u64>,
        /// Network packet loss.
        #[unit = Percent]
        pub loss_pct: Option<f64>,
        /// Packets that the jitter buffer discarded.
        #[unit = Percent]
        pub discard_pct: Option<f64>,
        /// Interarrival jitter.
        #[unit = Milliseconds]
        pub jitter_ms: Option<f64>,
        /// Round trip.
        #[unit = Milliseconds]
        pub rtt_ms: Option<f64>,
        /// Delay within the end system.
        #[unit = Milliseconds]
        pub end_system_ms: Option<f64>,
        /// R factor of listening quality, else of conversational quality.
        pub r_factor: Option<f64>,
        /// MOS-LQ.
        pub mos_lq: Option<f64>,
        /// MOS-CQ.
        pub mos_cq: Option<f64>,
    }
}

record! {
    /// One call attempt: a Call-ID with its first INVITE, the challenges it answers, its forks, re-INVITEs
    /// and its end.
    #[name = "call"]
    pub struct Call {
        /// Derived from the Call-ID, the time of the first INVITE and the two hosts.
        pub id: Id,
        /// Call-ID as on the wire.
        pub call_id: String,
        /// Protocol of the signalling.
        pub protocol: Protocol,
        /// What carried the first message.
        pub transport: Transport,
        /// Source of the first INVITE.
        pub src: Endpoint,
        /// Destination of the first INVITE.
        pub dst: Endpoint,
        /// User part of the From URI.
        pub from_user: Option<String>,
        /// Host part of the From URI.
        pub from_host: Option<String>,
        /// Display name of From, without its quotes.
        pub from_display: Option<String>,
        /// User part of the To URI.
        pub to_user: Option<String>,
        /// Host part of the To URI.
        pub to_host: Option<String>,
        /// User part of the Request-URI of the first INVITE.
        pub ruri_user: Option<String>,
        /// Host part of the Request-URI of the first INVITE.
        pub ruri_host: Option<String>,
        /// P-Asserted-Identity (RFC 3325): user part, or the host where there is none.
        pub asserted_identity: Option<String>,
        /// Numbers that the call was routed on to, in the order seen, each once.
        pub diverted_to: Vec<String>,
        /// Id of the conversation that it is a leg of: that of the conversation's first leg, so its own where
        /// nothing joins it to another; null where that was not looked at.
        pub conversation: Option<Id>,
        /// Other legs of the conversation that it was joined to directly.
        #[if_absent = default]
        pub joins: Vec<Join>,
        /// What may join it to other legs, as `kind=value`.
        #[if_absent = default]
        pub links: Vec<String>,
        /// Trunk that it came from: a group of addresses of the configuration, or the sender's address.
        pub trunk_from: Option<String>,
        /// Trunk that it was sent to: a group of addresses of the configuration, or the receiver's address.
        pub trunk_to: Option<String>,
        /// How the operator of the caller vouches for the number (STIR/SHAKEN); null without an Identity
        /// header that says so.
        pub attestation: Option<Attestation>,
        /// What became of checking that header; null where there is none.
        pub identity_status: Option<IdentityStatus>,
        /// `origid` of that header: who let the call into the network, as that operator numbers them.
        pub origination_id: Option<String>,
        /// How far the call has come.
        pub state: CallState,
        /// Status code of the last final answer to the INVITE, 0 when there is none.
        pub final_code: u16,
        /// Reason phrase of that answer.
        pub final_reason: Option<String>,
        /// Q.850 cause from a Reason header (RFC 3326).
        pub cause: Option<u16>,
        /// Who released the call.
        pub released_by: Option<Party>,
        /// Time of the first INVITE.
        #[name = "invite_us"]
        pub invite: Option<Nanos>,
        /// Time of the first 100.
        #[name = "trying_us"]
        pub trying: Option<Nanos>,
        /// Time of the first 18x.
        #[name = "ringing_us"]
        pub ringing: Option<Nanos>,
        /// Time of the first 2xx to the INVITE.
        #[name = "answer_us"]
        pub answer: Option<Nanos>,
        /// Time of the first BYE, or CANCEL, or final failure; of the last packet where the BYE was probably
        /// lost.
        #[name = "end_us"]
        pub end: Option<Nanos>,
        /// Post-dial delay: first INVITE to first 18x (or 2xx where there is none).
        #[unit = Milliseconds]
        pub pdd_ms: Option<f64>,
        /// From answer to end; null where the clock was set back in between.
        #[unit = Milliseconds]
        pub duration_ms: Option<f64>,
        /// Session disconnect delay: from the BYE to its answer (RFC 6076 section 4.4); null where none was
        /// seen.
        #[unit = Milliseconds]
        pub sdd_ms: Option<f64>,
        /// SIP messages seen, without copies that the mirror port made.
        pub messages: u32,
        /// SIP messages that repeat one already seen.
        pub retransmissions: u32,
        /// User-Agent or Server of the calling side.
        pub user_agent_caller: Option<String>,
        /// User-Agent or Server of the called side.
        pub user_agent_callee: Option<String>,
        /// Ids of its media streams, in order of their first packet.
        pub streams: Vec<Id>,
        /// MOS-LQ of the worse direction, 1 to 4.5.
        pub mos: Option<f64>,
        /// MOS-LQ of the worst 10 s.
        pub mos_worst_interval: Option<f64>,
        /// Digits that were pressed.
        pub dtmf: Vec<Dtmf>,
        /// Packets that this monitor is known to have dropped while the call lasted.
        #[unit = Packets]
        pub capture_drops: u64,
        /// What was recorded of the call.
        pub recorded: Recorded,
        /// Packets of the call that were recorded, signalling and media; null where nothing was.
        #[unit = Packets]
        pub recorded_packets: Option<u64>,
        /// Packets that were counted and should have been recorded, and were not: 0 where the recording is
        /// complete.
        #[unit = Packets]
        pub recorded_missing: Option<u64>,
        /// Directions of an answered call, 0 to 2, of which no media was recorded although it should have
        /// been. The streams of the call tell whether that media was never sent or never passed here.
        pub recorded_empty: Option<u8>,
        /// Time in which this monitor did not run while the call lasted: the call went on over a restart.
        /// Null where it ran all the time.
        #[unit = Milliseconds]
        pub unmonitored_ms: Option<f64>,
        /// What endpoints say of the quality of its media in signalling, in order of time.
        #[if_absent = default]
        pub quality_reports: Vec<QualityReport>,
        /// What an engineer would remark: of the call, and of its streams.
        #[if_absent = default]
        pub notes: Vec<Note>,
    }
    beside {
        /// Its Identity header, until somebody has checked it.
        pub identity: Option<Arc<IdentityHeader>>,
    }
}

/// The Identity header of an INVITE (RFC 8224) as on the wire, and what its compact form needs beside it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IdentityHeader {
    /// Its value; None where it is too long to be kept.
    pub value: Option<Box<str>>,
    /// The Date header of the same INVITE.
    pub date: Option<Box<str>>,
}

impl Call {
    /// A record of which nothing is known.
    pub const UNKNOWN: Self = Self {
        id: Id([0; 16]),
        call_id: String::new(),
        protocol: Protocol::Sip,
        transport: Transport::Udp,
        src: Endpoint::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0),
        dst: Endpoint::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0),
        from_user: None,
        from_host: None,
        from_display: None,
        to_user: None,
        to_host: None,
        ruri_user: None,
        ruri_host: None,
        asserted_identity: None,
        diverted_to: Vec::new(),
        conversation: None,
        joins: Vec::new(),
        links: Vec::new(),
        trunk_from: None,
        trunk_to: None,
        attestation: None,
        identity_status: None,
        origination_id: None,
        state: CallState::Trying,
        final_code: 0,
        final_reason: None,
        cause: None,
        released_by: None,
        invite: None,
        trying: None,
        ringing: None,
        answer: None,
        end: None,
        pdd_ms: None,
        duration_ms: None,
        sdd_ms: None,
        messages: 0,
        retransmissions: 0,
        user_agent_caller: None,
        user_agent_callee: None,
        streams: Vec::new(),
        mos: None,
        mos_worst_interval: None,
        dtmf: Vec::new(),
        capture_drops: 0,
        recorded: Recorded::None,
        recorded_packets: None,
        recorded_missing: None,
        recorded_empty: None,
        unmonitored_ms: None,
        quality_reports: Vec::new(),
        notes: Vec::new(),
        identity: None,
    };

    /// The first moment known of the call: its INVITE, or for a dialog joined later its first event.
    pub fn start(&self) -> Option<Nanos> {
        self.invite.or(self.trying).or(self.ringing).or(self.answer).or(self.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Endpoint, Id};

    /// Every field set, at whole microseconds.
    fn call() -> Call {
        let at = |millis| Some(Nanos::from_secs(1_795_262_400) + Nanos::from_millis(millis));
        Call {
            id: Id(*b"0123456789abcdef"),
            call_id: "4f2a\"19@192.0.2.1".into(),
            protocol: Protocol::Sip,
            transport: Transport::Ws,
            src: Endpoint::new([192, 0, 2, 1].into(), 5060),
            dst: Endpoint::new(std::net::Ipv6Addr::LOCALHOST.into(), 5061),
            from_user: Some("+4930".into()),
            from_host: None,
            from_display: Some("\u{1b}[31m".into()),
            to_user: None,
            to_host: Some("example.net".into()),
            ruri_user: None,
            ruri_host: None,
            asserted_identity: None,
            diverted_to: vec!["voicemail".into()],
            conversation: Some(Id([5; 16])),
            joins: vec![Join {
                call: Id([6; 16]),
                reason: JoinReason::SessionId,
                confidence: 1.0,
                evidence: "Session-ID 47755a9de7794ba387653f2099600ef2".into(),
            }],
            links: vec!["session=47755a9de7794ba387653f2099600ef2".into()],
            trunk_from: Some("carrier".into()),
            trunk_to: None,
            attestation: Some(Attestation::Partial),
            identity_status: Some(IdentityStatus::NotChecked),
            origination_id: None,
            state: CallState::Ringing,
            final_code: 0,
            final_reason: None,
            cause: Some(16),
            released_by: Some(Party::Network),
            invite: at(0),
            trying: None,
            ringing: at(1_500),
            answer: None,
            end: None,
            pdd_ms: Some(1_500.1),
            duration_ms: None,
            sdd_ms: Some(12.5),
            messages: 3,
            retransmissions: 0,
            user_agent_caller: None,
            user_agent_callee: None,
            streams: vec![Id([7; 16])],
            mos: Some(0.1 + 0.2),
            mos_worst_interval: None,
            dtmf: vec![Dtmf { digit: "#".into(), source: DtmfSource::Info, time: Nanos::from_micros(7) }],
            capture_drops: 3,
            recorded: Recorded::None,
            recorded_packets: None,
            recorded_missing: None,
            recorded_empty: None,
            unmonitored_ms: None,
            quality_reports: Vec::new(),
            notes: Vec::new(),
            identity: None,
        }
    }

    #[test]
    fn written_and_read_it_is_the_same() {
        let call = call();
        let text = serde_json::to_string(&call).unwrap();
        assert_eq!(serde_json::from_str::<Call>(&text).unwrap(), call);
    }

    /// A record that an earlier version wrote lacks the fields that came later: they are not known.
    #[test]
    fn a_record_of_an_earlier_version_is_read() {
        let mut value = serde_json::to_value(call()).unwrap();
        for name in ["recorded_packets", "recorded_missing", "recorded_empty", "unmonitored_ms", "mos"] {
            value.as_object_mut().unwrap().remove(name);
        }
        let expected = Call { mos: None, ..call() };
        assert_eq!(serde_json::from_value::<Call>(value).unwrap(), expected);
    }

    #[test]
    fn a_malformed_call_is_refused() {
        let text = serde_json::to_string(&call()).unwrap();
        for (right, wrong) in [
            ("192.0.2.1:5060", "192.0.2.1"),
            ("192.0.2.1:5060", "192.0.2.256:5060"),
            ("[::1]:5061", "::1:5061"),
            ("[::1]:5061", "[::1]:65536"),
            ("30313233", "3031323"),
            ("\"ringing\"", "\"rings\""),
        ] {
            let damaged = text.replacen(right, wrong, 1);
            assert_ne!(damaged, text, "{right} is not in it");
            assert!(serde_json::from_str::<Call>(&damaged).is_err(), "{wrong} was accepted");
        }
    }
}
