//! Calls and streams as a busy trunk has them, made from their number alone.

use ringtap_model::{
    Call, CallState, Direction, Endpoint, Hz, Id, Interval, Nanos, Note, NoteCode, Party, Protocol, Recorded,
    RttSource, Stream, Transport,
};

/// So many calls over so many days, in the order in which they end, roughly.
pub(crate) struct Records {
    number: u64,
    calls: u64,
    /// Mean time from one call to the next, in nanoseconds.
    distance: u64,
    time: u64,
}

impl Records {
    pub(crate) fn new(calls: u64, days: u64) -> Self {
        // Leaves the last minutes of the last day to calls that began there.
        let distance = (days * 86_400_000_000_000 - 900_000_000_000) / calls.max(1);
        Self { number: 0, calls, distance, time: START }
    }
}

impl Iterator for Records {
    type Item = (Call, Vec<Stream>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.number == self.calls {
            return None;
        }
        let mut dice = Dice(self.number.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5bf0_3635);
        self.number += 1;
        self.time += dice.below(2 * self.distance + 1);
        Some(call(Nanos(self.time), self.number, &mut dice))
    }
}

/// Randomness that is always the same (SplitMix64).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit.max(1)
    }

    fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }

    /// A number of thousandths below `limit` thousandths.
    fn thousandths(&mut self, limit: u64) -> f64 {
        self.below(limit) as f64 / 1e3
    }

    fn millionths(&mut self, limit: u64) -> f64 {
        self.below(limit) as f64 / 1e6
    }

    fn id(&mut self) -> Id {
        let mut id = [0; 16];
        id[..8].copy_from_slice(&self.next().to_be_bytes());
        id[8..].copy_from_slice(&self.next().to_be_bytes());
        Id(id)
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len() as u64) as usize]
    }

    /// A subscriber's number: some call often, most seldom.
    fn number(&mut self) -> String {
        let subscriber = if self.one_in(4) { self.below(20_000) * 37 } else { self.below(90_000_000) };
        let country = self.pick(&["+4420", "+4930", "+4989", "+33142", "+1212", "+420221"]);
        format!("{country}{:08}", 10_000_000 + subscriber)
    }
}

/// 2026-11-01 00:05 UTC.
const START: u64 = 1_793_491_500_000_000_000;
const AGENTS: [&str; 12] = [
    "Yealink SIP-T46S 66.86.0.15",
    "Yealink SIP-T54W 96.86.0.23",
    "PolyEdge-E350/8.1.2",
    "Asterisk PBX 20.5.0",
    "FreeSWITCH-mod_sofia/1.10.10",
    "Cisco-CP8841/14.2",
    "snomD785/10.1.148.1",
    "Grandstream GXP2170 1.0.11.70",
    "Oracle SBC",
    "AudioCodes-Sip-Gateway-Mediant/7.40A",
    "kamailio (5.7.2)",
    "MicroSIP/3.21.3",
];

fn micros(time: Nanos) -> Nanos {
    Nanos::from_micros(time.micros())
}

