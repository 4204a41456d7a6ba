//! Records to store: those of `samples`, numbered.

use ringtap_model::{
    Alarm, Attestation, Call, Dtmf, DtmfSource, Endpoint, Id, IdentityStatus, Interval, Join, JoinReason,
    Message, Nanos, Party, Recorded, Registration, Stream, Transaction,
};
use ringtap_testing::samples;

/// Noon of 2026-11-21, UTC.
pub(crate) const NOON: Nanos = Nanos::from_secs(1_795_262_400);
pub(crate) const DAY: Nanos = Nanos::from_secs(86_400);

/// The id of record `number` of a kind.
pub(crate) fn id(kind: u8, number: u64) -> Id {
    let mut id = [kind; 16];
    id[8..].copy_from_slice(&number.to_be_bytes());
    Id(id)
}

fn host(last: u8) -> Endpoint {
    Endpoint::new([192, 0, 2, last].into(), 5060)
}

/// A call with every field set, `number` minutes after noon.
pub(crate) fn call(number: u64) -> Call {
    let invite = NOON + Nanos::from_secs(60 * number);
    let after = |millis| Some(invite + Nanos::from_millis(millis));
    Call {
        id: id(1, number),
        call_id: format!("call-{number}@example.org"),
        src: host(1),
        dst: host(2),
        from_user: Some(format!("+4930{number:05}")),
        from_display: Some("A \"name\"".into()),
        to_user: Some(format!("+4989{number:05}")),
        ruri_user: Some(format!("89{number:05}")),
        asserted_identity: Some(format!("30{number:05}")),
        diverted_to: vec![format!("+4940{number:05}"), "voicemail".into()],
        conversation: Some(id(1, number)),
        joins: vec![Join {
            call: id(1, number + 1),
            reason: JoinReason::SdpOrigin,
            confidence: 0.75,
            evidence: "o=- 42 1 IN IP4 192.0.2.1".into(),
        }],
        links: vec!["session=47755a9de7794ba387653f2099600ef2".into()],
        trunk_from: Some("carrier".into()),
        trunk_to: Some("pbx".into()),
        attestation: Some(Attestation::Full),
        identity_status: Some(IdentityStatus::Verified),
        origination_id: Some("123e4567-e89b-12d3-a456-426614174000".into()),
        released_by: Some(Party::Caller),
        invite: Some(invite),
        trying: after(10),
        ringing: after(1_500),
        answer: after(4_000),
        end: after(64_000),
        pdd_ms: Some(1_500.0),
        duration_ms: Some(60_000.25),
        user_agent_callee: Some("gateway".into()),
        streams: vec![id(2, number)],
        mos: Some(4.25),
        dtmf: vec![Dtmf { digit: "1".into(), source: DtmfSource::Rfc4733, time: invite }],
        capture_drops: 3,
        recorded: Recorded::Headers,
        recorded_packets: Some(1_500),
        recorded_missing: Some(2),
        recorded_empty: Some(1),
        unmonitored_ms: Some(1_500.5),
        ..samples::call()
    }
}

/// A stream of call `number` with every field set, five seconds after its INVITE.
pub(crate) fn stream(number: u64) -> Stream {
    let first = NOON + Nanos::from_secs(60 * number + 5);
    let intervals = samples::stream().intervals.into_iter().take(1);
    Stream {
        id: id(2, number),
        call_id: Some(format!("call-{number}@example.org")),
        call: Some(id(1, number)),
        src: host(3),
        dst: host(4),
        ssrc: u32::MAX,
        first,
        last: first + Nanos::from_secs(60),
        bytes: u64::MAX,
        intervals: intervals.map(|interval| Interval { start: first, ..interval }).collect(),
        ..samples::stream()
    }
}

/// Registration `number`.
pub(crate) fn registration(number: u64) -> Registration {
    Registration {
        id: id(3, number),
        aor: format!("{number}@example.org"),
        first: NOON,
        last: NOON + Nanos::from_secs(1),
        expires: Some(NOON + Nanos::from_secs(3_600)),
        ..samples::registration()
    }
}

/// MESSAGE `number`.
pub(crate) fn message(number: u64) -> Message {
    Message {
        id: id(4, number),
        call_id: format!("message-{number}"),
        from: Some("1@example.org".into()),
        to: Some("2@example.org".into()),
        time: NOON,
        ..samples::message()
    }
}

/// SUBSCRIBE `number`.
pub(crate) fn transaction(number: u64) -> Transaction {
    Transaction {
        id: id(5, number),
        call_id: format!("subscribe-{number}"),
        time: NOON + Nanos::from_secs(number),
        ..samples::transaction()
    }
}

/// Alarm `number`, raised as many minutes after noon.
pub(crate) fn alarm(number: u64) -> Alarm {
    let raised = NOON + Nanos::from_secs(60 * number);
    Alarm { id: id(6, number), raised, last: raised + Nanos::from_secs(10), ..samples::alarm() }
}
