//! Sample records for tests, and comparison with golden files and the manual.

use std::net::Ipv4Addr;
use std::path::PathBuf;

use ringtap_model::{
    AffectedCall, AffectedGap, Alarm, Call, CallState, Direction, Dtmf, DtmfSource, Endpoint, EvidenceKind,
    Failover, FailoverSign, Failure, HeldAddress, Hz, Id, Identity, Interval, LostAt, Message, MethodCount,
    Nanos, Outage, OutageKind, Party, Protocol, QualityReport, QualityReportKind, QualityView, Recorded,
    Registration, RegistrationState, RtcpReport, RtcpReportKind, RttSource, ServiceHour, ServiceRole,
    SessionBegin, SessionSource, Severity, Stream, Transaction, Transport, User,
};

/// Compares `text` with `tests/golden/NAME`. With `RINGTAP_BLESS=1` in the environment, writes it there
/// first.
///
/// # Panics
///
/// The text differs, or the file cannot be read or written.
pub fn golden(name: &str, text: &str) {
    let path = package().join("tests/golden").join(name);
    if std::env::var_os("RINGTAP_BLESS").is_some() {
        std::fs::write(&path, text).expect("the golden file can be written");
    }
    assert_eq!(
        text,
        std::fs::read_to_string(&path).expect("the golden file is there"),
        "tests/golden/{name}"
    );
}

/// 2026-11-21 02:00:00 UTC.
pub const START: Nanos = Nanos(1_795_226_400_000_000_000);

/// `192.0.2.HOST:PORT`.
pub fn endpoint(host: u8, port: u16) -> Endpoint {
    Endpoint::new(Ipv4Addr::new(192, 0, 2, host).into(), port)
}

/// An answered call of 61.5 s between two phones, with a MOS of 4.2.
pub fn call() -> Call {
    Call {
        id: Id([0xab; 16]),
        call_id: "f81d4fae-7dec-11d0@192.0.2.1".into(),
        protocol: Protocol::Sip,
        transport: Transport::Udp,
        src: endpoint(1, 5060),
        dst: endpoint(2, 5060),
        from_user: Some("+420221111111".into()),
        from_host: Some("example.org".into()),
        from_display: Some("Božena".into()),
        to_user: Some("+420602222222".into()),
        to_host: Some("example.net".into()),
        ruri_user: Some("+420602222222".into()),
        ruri_host: Some("192.0.2.2".into()),
        asserted_identity: None,
        diverted_to: vec!["voicemail".into()],
        conversation: None,
        joins: Vec::new(),
        links: Vec::new(),
        trunk_from: None,
        trunk_to: None,
        attestation: None,
        identity_status: None,
        origination_id: None,
        state: CallState::Completed,
        final_code: 200,
        final_reason: Some("OK".into()),
        cause: Some(16),
        released_by: Some(Party::Callee),
        invite: Some(START),
        trying: Some(START + Nanos::from_millis(20)),
        ringing: Some(START + Nanos::from_millis(850)),
        answer: Some(START + Nanos::from_secs(4)),
        end: Some(START + Nanos::from_millis(65_500)),
        pdd_ms: Some(850.0),
        duration_ms: Some(61_500.0),
        sdd_ms: None,
        messages: 8,
        retransmissions: 1,
        user_agent_caller: Some("Phone/1.0".into()),
        user_agent_callee: None,
        streams: vec![Id([1; 16]), Id([2; 16])],
        mos: Some(4.2),
        mos_worst_interval: Some(3.4),
        dtmf: vec![
            Dtmf { digit: "1".into(), source: DtmfSource::Rfc4733, time: START + Nanos::from_secs(10) },
            Dtmf { digit: "#".into(), source: DtmfSource::Info, time: START + Nanos::from_secs(11) },
        ],
        capture_drops: 0,
        recorded: Recorded::None,
        recorded_packets: None,
        recorded_missing: None,
        recorded_empty: None,
        unmonitored_ms: None,
        quality_reports: vec![quality_report()],
        notes: Vec::new(),
        identity: None,
    }
}

