//! The summary below the table: outcome of the calls, quality of the media, contents of the capture.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use ringtap_model::{Call, CallState, Direction, Nanos, Registration, RegistrationState, Stream};
use ringtap_quality::kpi::{Kpi, Outcomes};
use ringtap_wire::unfollowed::Unfollowed;

use crate::absence;
use crate::calls::percent;
use crate::fields::Layout;
use crate::style::Style;
use crate::text::{counted, grouped};
use crate::time;

/// Most codec names counted separately; further names, which come from SDP, are counted together.
const CODECS: usize = 64;

/// Sums of the records of a run.
#[derive(Default)]
pub struct Summary {
    /// Calls that the filters rejected.
    filtered: u64,
    states: BTreeMap<usize, u64>,
    /// Attempts by final code, 0 for none.
    codes: BTreeMap<u16, u64>,
    codecs: BTreeMap<String, u64>,
    streams: u64,
    loose: u64,
    expected: u64,
    lost: u64,
    worst: Option<Worst>,
    /// Calls with a note, by its code.
    notes: BTreeMap<&'static str, u64>,
    registrations: BTreeMap<&'static str, u64>,
    messages: u64,
    /// Calls during which this monitor dropped packets.
    drops: u64,
}

struct Worst {
    mos: f64,
    call_id: Option<String>,
    direction: Option<Direction>,
}

impl Summary {
    /// Adds a call that was shown.
    pub fn call(&mut self, call: &Call) {
        let place = CallState::ALL.iter().position(|state| *state == call.state).unwrap_or(0);
        *self.states.entry(place).or_default() += 1;
        *self.codes.entry(call.final_code).or_default() += 1;
        self.drops += call.capture_drops;
        let codes: BTreeSet<_> = call.notes.iter().map(|note| note.code.name()).collect();
        for code in codes {
            *self.notes.entry(code).or_default() += 1;
        }
    }

    /// Counts a call that the filters rejected.
    pub fn left_out(&mut self) {
        self.filtered += 1;
    }

    /// Adds a stream that was shown.
    pub fn stream(&mut self, stream: &Stream) {
        match stream.call {
            Some(_) => self.streams += 1,
            None => self.loose += 1,
        }
        let name = stream.codec.clone().unwrap_or_else(|| "unknown".to_string());
        // SDP's names differ in case without a meaning (RFC 4855 section 3): the first spelling stands for
        // all.
        let known = self.codecs.iter_mut().find(|(known, _)| known.eq_ignore_ascii_case(&name));
        match known {
            Some((_, count)) => *count += 1,
            None => {
                let full = self.codecs.len() >= CODECS;
                *self.codecs.entry(if full { "others".to_string() } else { name }).or_default() += 1;
            }
        }
        self.lost += stream.lost;
        self.expected += stream.unique.saturating_add(stream.lost);
        let worse = |mos: &f64| self.worst.as_ref().is_none_or(|worst| *mos < worst.mos);
        if let Some(mos) = stream.mos.filter(worse) {
            self.worst = Some(Worst { mos, call_id: stream.call_id.clone(), direction: stream.direction });
        }
    }

    /// Adds a registration.
    pub fn registration(&mut self, registration: &Registration) {
        let state = match registration.state {
            RegistrationState::Active => "active",
            RegistrationState::Expired => "expired",
            RegistrationState::Removed => "removed",
            RegistrationState::Refused => "refused",
        };
        *self.registrations.entry(state).or_default() += 1;
    }

    /// Adds a MESSAGE.
    pub fn message(&mut self) {
        self.messages += 1;
    }

    /// Writes all figures that are not zero.
    pub fn write(&self, out: &mut dyn Write, input: &Input, width: usize, colour: bool) -> io::Result<()> {
        let layout = Layout { indent: 0, name: NAME, width, colour };
        for (name, value) in self.told(input) {
            let style = match name {
                "Dropped" | "Damage" | "No calls" => Style::Bad,
                "Worst MOS" => Style::of_mos(self.worst.as_ref().map(|worst| worst.mos)),
                _ => Style::Plain,
            };
            layout.line(out, name, &value, style)?;
        }
        Ok(())
    }

