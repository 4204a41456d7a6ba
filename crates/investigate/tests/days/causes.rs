//! Causes that are planted, and how findings name them.

use std::net::IpAddr;

use ringtap_investigate::{Finding, Named};

use crate::network::{CODECS, DEVICES, Network, PREFIXES, Plan, TRUNKS, device};
use crate::rng::Rng;

/// What kind of cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Device,
    Version,
    Gateway,
    Relay,
    Exchange,
    Trunk,
    Codec,
    Prefix,
    PacketTime,
    Hour,
    TrunkAndCodec,
    TrunkAndDevice,
}

/// All kinds.
pub(crate) const KINDS: [Kind; 12] = [
    Kind::Device,
    Kind::Version,
    Kind::Gateway,
    Kind::Relay,
    Kind::Exchange,
    Kind::Trunk,
    Kind::Codec,
    Kind::Prefix,
    Kind::PacketTime,
    Kind::Hour,
    Kind::TrunkAndCodec,
    Kind::TrunkAndDevice,
];

/// A cause: calls like the example in what the kind is about.
#[derive(Clone, Debug)]
pub(crate) struct Cause {
    kind: Kind,
    example: Plan,
}

impl Cause {
    /// One that some calls of the network have, but not too many.
    pub(crate) fn chosen(kind: Kind, network: &Network, rng: &mut Rng) -> Self {
        loop {
            let mut plans = rng.clone();
            let cause = Self { kind, example: network.plan(rng) };
            let with = (0..2_000).filter(|_| cause.is_of(&network.plan(&mut plans))).count();
            if (12..500).contains(&with) {
                return cause;
            }
        }
    }

    pub(crate) fn is_of(&self, plan: &Plan) -> bool {
        let example = &self.example;
        let has_device = |number| {
            let answering = plan.is_answered.then_some(plan.callee);
            [Some(plan.caller), answering].contains(&Some(number))
        };
        let is_of_trunk = plan.trunk == example.trunk;
        match self.kind {
            Kind::Device => has_device(example.caller),
            Kind::Version => {
                (0..DEVICES).any(|other| version(other) == version(example.caller) && has_device(other))
            }
            Kind::Gateway => plan.gateway == example.gateway,
            Kind::Relay => plan.media == example.media,
            Kind::Exchange => plan.site == example.site,
            Kind::Trunk => is_of_trunk,
            Kind::Codec => plan.codec == example.codec,
            Kind::Prefix => plan.prefix == example.prefix,
            Kind::PacketTime => plan.ptime == example.ptime,
            Kind::Hour => plan.second / 3_600 == example.second / 3_600,
            Kind::TrunkAndCodec => is_of_trunk && plan.codec == example.codec,
            Kind::TrunkAndDevice => is_of_trunk && has_device(example.caller),
        }
    }

    /// The device of the example.
    pub(crate) fn device(&self) -> usize {
        self.example.caller
    }

    /// Whether it shows in media alone.
    pub(crate) fn is_of_media(&self) -> bool {
        matches!(self.kind, Kind::Relay | Kind::Codec | Kind::PacketTime | Kind::TrunkAndCodec | Kind::Device)
            || matches!(self.kind, Kind::Version | Kind::TrunkAndDevice)
    }

    /// Whether a finding names it: by its value, or among those that mark the same calls.
    pub(crate) fn is_named_by(&self, finding: &Finding) -> bool {
        let example = &self.example;
        let wanted = |fields: &[&str], value: String| {
            let fields: Vec<String> = fields.iter().map(|field| (*field).to_owned()).collect();
            move |named: &Named| fields.iter().any(|field| field == named.field) && named.value == value
        };
        let host = |host: IpAddr| wanted(&["ip", "src", "dst", "media"], host.to_string());
        let trunk = wanted(&["trunk", "trunk_to", "trunk_from"], trunk(example.trunk));
        let whole = wanted(&["user_agent"], device(example.caller));
        let codec = wanted(&["codec"], CODECS[example.codec].to_owned());
        match self.kind {
            Kind::Device => is_single(finding, whole),
            Kind::Version => is_single(finding, wanted(&["user_agent"], version(example.caller))),
            Kind::Gateway => is_single(finding, host(example.gateway)),
            Kind::Relay => is_single(finding, host(example.media)),
            Kind::Exchange => is_single(finding, host(crate::network::exchange(example.site))),
            Kind::Trunk => is_single(finding, trunk),
            Kind::Codec => is_single(finding, codec),
            Kind::Prefix => is_single(finding, wanted(&["to"], format!("{}*", PREFIXES[example.prefix]))),
            Kind::PacketTime => is_single(finding, wanted(&["ptime"], format!("{} ms", example.ptime))),
            Kind::Hour => {
                let hour = (2 + example.second / 3_600) % 24;
                let day = if example.second < 22 * 3_600 { 21 } else { 22 };
                let next = (hour + 1) % 24;
                is_single(
                    finding,
                    wanted(&["began"], format!("2026-11-{day} {hour:02}:00 to {next:02}:00 UTC")),
                )
            }
            Kind::TrunkAndCodec => is_pair(finding, trunk, codec),
            Kind::TrunkAndDevice => is_pair(finding, trunk, whole),
        }
    }
}

/// Vendor and version of a device, as a pattern.
fn version(number: usize) -> String {
    let agent = device(number);
    let vendor = agent.split([' ', '/', '-', '_']).next().unwrap_or_default();
    let version = agent.rsplit([' ', '/']).next().unwrap_or_default();
    format!("{vendor}*{version}")
}

fn trunk(number: usize) -> String {
    assert!(number < TRUNKS);
    format!("carrier-{}", (b'a' + number as u8) as char)
}

fn is_single(finding: &Finding, wanted: impl Fn(&Named) -> bool) -> bool {
    finding.also.is_none() && (wanted(&finding.value) || finding.same.iter().any(wanted))
}

fn is_pair(finding: &Finding, one: impl Fn(&Named) -> bool, other: impl Fn(&Named) -> bool) -> bool {
    let Some(also) = &finding.also else { return false };
    let named = || [&finding.value, also].into_iter().chain(&finding.same);
    named().any(one) && named().any(other)
}
