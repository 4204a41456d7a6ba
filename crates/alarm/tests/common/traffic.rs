//! Generated traffic: fifty trunks, a daily curve, usual outcomes, some bad streams. The same seed gives the
//! same traffic.

use std::net::Ipv4Addr;

use ringtap_alarm::{Change, Evaluator, Event};
use ringtap_model::CallState;

use super::{TestCall, at, interval, registration};

/// Random numbers (SplitMix64).
#[derive(Clone, Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 to 1.
    pub(crate) fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub(crate) fn below(&mut self, count: u64) -> u64 {
        self.next() % count
    }

    /// Exponential, of that mean.
    fn waiting(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.share()).ln()
    }

    /// Lognormal, of that median.
    fn lognormal(&mut self, median: f64, sigma: f64) -> f64 {
        let normal = (-2.0 * (1.0 - self.share()).ln()).sqrt() * (std::f64::consts::TAU * self.share()).cos();
        median * (sigma * normal).exp()
    }
}

/// Normal traffic.
#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) random: Random,
    /// Calls a second at the busiest time.
    pub(crate) rate: f64,
    /// Whether intervals of streams are generated.
    pub(crate) with_streams: bool,
    /// Devices that register every ten minutes.
    pub(crate) devices: u64,
    next_number: u64,
}

/// Trunks: ten carriers, and forty customers with a PBX.
pub(crate) const TRUNKS: u64 = 50;
const CARRIERS: u64 = 10;
/// A carrier from which calls to all countries come.
pub(crate) const TRANSIT: u64 = 9;
/// Countries that are called now and then.
const COUNTRIES: [u16; 24] =
    [1, 7, 20, 27, 30, 31, 32, 33, 34, 39, 41, 43, 44, 45, 46, 48, 61, 81, 86, 90, 91, 351, 353, 420];

pub(crate) fn trunk(number: u64) -> String {
    if number < CARRIERS { format!("carrier-{number}") } else { format!("customer-{number}") }
}

pub(crate) fn address(trunk: u64) -> Ipv4Addr {
    Ipv4Addr::new(198, 51, 100, trunk as u8)
}

impl World {
    pub(crate) fn new(seed: u64, rate: f64, with_streams: bool) -> Self {
        Self { random: Random(seed), rate, with_streams, devices: 200, next_number: 1 }
    }

    /// A call at a second of the week, from trunk to trunk.
    pub(crate) fn call(&mut self, start: f64) -> TestCall {
        let random = &mut self.random;
        let from = random.below(TRUNKS);
        let to = (from + 1 + random.below(TRUNKS - 1)) % TRUNKS;
        // Ninety callers behind each customer, and any number from carriers.
        let callers = if from < CARRIERS { 100_000 } else { 90 };
        let caller = format!("+4930{:03}{:05}", from, random.below(callers));
        let anonymous = random.share() < 0.03;
        let to_number = self.callee(from);
        let random = &mut self.random;
        let ringing = 0.3 + random.lognormal(0.8, 0.5);
        let waited = ringing + random.lognormal(9.0, 0.6);
        let (answer, end, state, code) = match random.share() {
            share if share < 0.55 => {
                let length = random.lognormal(100.0, 1.0);
                (Some(waited), waited + length, CallState::Completed, 200)
            }
            share if share < 0.75 => (None, waited + 10.0, CallState::Cancelled, 487),
            share if share < 0.87 => (None, ringing, CallState::Failed, 486),
            share if share < 0.92 => (None, ringing, CallState::Failed, 404),
            share if share < 0.98 => (None, waited + 15.0, CallState::Failed, 480),
            _ => (None, ringing, CallState::Failed, 503),
        };
        self.next_number += 1;
        TestCall {
            number: self.next_number,
            start,
            from: (!anonymous).then_some(caller),
            to: to_number,
            src: address(from),
            trunk_from: trunk(from),
            trunk_to: trunk(to),
            ringing: Some(ringing),
            answer,
            end,
            state,
            code,
        }
    }

    /// Most numbers are of the same country; each customer has three countries that it calls, and rarely
    /// another; few call premium numbers.
    fn callee(&mut self, from: u64) -> String {
        let random = &mut self.random;
        let subscriber = random.below(10_000_000);
        let any = COUNTRIES[random.below(COUNTRIES.len() as u64) as usize];
        let usual = COUNTRIES[((from * 7 + random.below(3) * 5) % COUNTRIES.len() as u64) as usize];
        match random.share() {
            share if from == TRANSIT || share < 0.005 => format!("+{any}5{subscriber:07}"),
            share if share < 0.1 => format!("+{usual}5{subscriber:07}"),
            share if share < 0.102 => format!("+499001{subscriber:07}"),
            _ => format!("0{}{subscriber:07}", 20 + random.below(70)),
        }
    }