    /// Name and value of all figures that are not zero, as they came from the network.
    pub fn told(&self, input: &Input) -> Vec<(&'static str, String)> {
        let mut lines = self.lines();
        if self.codes.is_empty() && self.filtered == 0 {
            lines.insert(1, ("No calls", absence::reason(&input.kinds, &input.drops, &input.unfollowed)));
        }
        lines.into_iter().chain(input.lines()).collect()
    }

    fn lines(&self) -> Vec<(&'static str, String)> {
        let mut lines = vec![("Calls", self.calls_line())];
        let codes: Vec<_> = self.codes.iter().map(|(code, count)| (*code, *count)).collect();
        for kpi in [Kpi::Asr, Kpi::Ner] {
            let share = kpi.of(Outcomes(&codes));
            if let Some(percent) = share.percent() {
                let counts = format!("{} of {}", grouped(share.part), grouped(share.of));
                lines.push((kpi.name(), format!("{percent:.1} %, {counts}; {}", kpi.definition())));
            }
        }
        if self.streams + self.loose > 0 {
            lines.push(("Streams", self.streams_line()));
            let mut codecs: Vec<_> = self.codecs.iter().collect();
            codecs.sort_by_key(|(name, count)| (std::cmp::Reverse(**count), *name));
            let codecs: Vec<_> = codecs.into_iter().map(|(name, count)| format!("{name} {count}")).collect();
            lines.push(("Codecs", codecs.join(", ")));
        }
        lines.extend(self.worst.as_ref().map(|worst| ("Worst MOS", worst.line())));
        if !self.notes.is_empty() {
            let notes: Vec<_> = self.notes.iter().map(|(code, count)| format!("{code} {count}")).collect();
            lines.push(("Notes", notes.join(", ")));
        }
        if !self.registrations.is_empty() {
            let states: Vec<_> =
                self.registrations.iter().map(|(state, count)| format!("{count} {state}")).collect();
            let count = self.registrations.values().sum();
            lines.push(("Registrations", format!("{}: {}", grouped(count), states.join(", "))));
        }
        if self.messages > 0 {
            lines.push(("Messages", grouped(self.messages)));
        }
        lines
    }

    fn calls_line(&self) -> String {
        let states = CallState::ALL
            .iter()
            .enumerate()
            .filter_map(|(place, state)| Some((state, self.states.get(&place)?)));
        let states: Vec<_> =
            states.map(|(state, count)| format!("{} {}", grouped(*count), state.name())).collect();
        let mut line = grouped(self.codes.values().sum());
        if !states.is_empty() {
            line = format!("{line}: {}", states.join(", "));
        }
        if self.filtered > 0 {
            line = format!("{line} ({} left out by the filters)", grouped(self.filtered));
        }
        if self.drops > 0 {
            line = format!("{line}; {} dropped by the capture meanwhile", counted(self.drops, "packet"));
        }
        line
    }

    fn streams_line(&self) -> String {
        let loss = percent((self.expected > 0).then(|| self.lost as f64 * 100.0 / self.expected as f64));
        let mut line = format!("{} of calls", grouped(self.streams));
        if self.loose > 0 {
            line = format!("{line}, {} without signalling", grouped(self.loose));
        }
        format!("{line}; {} of {} packets lost ({loss})", grouped(self.lost), grouped(self.expected))
    }
}

impl Worst {
    fn line(&self) -> String {
        let direction = match self.direction {
            Some(Direction::CallerToCallee) => ", caller to callee",
            Some(Direction::CalleeToCaller) => ", callee to caller",
            None => "",
        };
        match &self.call_id {
            Some(call_id) => format!("{:.2} (call {call_id}{direction})", self.mos),
            None => format!("{:.2} (a stream without signalling)", self.mos),
        }
    }
}

/// The times of frames, in the order of the input.
#[derive(Clone, Copy, Debug)]
pub struct TimeSpan {
    earliest: Nanos,
    latest: Nanos,
    last: Nanos,
    /// How often the time jumped, and what passed otherwise.
    jumps: u64,
    steady: Nanos,
}

