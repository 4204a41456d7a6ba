//! A telephone network with the ties between its parts that real ones have: sites have fleets of devices,
//! numbers decide on trunks, trunks have gateways and preferred codecs, codecs have packet times.

use std::net::{IpAddr, Ipv4Addr};

use ringtap_model::{Call, CallState, Direction, Endpoint, Id, Nanos, Note, NoteCode, Party, Stream};
use ringtap_testing::samples;

use crate::rng::Rng;

/// Trunks.
pub(crate) const TRUNKS: usize = 10;
/// Devices, each a User-Agent.
pub(crate) const DEVICES: usize = 30;
/// Codecs.
pub(crate) const CODECS: [&str; 8] = ["PCMA", "PCMU", "G729", "G722", "opus", "iLBC", "GSM", "AMR-WB"];
/// What numbers begin with.
pub(crate) const PREFIXES: [&str; 14] = [
    "4930", "4989", "4940", "4420", "4416", "3314", "3361", "1212", "1415", "4202", "4206", "9180", "8621",
    "5511",
];
const SITES: usize = 12;

/// A network, and how skewed it is.
#[derive(Clone, Debug)]
pub(crate) struct Network {
    /// How much more often the first trunk, device, site and prefix come than the others.
    pub(crate) skew: f64,
    /// A device and a trunk that come together: the share of the device's calls that go there.
    pub(crate) tied: Option<(usize, usize, f64)>,
}

/// What a call is made of, before it is a record.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) trunk: usize,
    pub(crate) gateway: IpAddr,
    pub(crate) media: IpAddr,
    pub(crate) caller: usize,
    pub(crate) callee: usize,
    pub(crate) codec: usize,
    pub(crate) ptime: u64,
    pub(crate) prefix: usize,
    pub(crate) site: usize,
    /// Seconds since midnight.
    pub(crate) second: u64,
    pub(crate) is_answered: bool,
    pub(crate) is_out: bool,
}

/// The User-Agent of a device: 6 vendors, 3 products of each, and versions that products of a vendor share.
pub(crate) fn device(number: usize) -> String {
    let vendors =
        ["Yealink SIP-T4", "Grandstream GXP21", "PolycomVVX-VVX_", "snomD7", "Cisco-CP8", "Fanvil X"];
    let vendor = number % vendors.len();
    let (product, version) = (number / vendors.len() % 3, number / vendors.len() / 2);
    let mark = if vendor.is_multiple_of(2) { ' ' } else { '/' };
    format!("{}{product}{mark}{}.{version}.0.1{version}", vendors[vendor], 5 + vendor)
}

/// The gateways of a trunk: one to three.
pub(crate) fn gateways(trunk: usize) -> Vec<IpAddr> {
    let host = |number: usize| Ipv4Addr::new(198, 51, 100, (trunk * 4 + number + 1) as u8).into();
    (0..=trunk % 3).map(host).collect()
}

/// The host that relays media of a site and trunk.
pub(crate) fn relay(site: usize, trunk: usize) -> IpAddr {
    Ipv4Addr::new(203, 0, 113, ((site * 3 + trunk) % 17 + 1) as u8).into()
}

/// The address of a site's exchange.
pub(crate) fn exchange(site: usize) -> IpAddr {
    Ipv4Addr::new(10, 20 + (site / 4) as u8, site as u8, 5).into()
}

impl Network {
    /// The next call.
    pub(crate) fn plan(&self, rng: &mut Rng) -> Plan {
        let site = rng.skewed(SITES, self.skew);
        // A site has a fleet: most of its phones are of a few devices.
        let fleet = |rng: &mut Rng| match rng.chance(0.7) {
            true => (site * 5 + rng.skewed(4, 1.0)) % DEVICES,
            false => rng.skewed(DEVICES, self.skew),
        };
        let (caller, callee) = (fleet(rng), rng.skewed(DEVICES, self.skew));
        let prefix = rng.skewed(PREFIXES.len(), self.skew);
        // The cheapest trunk of a destination, most of the time.
        let mut trunk = if rng.chance(0.6) { prefix * 3 % TRUNKS } else { rng.skewed(TRUNKS, self.skew) };
        if let Some((device, tied, share)) = self.tied
            && device == caller
            && rng.chance(share)
        {
            trunk = tied;
        }
        let gateways = gateways(trunk);
        // Devices and trunks have codecs that they prefer.
        let codec = match rng.below(10) {
            0..5 => [0, 0, 1, 2, 0, 3, 1, 2, 4, 0][trunk],
            5..8 => [3, 1, 0, 2, 4, 0][caller % 6],
            _ => rng.skewed(CODECS.len(), 1.0),
        };
        let usual = if CODECS[codec] == "iLBC" { 30 } else { 20 };
        let ptime = if rng.chance(0.93) { usual } else { [10, 30, 40, 60][rng.below(4)] };
        Plan {
            trunk,
            gateway: gateways[rng.skewed(gateways.len(), 0.5)],
            media: relay(site, trunk),
            caller,
            callee,
            codec,
            ptime,
            prefix,
            site,
            second: second(rng),
            is_answered: rng.chance(0.45 + 0.03 * trunk as f64),
            is_out: rng.chance(0.8),
        }
    }
}