/// A refused call with a hostile reason phrase and display name.
pub fn hostile_call() -> Call {
    Call {
        id: Id([0xcd; 16]),
        call_id: "evil\x1b]0;owned\x07\u{202e}@x".into(),
        from_user: None,
        from_display: Some("\x1b[2J\nroot\u{9b}31m".into()),
        to_user: Some("日本語電話番号".into()),
        state: CallState::Failed,
        final_code: 486,
        final_reason: Some("Busy\tHere\r\n\x1b[31m".into()),
        cause: None,
        released_by: None,
        ringing: None,
        answer: None,
        end: Some(START + Nanos::from_millis(1_500)),
        pdd_ms: None,
        duration_ms: None,
        streams: Vec::new(),
        mos: None,
        mos_worst_interval: None,
        dtmf: Vec::new(),
        ..call()
    }
}

/// What the callee's BYE says.
fn quality_report() -> QualityReport {
    QualityReport {
        time: START + Nanos::from_secs(64),
        kind: QualityReportKind::Statistics,
        view: QualityView::Local,
        by: Some(Party::Callee),
        reporter: None,
        source: "P-RTP-Stat".into(),
        codec: Some("PCMA".into()),
        sent: Some(3_000),
        received: Some(2_988),
        lost: Some(12),
        loss_pct: None,
        discard_pct: None,
        jitter_ms: Some(3.0),
        rtt_ms: None,
        end_system_ms: None,
        r_factor: None,
        mos_lq: Some(4.1),
        mos_cq: None,
    }
}

/// A receiver's report so many seconds after the start.
fn report(seconds: u64, lost_pct: f64, lost: u64) -> RtcpReport {
    RtcpReport {
        time: START + Nanos::from_secs(4 + seconds),
        kind: RtcpReportKind::Receiver,
        lost_pct: Some(lost_pct),
        lost: Some(lost),
        jitter_ms: Some(3.5),
        rtt_ms: Some(35.5),
        sent_packets: None,
        discard_pct: None,
        burst_density_pct: None,
        gap_density_pct: None,
        r_factor: None,
        mos_lq: None,
        mos_cq: None,
    }
}

/// What RTCP says of a stream.
fn heard() -> Stream {
    Stream {
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
        rtcp_sender_rtt_ms: Some(12.25),
        rtcp_counts: vec!["nack=2".to_owned(), "xr:loss-rle=3".to_owned()],
        reports: vec![report(5, 1.953, 12), report(10, 0.391, 13)],
        xr_reports: Some(2),
        xr_loss_pct: Some(0.391),
        xr_discard_pct: Some(1.172),
        xr_burst_density_pct: Some(10.547),
        xr_burst_ms: Some(120.0),
        xr_gap_density_pct: Some(0.391),
        xr_gap_ms: Some(4_000.0),
        xr_rtt_ms: Some(47.0),
        xr_end_system_ms: Some(80.0),
        xr_buffer_ms: Some(60.0),
        xr_signal_dbm0: Some(-19.0),
        xr_noise_dbm0: Some(-62.0),
        xr_r_factor: Some(88.0),
        xr_mos_lq: Some(4.2),
        xr_mos_cq: Some(4.1),
        lost_at: Some(LostAt::BehindTap),
        lost_at_evidence: Some(
            "of 2900 reported on, 3 missing here, 12 at the receiver: 3 lost before here, 9 lost behind here"
                .into(),
        ),
        ..Stream::UNKNOWN
    }
}