impl TimeSpan {
    /// Of a first frame.
    pub fn new(time: Nanos) -> Self {
        Self { earliest: time, latest: time, last: time, jumps: 0, steady: Nanos::ZERO }
    }

    /// Takes the time of the next frame. Several queues of a card may put frames a little out of order.
    #[inline]
    pub fn add(&mut self, time: Nanos) {
        let ahead = time.since(self.last);
        if ahead > JUMP_AHEAD || self.last.since(time) > JUMP_BACK {
            self.jumps += 1;
            self.last = time;
        } else {
            self.steady += ahead;
            self.last = self.last.max(time);
        }
        self.earliest = self.earliest.min(time);
        self.latest = self.latest.max(time);
    }

    fn describe(&self) -> String {
        let Self { earliest, latest, jumps, steady, .. } = *self;
        let length = time::span(latest.since(earliest).millis_f64());
        let steady = time::span(steady.millis_f64());
        let without = match jumps {
            0 => String::new(),
            1 => format!("; {steady} without a jump in time"),
            _ => format!("; {steady} without {} jumps in time", grouped(jumps)),
        };
        format!(
            "{} to {} {} ({length}{without})",
            time::full(earliest),
            time::full(latest),
            time::zone_name()
        )
    }
}

/// From one frame to the next: more is a jump of the clock, or a time in which nothing was captured.
const JUMP_AHEAD: Nanos = Nanos::from_secs(86_400);
const JUMP_BACK: Nanos = Nanos::from_secs(10);