/// The working day: half of the calls between nine and five.
fn second(rng: &mut Rng) -> u64 {
    let hour = if rng.chance(0.5) { 9 + rng.below(8) } else { rng.below(24) };
    (hour * 3_600 + rng.below(3_600)) as u64
}

impl Plan {
    /// The records of the call: `is_bad` is how it sounds, or that it fails if it is not answered.
    pub(crate) fn records(&self, number: u64, is_bad: bool, rng: &mut Rng) -> (Call, Vec<Stream>) {
        let invite = samples::START + Nanos::from_secs(self.second);
        let exchange = Endpoint::new(exchange(self.site), 5060);
        let gateway = Endpoint::new(self.gateway, 5060);
        let (src, dst) = if self.is_out { (exchange, gateway) } else { (gateway, exchange) };
        let trunk = Some(format!("carrier-{}", (b'a' + self.trunk as u8) as char));
        let own = Some(format!("+4420794{:05}", self.site * 100 + rng.below(100)));
        let other = Some(format!("+{}{:07}", PREFIXES[self.prefix], rng.below(10_000_000)));
        let (from, to) = (own, other);
        let length = 1_000.0 * (5.0 - 120.0 * (1.0 - rng.unit()).ln());
        let streams = if self.is_answered { self.streams(number, is_bad) } else { Vec::new() };
        let low = |code| Note::new(code, "for tests".into());
        let call = Call {
            id: id(number),
            call_id: format!("{number}@example.org"),
            src,
            dst,
            from_user: from,
            to_user: to.clone(),
            ruri_user: to,
            diverted_to: if rng.chance(0.03) { vec!["voicemail".into()] } else { vec![] },
            trunk_from: if self.is_out { None } else { trunk.clone() },
            trunk_to: if self.is_out { trunk } else { None },
            state: if self.is_answered { CallState::Completed } else { CallState::Failed },
            final_code: if self.is_answered { 200 } else { [486, 480, 404, 503][rng.skewed(4, 1.0)] },
            final_reason: self.is_answered.then(|| "OK".into()),
            cause: Some(if self.is_answered { 16 } else { 17 }),
            released_by: self.is_answered.then_some(if is_bad { Party::Caller } else { Party::Callee }),
            invite: Some(invite),
            trying: Some(invite),
            ringing: self.is_answered.then_some(invite + Nanos::from_millis(900)),
            answer: self.is_answered.then_some(invite + Nanos::from_secs(4)),
            end: Some(invite + Nanos::from_secs(60)),
            duration_ms: self.is_answered.then_some(if is_bad { length / 4.0 } else { length }),
            user_agent_caller: Some(device(self.caller)),
            user_agent_callee: self.is_answered.then(|| device(self.callee)),
            streams: streams.iter().map(|stream| stream.id).collect(),
            mos: self.is_answered.then_some(if is_bad { 2.4 } else { 4.2 }),
            notes: if is_bad { vec![low(NoteCode::LowMos), low(NoteCode::Loss)] } else { vec![] },
            ..samples::call()
        };
        (call, streams)
    }

    fn streams(&self, number: u64, is_bad: bool) -> Vec<Stream> {
        let phone = Endpoint::new(exchange(self.site), 4_000);
        let relay = Endpoint::new(self.media, 30_000);
        let directions = [Direction::CallerToCallee, Direction::CalleeToCaller];
        let ends = [(phone, relay), (relay, phone)];
        let stream = |(direction, (src, dst)): (Direction, (Endpoint, Endpoint))| Stream {
            id: id(number << 2 | direction as u64),
            direction: Some(direction),
            src,
            dst,
            codec: Some(CODECS[self.codec].to_owned()),
            ptime_ms: Some(self.ptime as f64),
            unique: 1_000,
            lost: if is_bad { 90 } else { 2 },
            mos: Some(if is_bad { 2.4 } else { 4.2 }),
            ..samples::stream()
        };
        directions.into_iter().zip(ends).map(stream).collect()
    }
}

fn id(number: u64) -> Id {
    Id((u128::from(number) + 1).to_be_bytes())
}