/// 60 s of G.711 from the caller, with a little loss.
pub fn stream() -> Stream {
    Stream {
        id: Id([1; 16]),
        call_id: Some(call().call_id),
        call: Some(call().id),
        direction: Some(Direction::CallerToCallee),
        src: endpoint(1, 4000),
        dst: endpoint(2, 6000),
        ssrc: 0xdead_beef,
        payload_type: 8,
        codec: Some("PCMA".into()),
        clock: Some(Hz(8000)),
        ptime_ms: Some(20.0),
        first: START + Nanos::from_secs(4),
        last: START + Nanos::from_secs(64),
        packets: 2_990,
        unique: 2_985,
        lost: 15,
        duplicates: 5,
        reordered: 2,
        bytes: 478_400,
        ip_bytes: 598_000,
        rate_bps: Some(79_733.3),
        jitter_ms_mean: Some(1.234),
        jitter_ms_max: Some(7.5),
        delta_ms_max: Some(81.2),
        iat_ms_min: Some(0.1),
        iat_ms_mean: Some(20.07),
        iat_ms_max: Some(81.2),
        iat_ms_sd: Some(2.2),
        size_min: 200,
        size_mean: 200.0,
        size_max: 200,
        size_sd: 0.0,
        loss_bursts: 10,
        burst_len_mean: Some(1.5),
        burst_len_max: Some(4),
        burst_ratio: Some(1.49),
        rtt_ms: Some(35.5),
        rtt_source: Some(RttSource::Rtcp),
        mos: Some(4.2),
        r_factor: Some(84.1),
        mos_basis: Some(
            "model=G.107 codec=PCMA/64 ie=0 bpl=25.1 concealment=receiver factors=published".into(),
        ),
        mos_cq: Some(4.1),
        mos_cq_basis: Some("delay_ms=121.9 network_ms=23.9 from=both end_system=simulated".into()),
        mos_fixed50: Some(4.1),
        mos_fixed200: Some(4.3),
        mos_adaptive500: Some(4.2),
        mos_cole: Some(4.25),
        intervals: (0..6).map(interval).collect(),
        silence_pct: Some(40.2),
        clipped_pct: Some(0.0),
        ..heard()
    }
}

/// Compares a screen with the block of that name on a page of the manual. With `RINGTAP_BLESS` in the
/// environment, writes it there instead.
///
/// A block is a fenced text after the line `<!-- screen NAME -->`.
///
/// # Panics
///
/// The screen differs, or the page or its block does not exist.
pub fn manual(page: &str, name: &str, screen: &str) {
    let path = package().join("../../docs/manual").join(page);
    let text = std::fs::read_to_string(&path).expect("the page of the manual is there");
    let begin = format!("<!-- screen {name} -->\n```text\n");
    let at = text.find(&begin).unwrap_or_else(|| panic!("{page} has no screen {name}")) + begin.len();
    let end = at + text[at..].find("```").expect("the block has an end");
    if std::env::var_os("RINGTAP_BLESS").is_some() {
        std::fs::write(&path, format!("{}{screen}{}", &text[..at], &text[end..]))
            .expect("the page can be written");
        return;
    }
    assert_eq!(
        &text[at..end],
        screen,
        "docs/manual/{page} is not what the program shows: update it with RINGTAP_BLESS=1"
    );
}

/// Folder of the crate whose test runs, from Cargo's environment.
fn package() -> PathBuf {
    std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap_or_default()
}

fn interval(index: u32) -> Interval {
    Interval {
        start: START + Nanos::from_secs(4 + u64::from(index) * 10),
        packets: 500,
        lost: if index == 3 { 15 } else { 0 },
        jitter_ms: 1.2,
        discarded: 0,
        mos: Some(if index == 3 { 3.4 } else { 4.4 }),
        mos_fixed50: Some(4.3),
        mos_fixed200: Some(4.4),
    }
}

/// A registration accepted for an hour.
pub fn registration() -> Registration {
    Registration {
        id: Id([3; 16]),
        aor: "221111111@example.org".into(),
        contact: Some("sip:221111111@192.0.2.1:5060".into()),
        src: endpoint(1, 5060),
        dst: endpoint(9, 5060),
        user_agent: Some("Phone/1.0".into()),
        state: RegistrationState::Active,
        code: 200,
        first: START,
        last: START + Nanos::from_millis(40),
        expires: Some(START + Nanos::from_secs(3600)),
        requests: 2,
        attempts: Some(1),
        failed: Some(0),
        rrd_ms_mean: Some(40.0),
        rrd_ms_max: Some(40.0),
    }
}

