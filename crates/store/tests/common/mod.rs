//! Records to write.

use ringtap_model::{
    Call, CallState, Direction, Dtmf, DtmfSource, Endpoint, Hz, Id, Interval, Message, Nanos, Party,
    Protocol, Recorded, Registration, RegistrationState, RttSource, Stream, Transport,
};

/// Noon of 2026-11-21, UTC.
pub(crate) const NOON: Nanos = Nanos::from_secs(1_795_262_400);
pub(crate) const DAY: Nanos = Nanos::from_secs(86_400);

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
        protocol: Protocol::Sip,
        transport: Transport::Udp,
        src: host(1),
        dst: host(2),
        from_user: Some(format!("+4930{number:05}")),
        from_host: Some("example.org".into()),
        from_display: Some("A \"name\"".into()),
        to_user: Some(format!("+4989{number:05}")),
        to_host: Some("example.net".into()),
        ruri_user: Some(format!("89{number:05}")),
        ruri_host: Some("192.0.2.2".into()),
        asserted_identity: Some(format!("30{number:05}")),
        diverted_to: vec![format!("+4940{number:05}"), "voicemail".into()],
        state: CallState::Completed,
        final_code: 200,
        final_reason: Some("OK".into()),
        cause: Some(16),
        released_by: Some(Party::Caller),
        invite: Some(invite),
        trying: after(10),
        ringing: after(1_500),
        answer: after(4_000),
        end: after(64_000),
        pdd_ms: Some(1_500.0),
        duration_ms: Some(60_000.25),
        messages: 9,
        retransmissions: 1,
        user_agent_caller: Some("phone".into()),
        user_agent_callee: Some("gateway".into()),
        streams: vec![id(2, number)],
        mos: Some(4.25),
        mos_worst_interval: Some(3.5),
        dtmf: vec![Dtmf { digit: "1".into(), source: DtmfSource::Rfc4733, time: invite }],
        capture_drops: 3,
        recorded: Recorded::Headers,
        recorded_packets: Some(1_500),
        recorded_missing: Some(2),
        recorded_empty: Some(1),
    }
}

/// A stream of call `number` with every field set, five seconds after its INVITE.
pub(crate) fn stream(number: u64) -> Stream {
    let first = NOON + Nanos::from_secs(60 * number + 5);
    let some = Some(1.5);
    Stream {
        id: id(2, number),
        call_id: Some(format!("call-{number}@example.org")),
        call: Some(id(1, number)),
        direction: Some(Direction::CallerToCallee),
        src: host(3),
        dst: host(4),
        ssrc: u32::MAX,
        payload_type: 8,
        codec: Some("PCMA".into()),
        clock: Some(Hz(8_000)),
        ptime_ms: Some(20.0),
        first,
        last: first + Nanos::from_secs(60),
        packets: 3_000,
        unique: 2_999,
        lost: 1,
        duplicates: 1,
        reordered: 0,
        bytes: u64::MAX,
        ip_bytes: 600_000,
        rate_bps: Some(80_000.0),
        jitter_ms_mean: some,
        jitter_ms_max: some,
        delta_ms_max: some,
        iat_ms_min: some,
        iat_ms_mean: some,
        iat_ms_max: some,
        iat_ms_sd: some,
        size_min: 200,
        size_mean: 200.0,
        size_max: 200,
        size_sd: 0.0,
        loss_bursts: 1,
        burst_len_mean: some,
        burst_len_max: Some(1),
        burst_ratio: Some(0.75),
        rtt_ms: some,
        rtt_source: Some(RttSource::Rtcp),
        rtcp_reports: Some(3),
        rtcp_lost: Some(12),
        rtcp_lost_pct_max: Some(2.734),
        rtcp_jitter_ms_mean: Some(3.5),
        rtcp_jitter_ms_max: Some(9.125),
        rtcp_rtt_ms_max: Some(41.5),
        rtcp_sent_packets: Some(1500),
        rtcp_sent_bytes: Some(240_000),
        rtcp_bye: Some(Nanos::from_secs(1_700_000_100)),
        rtcp_cname: Some("pbx@example.com".to_owned()),
        mos: Some(4.25),
        r_factor: Some(90.0),
        mos_fixed50: Some(4.0),
        mos_fixed200: Some(4.125),
        mos_adaptive500: Some(4.25),
        mos_cole: Some(4.0),
        intervals: vec![Interval {
            start: first,
            packets: 500,
            lost: 1,
            jitter_ms: 1.0,
            discarded: 0,
            mos: Some(4.25),
            mos_fixed50: None,
            mos_fixed200: None,
        }],
        silence_pct: some,
        clipped_pct: some,
    }
}

pub(crate) fn registration(number: u64) -> Registration {
    Registration {
        id: id(3, number),
        aor: format!("{number}@example.org"),
        contact: Some("sip:1@192.0.2.1".into()),
        src: host(1),
        dst: host(2),
        user_agent: Some("phone".into()),
        state: RegistrationState::Active,
        code: 200,
        first: NOON,
        last: NOON + Nanos::from_secs(1),
        expires: Some(NOON + Nanos::from_secs(3_600)),
        requests: 2,
    }
}

pub(crate) fn message(number: u64) -> Message {
    Message {
        id: id(4, number),
        call_id: format!("message-{number}"),
        src: host(1),
        dst: host(2),
        from: Some("1@example.org".into()),
        to: Some("2@example.org".into()),
        content_type: Some("text/plain".into()),
        size: 12,
        time: NOON,
        code: 202,
    }
}