fn call(start: Nanos, number: u64, dice: &mut Dice) -> (Call, Vec<Stream>) {
    let start = micros(start);
    let after = |micros: u64| Some(start + Nanos::from_micros(micros));
    let proxy = Endpoint::new([198, 51, 100, dice.below(12) as u8].into(), 5060);
    let phone =
        Endpoint::new([10, dice.below(4) as u8, dice.below(250) as u8, dice.below(250) as u8].into(), 5060);
    let (src, dst) = if dice.one_in(2) { (phone, proxy) } else { (proxy, phone) };
    let (to, fails) = (dice.number(), number.is_multiple_of(33));
    let (trying, ringing) = (3_000 + dice.below(20_000), 300_000 + dice.below(3_000_000));
    let answer = ringing + 1_000_000 + dice.below(15_000_000);
    // 180 s on average.
    let lasted = 60_000_000 + dice.below(240_000_000);
    let end = if fails { ringing } else { answer + lasted };
    let mut call = Call {
        id: dice.id(),
        call_id: format!("{:016x}{:016x}@{}", dice.next(), dice.next(), src.ip),
        protocol: Protocol::Sip,
        transport: Transport::Udp,
        src,
        dst,
        from_user: Some(dice.number()),
        from_host: Some("example.com".into()),
        from_display: None,
        to_user: Some(to.clone()),
        to_host: Some("example.net".into()),
        ruri_user: Some(to),
        ruri_host: Some(dst.ip.to_string()),
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
        state: if fails { CallState::Failed } else { CallState::Completed },
        final_code: if fails { [404, 486, 503][dice.below(3) as usize] } else { 200 },
        final_reason: Some(if fails { "Busy Here" } else { "OK" }.into()),
        cause: (!fails).then_some(16),
        released_by: (!fails).then_some(if dice.one_in(2) { Party::Caller } else { Party::Callee }),
        invite: Some(start),
        trying: after(trying),
        ringing: if fails { None } else { after(ringing) },
        answer: if fails { None } else { after(answer) },
        end: after(end),
        pdd_ms: (!fails).then_some(ringing as f64 / 1e3),
        duration_ms: (!fails).then_some(lasted as f64 / 1e3),
        sdd_ms: None,
        messages: if fails { 4 } else { 7 + dice.below(3) as u32 },
        retransmissions: u32::from(dice.one_in(20)),
        user_agent_caller: Some(dice.pick(&AGENTS).into()),
        user_agent_callee: Some(dice.pick(&AGENTS).into()),
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
    if fails {
        return (call, Vec::new());
    }
    let times = (start + Nanos::from_micros(answer), lasted);
    let streams = media(&call, phone, times, dice);
    call.streams = streams.iter().map(|stream| stream.id).collect();
    call.mos = streams.iter().filter_map(|stream| stream.mos).reduce(f64::min);
    let intervals = streams.iter().flat_map(|stream| &stream.intervals);
    call.mos_worst_interval = intervals.filter_map(|interval| interval.mos).reduce(f64::min);
    call.notes = streams.iter().flat_map(|stream| stream.notes.clone()).collect();
    (call, streams.into())
}

/// The two directions of a call that is answered at a time and lasts for so many microseconds.
fn media(call: &Call, phone: Endpoint, (answer, lasted): (Nanos, u64), dice: &mut Dice) -> [Stream; 2] {
    let port = 10_000 + 2 * dice.below(20_000) as u16;
    let gateway = Endpoint::new([198, 51, 100, 20 + dice.below(12) as u8].into(), port);
    let own = Endpoint::new(phone.ip, 11_780 + 2 * dice.below(200) as u16);
    let first = answer + Nanos::from_micros(dice.below(80_000));
    let network = (dice.thousandths(60_000), dice.one_in(6));
    let ends = [(own, gateway, Direction::CallerToCallee), (gateway, own, Direction::CalleeToCaller)];
    ends.map(|ends| {
        let times = (first + Nanos::from_micros(dice.below(40_000)), lasted);
        stream(call, ends, times, network, dice)
    })
}

fn stream(
    call: &Call,
    (src, dst, direction): (Endpoint, Endpoint, Direction),
    (first, lasted): (Nanos, u64),
    (rtt, lossy): (f64, bool),
    dice: &mut Dice,
) -> Stream {
    let first = micros(first);
    let (base, step) = (500_000 + dice.below(3_000_000), 400_000);
    let intervals: Vec<Interval> = (0..lasted.div_ceil(10_000_000))
        .map(|number| interval(first, number, (base, step), lossy, dice))
        .collect();
    let lost: u64 = intervals.iter().map(|interval| u64::from(interval.lost)).sum();
    let unique = lasted / 20_000 - lost;
    let mean = |values: &dyn Fn(&Interval) -> f64| {
        let sum: f64 = intervals.iter().map(values).sum();
        (sum / intervals.len() as f64 * 1e3).round() / 1e3
    };
    let mos = mean(&|interval| interval.mos.unwrap_or_default());
    let loss = lost as f64 * 100.0 / (unique + lost) as f64;
    Stream {
        direction: Some(direction),
        codec: Some("PCMA".into()),
        clock: Some(Hz(8_000)),
        ptime_ms: Some(20.0),
        unique,
        lost,
        reordered: u64::from(dice.one_in(10)),
        bytes: 160 * unique,
        ip_bytes: 200 * unique,
        rate_bps: Some(((200 * unique * 8) as f64 * 1e9 / lasted as f64).round() / 1e3),
        jitter_ms_mean: Some(dice.millionths(3_000_000)),
        jitter_ms_max: Some(3.0 + dice.millionths(9_000_000)),
        delta_ms_max: Some(21.0 + dice.thousandths(30_000)),
        iat_ms_min: Some(dice.thousandths(19_000)),
        iat_ms_mean: Some(20.0 + dice.millionths(900)),
        iat_ms_max: Some(21.0 + dice.thousandths(30_000)),
        iat_ms_sd: Some(dice.millionths(3_000_000)),
        size_min: 200,
        size_mean: 200.0,
        size_max: 200,
        loss_bursts: lost.div_ceil(2),
        burst_len_mean: (lost > 0).then_some(1.5),
        burst_len_max: (lost > 0).then_some(3),
        burst_ratio: (lost > 0).then_some(1.0 + dice.thousandths(900)),
        rtt_ms: Some(rtt),
        rtt_source: Some(RttSource::Rtcp),
        rtcp_reports: Some(lasted / 5_000_000),
        rtcp_lost: Some(lost),
        rtcp_lost_pct_max: Some(if lost > 0 { dice.thousandths(4_000) } else { 0.0 }),
        rtcp_jitter_ms_mean: Some(dice.thousandths(4_000)),
        rtcp_jitter_ms_max: Some(4.0 + dice.thousandths(9_000)),
        rtcp_rtt_ms_max: Some(rtt + 2.0),
        rtcp_sent_packets: Some(unique + lost),
        rtcp_sent_bytes: Some(160 * (unique + lost)),
        mos: Some(mos),
        r_factor: Some((mos * 20_000.0).round() / 1e3),
        mos_basis: Some(
            "model=G.107 codec=PCMA/64 ie=0 bpl=25.1 concealment=receiver factors=published".into(),
        ),
        mos_cq: Some(mos - 0.125),
        mos_fixed50: Some(mos),
        mos_fixed200: Some(mos),
        mos_adaptive500: Some(mos),
        mos_cole: Some(mean(&|interval| interval.mos_fixed50.unwrap_or_default())),
        intervals,
        silence_pct: Some(dice.thousandths(60_000)),
        clipped_pct: Some(0.0),
        notes: if loss > 0.5 { vec![loss_note(lost, unique + lost, direction)] } else { Vec::new() },
        ..Stream::unmeasured(
            (dice.id(), call),
            (src, dst, dice.next() as u32),
            8,
            (first, first + Nanos::from_micros(lasted)),
            unique,
        )
    }
}

fn loss_note(lost: u64, sent: u64, direction: Direction) -> Note {
    let loss = lost as f64 * 100.0 / sent as f64;
    let evidence = format!("{lost} of {sent} packets were lost ({loss:.1} %)");
    Note {
        direction: Some(direction),
        value: Some((loss * 1e3).round() / 1e3),
        threshold: Some(0.5),
        ..Note::new(NoteCode::Loss, evidence)
    }
}

fn interval(first: Nanos, number: u64, (base, step): (u64, u64), lossy: bool, dice: &mut Dice) -> Interval {
    let lost = if lossy && dice.one_in(3) { dice.below(20) as u32 } else { 0 };
    let late = if lossy && dice.one_in(5) { dice.below(6) as u32 } else { 0 };
    let mos = 4.409 - f64::from(lost + late) * 0.031;
    let mos = (mos * 1e3).round() / 1e3;
    Interval {
        start: first + Nanos::from_micros(number * 10_000_000),
        packets: 500 - lost,
        lost,
        jitter_ms: (base + dice.below(step)) as f64 / 1e6,
        discarded: late,
        mos: Some(mos),
        mos_fixed50: Some(mos),
        mos_fixed200: Some(mos),
    }
}