/// An accepted MESSAGE.
pub fn message() -> Message {
    Message {
        id: Id([4; 16]),
        call_id: "m1@192.0.2.1".into(),
        src: endpoint(1, 5060),
        dst: endpoint(9, 5060),
        from: Some("221111111@example.org".into()),
        to: Some("602222222@example.net".into()),
        content_type: Some("text/plain".into()),
        size: 12,
        time: START,
        code: 202,
    }
}

/// An accepted SUBSCRIBE.
pub fn transaction() -> Transaction {
    Transaction {
        id: Id([5; 16]),
        method: "SUBSCRIBE".into(),
        call_id: "s1@192.0.2.1".into(),
        src: endpoint(1, 5060),
        dst: endpoint(9, 5060),
        from: Some("221111111@example.org".into()),
        to: Some("221111111@example.org".into()),
        user_agent: Some("Phone/1.0".into()),
        event: Some("message-summary".into()),
        time: START,
        delay_ms: Some(35.25),
        code: 202,
    }
}

/// An alarm that stands.
pub fn alarm() -> Alarm {
    Alarm {
        id: Id([6; 16]),
        rule: "asr-low".into(),
        severity: Severity::Critical,
        per: "trunk".into(),
        subject: "carrier".into(),
        figure: "asr".into(),
        value: Some(12.5),
        worst: Some(10.0),
        threshold: 40.0,
        behind: 80,
        text: "12.5 % of the 80 calls from carrier were answered: fewer than 40 %".into(),
        raised: START,
        last: START + Nanos::from_secs(60),
        cleared: None,
        calls: vec![call().call_id],
        acknowledged: None,
        acknowledged_by: None,
        comment: None,
        silenced_until: None,
    }
}

/// An outage of a second and a half that has ended.
pub fn outage() -> Outage {
    Outage {
        id: Id([8; 16]),
        service: endpoint(10, 5060),
        transport: Transport::Udp,
        role: ServiceRole::Monitored,
        kind: OutageKind::Unanswered,
        from: START,
        last_answer: Some(START.since(Nanos::from_millis(20))),
        first_unanswered: START,
        first_answer: Some(START + Nanos::from_millis(1_500)),
        last: START + Nanos::from_millis(1_500),
        down_ms: 1_500.0,
        unobserved_ms: 0.0,
        requests: 12,
        sent: 31,
        clients: 4,
        refused: None,
    }
}

/// The failover of [`outage`].
pub fn failover() -> Failover {
    Failover {
        id: Id([9; 16]),
        from: START,
        until: Some(START + Nanos::from_millis(1_500)),
        down_ms: 1_500.0,
        causes: vec!["proxy_lost".into()],
        services: vec!["192.0.2.10:5060/udp".into()],
        outages: vec![outage().id],
        evidence: vec![FailoverSign {
            kind: EvidenceKind::ArpMoved,
            first: START + Nanos::from_millis(1_300),
            last: START + Nanos::from_millis(1_350),
            count: 5,
            address: "192.0.2.10".into(),
            from: Some("02:00:00:00:00:01".into()),
            to: Some("02:00:00:00:00:02".into()),
        }],
        judged_until: Some(START + Nanos::from_secs(361)),
        calls: Some(40),
        delayed: Some(3),
        delay_ms_median: Some(1_480.0),
        delay_ms_p95: Some(1_510.5),
        delay_ms_max: Some(1_510.5),
        failed: Some(1),
        cut: Some(0),
        given_up: Some(0),
        unknown: Some(0),
        users: Some(9),
        registering_users: Some(1),
        gaps: Some(1),
        gap_ms_median: Some(640.0),
        gap_ms_p95: Some(640.0),
        gap_ms_max: Some(640.0),
        lost_per_million: Some(25_000.0),
    }
}