    /// All that begins on a day. What lasts longer ends on the next.
    pub(crate) fn day(&mut self, day: u64) -> Vec<Event> {
        self.time(day as f64 * 86_400.0, 86_400.0)
    }

    /// All that begins in some seconds.
    pub(crate) fn time(&mut self, from: f64, length: f64) -> Vec<Event> {
        let mut events = Vec::new();
        let mut time = from;
        loop {
            time += self.random.waiting(1.0 / self.rate);
            if time >= from + length {
                break;
            }
            if self.random.share() < busy(time) {
                let call = self.call(time);
                self.add(&call, None, &mut events);
            }
        }
        for device in 0..self.devices {
            let mut time = from + 3.0 * device as f64 % 600.0;
            while time < from + length {
                let (aor, src) = (format!("{device}@example.org"), Ipv4Addr::new(203, 0, 113, device as u8));
                // One has a wrong password, and tries every minute.
                let code = if device == 17 || self.random.share() < 0.002 { 403 } else { 200 };
                events.push(registration(time, &aor, src, code));
                time += if device == 17 { 60.0 } else { 600.0 };
            }
        }
        events
    }

    /// Adds a call with its streams. `lossy` says from when to when how much of them is lost.
    pub(crate) fn add(&mut self, call: &TestCall, lossy: Option<(f64, f64, f64)>, events: &mut Vec<Event>) {
        events.extend(call.events());
        let Some(answer) = call.answer.filter(|_| self.with_streams) else { return };
        for _ in 0..2 {
            // A few streams come over bad Wi-Fi.
            let own_loss = if self.random.share() < 0.04 { 0.04 } else { 0.0005 };
            let mut begin = call.start + answer;
            let end = call.start + call.end;
            while begin < end {
                let until = (begin + 10.0).min(end);
                let expected = ((until - begin) * 50.0) as u32;
                let injected = lossy.map_or(0.0, |(from, to, share)| {
                    share * (until.min(to) - begin.max(from)).max(0.0) / (until - begin)
                });
                let mean = f64::from(expected) * (own_loss + injected);
                let lost = (mean + self.random.share()) as u32;
                // G.711 with concealment: 4.33 at 1 %, 4.1 at 3 %.
                let mos = (4.41 - 10.0 * (own_loss + injected)).max(1.0);
                let packets = expected.saturating_sub(lost);
                events.push(interval(Some(call.number), until, packets, lost, mos));
                begin = until;
            }
        }
    }
}

/// How much of the busiest traffic there is: from 08:00 to 18:00 most, at night little, on Saturday and
/// Sunday a third.
fn busy(time: f64) -> f64 {
    let (day, hour) = ((time / 86_400.0) as u64 % 7, time / 3_600.0 % 24.0);
    let of_day = match hour {
        8.0..18.0 => 1.0,
        6.0..8.0 => 0.05 + 0.95 * (hour - 6.0) / 2.0,
        18.0..23.0 => 1.0 - 0.95 * (hour - 18.0) / 5.0,
        _ => 0.05,
    };
    if day >= 5 { of_day / 3.0 } else { of_day }
}

/// Plays traffic a piece at a time, with a second's beat.
#[derive(Debug)]
pub(crate) struct Player {
    pub(crate) evaluator: Evaluator,
    second: u64,
    /// What is still to come.
    pending: Vec<Event>,
    pub(crate) events: u64,
}

impl Player {
    /// Plays on from a second.
    pub(crate) fn new(evaluator: Evaluator, second: u64) -> Self {
        Self { evaluator, second, pending: Vec::new(), events: 0 }
    }

    /// Plays up to a second; what comes later is kept.
    pub(crate) fn play(&mut self, events: Vec<Event>, until: f64) -> Vec<Change> {
        self.pending.extend(events);
        self.pending.sort_by_key(|event| std::cmp::Reverse(event.time()));
        let mut changes = Vec::new();
        while (self.second as f64) < until {
            let end = at((self.second + 1) as f64);
            while self.pending.last().is_some_and(|event| event.time() < end) {
                if let Some(event) = self.pending.pop() {
                    self.evaluator.event(&event);
                    self.events += 1;
                }
            }
            self.second += 1;
            changes.extend(self.evaluator.advance(end));
        }
        changes
    }
}
