//! Whom a request is about, and by what calls and sessions are found.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::ops::Range;

use ringtap_model::{Call, Endpoint, HeldAddress, Identity, Nanos, Network, Stream};
use ringtap_warrant::{Liid, Name, Subject, TargetIndex};

/// The subjects of a request.
pub(crate) struct Subjects<'a> {
    all: &'a [Subject],
    /// Names, each with the number of its subject in place of an identifier.
    names: TargetIndex,
    networks: Vec<(Network, Option<u16>)>,
    period: Range<Nanos>,
}

impl<'a> Subjects<'a> {
    pub(crate) fn new(all: &'a [Subject], period: Range<Nanos>) -> Self {
        // A request has at most 64 subjects.
        let numbers: Vec<Liid> = (1..=u8::MAX).filter_map(|number| Liid::of(&[number]).ok()).collect();
        let targets = all.iter().map(Subject::target).zip(&numbers);
        let networks = all.iter().filter_map(|subject| Some((subject.target().network()?, subject.port())));
        Self { all, names: TargetIndex::new(targets), networks: networks.collect(), period }
    }

    /// Whether sessions can be found by one of them.
    pub(crate) fn are_of_sessions(&self) -> bool {
        self.all.iter().any(|subject| subject.target().kind().is_of_a_session())
    }

    /// Whether calls can be found by names in them.
    pub(crate) fn are_of_calls(&self) -> bool {
        self.all.iter().any(|subject| !subject.target().kind().is_of_a_session())
    }

    /// By what a session is found: kinds of subjects, each once; none if it is nobody's who is asked for.
    pub(crate) fn of_session(&self, session: &Identity) -> Vec<&'static str> {
        let mut found: BTreeSet<&'static str> = BTreeSet::new();
        for number in self.names.find(Name::of_session(session)) {
            let place = number.octets().first().map(|number| usize::from(*number) - 1);
            let subject = place.and_then(|place| self.all.get(place));
            found.extend(subject.map(|subject| subject.target().kind().name()));
        }
        if session.addresses.iter().any(|held| self.has_held(held)) {
            found.insert("address");
        }
        found.into_iter().collect()
    }

    /// Whether an address that is asked for was a session's in some of the period.
    fn has_held(&self, held: &HeldAddress) -> bool {
        let Some(network) = was_held_in(held, &self.period).then(|| network_of(held)).flatten() else {
            return false;
        };
        self.networks.iter().any(|(asked, port)| {
            let shares = asked.holds(network.ends().0) || network.holds(asked.ends().0);
            shares && port.is_none_or(|port| has_port(held, port))
        })
    }

    /// By what a call is found of its names: the fields of its row.
    pub(crate) fn named_in(&self, call: &Call) -> Vec<&'static str> {
        let mut found = Vec::new();
        let mut named = |field, text: Option<String>| {
            if text.is_some_and(|text| !self.names.find([Name::Sip(&text)]).is_empty()) {
                found.push(field);
            }
        };
        named("calling", identity(&call.from_user, &call.from_host));
        named("calling_identity", call.asserted_identity.clone());
        named("dialled", identity(&call.ruri_user, &call.ruri_host));
        named("called", identity(&call.to_user, &call.to_host));
        if call.diverted_to.iter().any(|text| !self.names.find([Name::Sip(text)]).is_empty()) {
            found.push("routed_to");
        }
        found
    }

    /// Whether an endpoint of a call is asked for.
    pub(crate) fn have_address_of(&self, call: &Call, streams: &[Stream]) -> bool {
        endpoints(call, streams).any(|(end, _)| self.is_asked(end))
    }

    /// The addresses that are asked for.
    pub(crate) fn networks(&self) -> impl Iterator<Item = Network> {
        self.networks.iter().map(|(network, _)| *network)
    }

    fn is_asked(&self, end: Endpoint) -> bool {
        let is_asked = |(network, port): &(Network, Option<u16>)| {
            network.holds(end.ip.to_canonical()) && port.is_none_or(|port| port == end.port)
        };
        self.networks.iter().any(is_asked)
    }
}

/// A user at a host, as a URI has it.
fn identity(user: &Option<String>, host: &Option<String>) -> Option<String> {
    match (user, host) {
        (Some(user), Some(host)) => Some(format!("sip:{user}@{host}")),
        (Some(user), None) => Some(user.clone()),
        (None, _) => None,
    }
}

/// The endpoints of a call, each with a time at which it was used.
pub(crate) fn endpoints(call: &Call, streams: &[Stream]) -> impl Iterator<Item = (Endpoint, Nanos)> {
    let begin = call.start().unwrap_or_default();
    let media = streams.iter().flat_map(|stream| [(stream.src, stream.first), (stream.dst, stream.first)]);
    [(call.src, begin), (call.dst, begin)].into_iter().chain(media)
}

/// Whether an address was a session's in some of that time.
pub(crate) fn was_held_in(held: &HeldAddress, time: &Range<Nanos>) -> bool {
    held.from < time.end && held.until.is_none_or(|until| until > time.start)
}

/// The addresses that a session had.
pub(crate) fn network_of(held: &HeldAddress) -> Option<Network> {
    let network: Network = held.network.parse().ok()?;
    let (first, _) = network.ends();
    // Mapped ones are those of IPv4.
    match (first.to_canonical(), network.bits()) {
        (canonical @ IpAddr::V4(_), 128) => Some(Network::of(canonical)),
        _ => Some(network),
    }
}

fn has_port(held: &HeldAddress, port: u16) -> bool {
    match (held.first_port, held.last_port) {
        (Some(first), Some(last)) => (first..=last).contains(&port),
        _ => true,
    }
}