/// A call that [`failover`] delayed, with a gap in its media.
pub fn affected_call() -> AffectedCall {
    AffectedCall {
        id: Id([11; 16]),
        failover: failover().id,
        failover_from: START,
        call: Id([1; 16]),
        call_id: "a84b4c76e66710@pc33.example.com".into(),
        invite: START + Nanos::from_millis(20),
        effect: Some("delayed".into()),
        delay_ms: Some(1_510.5),
        gaps: vec![AffectedGap {
            direction: Some(Direction::CallerToCallee),
            from: START + Nanos::from_millis(900),
            gap_ms: 640.0,
        }],
    }
}

/// An hour of the service of [`outage`].
pub fn service_hour() -> ServiceHour {
    ServiceHour {
        id: Id([10; 16]),
        service: endpoint(10, 5060),
        transport: Transport::Udp,
        role: ServiceRole::Monitored,
        from: START,
        first: START,
        last: START + Nanos::from_secs(60),
        requests: 600,
        answered: 588,
        answered_late: 8,
        unanswered: 12,
        undecided: 0,
        outages: 1,
        observed_ms: 60_000.0,
        down_ms: 1_500.0,
    }
}

/// A user who registers, calls and fails at times.
pub fn user() -> User {
    let method = |method: &str, count| MethodCount { method: method.into(), count };
    User {
        aor: "221111111@example.org".into(),
        display_name: Some("Božena".into()),
        contact: Some("sip:221111111@192.0.2.1:5060".into()),
        user_agent: Some("Phone/1.0".into()),
        address: Some(endpoint(1, 5060)),
        registered_until: Some(START + Nanos::from_secs(3_600)),
        registrations: 14,
        registrations_failed: 5,
        calls_made: 7,
        calls_made_answered: 4,
        calls_made_rejected: 2,
        calls_received: 3,
        calls_received_answered: 3,
        calls_received_rejected: 0,
        messages_received: 1,
        methods: vec![method("OPTIONS", 120), method("REGISTER", 14), method("INVITE", 7)],
        failures: vec![Failure { code: 403, count: 5 }, Failure { code: 486, count: 2 }],
        first: START,
        last: START + Nanos::from_secs(600),
    }
}

/// A session that is open, with one address.
pub fn identity() -> Identity {
    let start = Nanos::from_millis(1_795_226_400_000);
    Identity {
        id: Id([9; 16]),
        user: Some("bob".into()),
        station: Some("02-00-5E-10-00-01".into()),
        nas: "192.0.2.1".into(),
        session: Some("S1".into()),
        ipv4: vec!["203.0.113.7".into()],
        ipv6_prefixes: Vec::new(),
        start,
        end: None,
        end_cause: None,
        octets_in: Some(1_000),
        octets_out: None,
        begun_by: SessionBegin::Started,
        first: start,
        last: start,
        interim_s: None,
        terminate_cause: None,
        nas_start: None,
        names: vec!["bob".into(), "02-00-5E-10-00-01".into()],
        called_station: None,
        nas_identifier: None,
        nas_port: Some(7),
        nas_port_id: None,
        circuit: None,
        remote: None,
        imsi: None,
        imeisv: None,
        multi_session: None,
        class: None,
        addresses: vec![HeldAddress {
            network: "203.0.113.7".into(),
            first_port: None,
            last_port: None,
            attribute: "Framed-IP-Address".into(),
            interface_id: None,
            from: start,
            from_frame: 12,
            until: None,
            until_frame: None,
            end_cause: None,
        }],
        packets: 2,
        retransmissions: 0,
        changes: 0,
        source: Some(SessionSource::Radius),
        client_id: None,
        subscriber: None,
        hostname: None,
        expires: None,
    }
}