/// Figures of the input itself.
#[derive(Clone, Debug, Default)]
pub struct Input {
    /// Times of the frames.
    pub span: Option<TimeSpan>,
    /// Frames. The kinds may be more in sum: a message in a TCP segment is counted as well as the segment.
    pub frames: u64,
    /// Name and count of each counter, in the engine's order.
    pub kinds: Vec<(&'static str, u64)>,
    /// Name and count of what the engine dropped.
    pub drops: Vec<(&'static str, u64)>,
    /// Packets of protocols that are not followed, by protocol.
    pub unfollowed: Vec<(Unfollowed, u64)>,
    /// Records written to the database.
    pub stored: Option<String>,
    /// Remarks, one sentence each.
    pub damage: Vec<String>,
}

impl Input {
    fn lines(&self) -> Vec<(&'static str, String)> {
        let mut lines = Vec::new();
        lines.extend(self.span.map(|span| ("Capture", span.describe())));
        let total: u64 = self.kinds.iter().map(|(_, count)| count).sum();
        let kinds = listed(&self.kinds);
        let inside = match total.saturating_sub(self.frames) {
            0 => String::new(),
            count => format!("; {} of them inside others", grouped(count)),
        };
        lines.push((
            "Packets",
            match kinds.is_empty() {
                true => "none".to_string(),
                false => format!("{}: {kinds}{inside}", grouped(self.frames)),
            },
        ));
        let drops = listed(&self.drops);
        if !drops.is_empty() {
            lines.push(("Dropped", drops));
        }
        let unfollowed: Vec<_> = self.unfollowed.iter().filter(|(_, count)| *count > 0).collect();
        if !unfollowed.is_empty() {
            let counts =
                unfollowed.iter().map(|(what, count)| format!("{} {}", grouped(*count), what.title()));
            lines.push(("Not followed", counts.collect::<Vec<_>>().join(", ")));
        }
        lines.extend(self.stored.iter().map(|stored| ("Stored", stored.clone())));
        lines.extend(self.damage.iter().map(|damage| ("Damage", damage.clone())));
        lines
    }
}

/// `12 SIP, 3 other UDP`, zeros left out.
fn listed(counts: &[(&'static str, u64)]) -> String {
    let counts = counts.iter().filter(|(_, count)| *count > 0);
    counts
        .map(|(name, count)| format!("{} {}", grouped(*count), spelled(name)))
        .collect::<Vec<_>>()
        .join(", ")
}

/// A counter's name with spaces.
fn spelled(name: &str) -> String {
    let upper = |word: &str| match word {
        "sip" | "rtp" | "rtcp" | "stun" | "hep" | "tcp" | "udp" | "sctp" | "icmp" | "ip" => {
            word.to_uppercase()
        }
        _ => word.to_string(),
    };
    match name.strip_suffix("_other") {
        Some(kind) => format!("other {}", upper(kind)),
        None => name.split('_').map(upper).collect::<Vec<_>>().join(" ").replace("call id", "Call-ID"),
    }
}

/// Columns of a line's name.
const NAME: usize = 15;

#[cfg(test)]
mod tests {
    use ringtap_testing::samples;

    use super::*;
    use crate::text;

    fn summary() -> Summary {
        let mut summary = Summary::default();
        summary.call(&samples::call());
        summary.call(&samples::hostile_call());
        summary.call(&Call { final_code: 503, ..samples::hostile_call() });
        summary.left_out();
        summary.stream(&samples::stream());
        summary.stream(&Stream { call: None, call_id: None, mos: None, codec: None, ..samples::stream() });
        summary.registration(&samples::registration());
        summary.message();
        summary
    }

    fn input() -> Input {
        let mut span = TimeSpan::new(samples::START);
        span.add(samples::START + Nanos::from_secs(100));
        Input {
            span: Some(span),
            frames: 1_234_596,
            kinds: vec![("sip", 24), ("rtp", 1_234_567), ("rtcp", 0), ("udp_other", 3), ("not_ip", 2)],
            drops: vec![("calls_refused", 2), ("fragments", 0)],
            unfollowed: vec![(Unfollowed::Sccp, 0), (Unfollowed::T38, 1500)],
            stored: Some("2 calls; 1 day file".into()),
            damage: vec!["`a.pcap` is damaged: cut, at byte 1000".into()],
        }
    }

    #[test]
    fn golden_summary() {
        let mut out = Vec::new();
        summary().write(&mut out, &input(), 80, false).unwrap();
        let text = String::from_utf8(out).unwrap();
        samples::golden("summary-80.txt", &text);
        assert!(text.lines().all(|line| text::width(line) <= 80));
    }

    #[test]
    fn no_call_divides_nothing() {
        let mut out = Vec::new();
        Summary::default().write(&mut out, &Input::default(), 80, false).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, "Calls          0\nNo calls       the input has no packet\nPackets        none\n");
    }

    #[test]
    fn codecs_of_strangers_are_bounded() {
        let mut summary = Summary::default();
        for index in 0..1000 {
            summary.stream(&Stream { codec: Some(format!("x{index}")), ..samples::stream() });
        }
        assert!(summary.codecs.len() <= CODECS + 1);
        assert_eq!(summary.codecs.values().sum::<u64>(), 1000);
    }

    /// By hand: 2 s, 20 ms back as another queue has it, 1 s and 3 s. Jumps: a year ahead, and back.
    #[test]
    fn a_clock_that_jumps_is_told_from_time_that_passes() {
        let year = Nanos::from_secs(365 * 86_400);
        let at = |millis| samples::START + Nanos::from_millis(millis);
        let mut span = TimeSpan::new(at(0));
        for time in [at(2000), at(1980), at(3000), at(3000) + year, at(6000) + year, at(5000), at(5000)] {
            span.add(time);
        }
        let text = span.describe();
        assert!(text.ends_with(" UTC (365 days; 6.0 s without 2 jumps in time)"), "{text}");
        assert!(text.starts_with(&time::full(at(0))), "{text}");
    }

    #[test]
    fn what_is_inside_another_packet_is_no_packet_more() {
        let input = Input { frames: 10, kinds: vec![("sip", 7), ("tcp", 10)], ..Input::default() };
        let mut out = Vec::new();
        Summary::default().write(&mut out, &input, 80, false).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("Packets        10: 7 SIP, 10 TCP; 7 of them inside others\n"), "{text}");
    }

    #[test]
    fn thousands() {
        let cases = [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")];
        for (count, text) in cases {
            assert_eq!(grouped(count), text);
        }
    }
}
