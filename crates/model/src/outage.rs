//! Records of outages of telephone services, of failovers, and of how long services were available.

use crate::definition::{names, record};
use crate::{Direction, Endpoint, Id, Nanos, Transport};

names! {
    /// What a service is, as far as packets tell.
    pub enum ServiceRole {
        /// Takes requests.
        Service = "service",
        /// Is asked by OPTIONS outside of calls, again and again: a PBX, a gateway, a trunk.
        Monitored = "monitored",
        /// Registers, or is registered: a telephone.
        Telephone = "telephone",
    }
}

names! {
    /// How a service was out of service.
    pub enum OutageKind {
        /// It answered nothing.
        Unanswered = "unanswered",
        /// It answered all requests of a kind with 500 or 503.
        Refusing = "refusing",
    }
}

names! {
    /// What was seen of a failover.
    pub enum EvidenceKind {
        /// ARP (RFC 826) gives an address another owner.
        ArpMoved = "arp_moved",
        /// A neighbour advertisement (RFC 4861 section 4.4) does.
        NeighbourMoved = "neighbour_moved",
        /// Packets of an address come from another MAC address, and no more from the one before.
        SourceMoved = "source_moved",
        /// Two owners claim an address in turn.
        AddressConflict = "address_conflict",
        /// An INVITE that was not answered, or with 100, 408, 500 or 503 only, was sent to another service.
        InviteRetried = "invite_retried",
        /// Many more REGISTER than usual.
        RegisterBurst = "register_burst",
        /// 404 for somebody who is registered.
        ContactLost = "contact_lost",
    }
}

names! {
    /// Why services were out of service.
    pub enum FailoverCause {
        /// Two hosts claimed one address.
        AddressConflict = "address_conflict",
        /// The service did not answer, then its address got another owner.
        ProxyLost = "proxy_lost",
        /// Its address got another owner while it answered.
        AddressMoved = "address_moved",
        /// A monitored service did not answer, and kept its address; or INVITEs went to another.
        PbxLost = "pbx_lost",
        /// It answered 500 or 503.
        Refusing = "refusing",
        /// Packets do not tell.
        Unknown = "unknown",
    }
}

record! {
    /// A time in which a service served nobody.
    #[name = "outage"]
    pub struct Outage {
        /// Derived from the service, the kind and the beginning.
        pub id: Id,
        /// Address and port of the service.
        pub service: Endpoint,
        /// Its transport protocol.
        pub transport: Transport,
        /// What the service is.
        pub role: ServiceRole,
        /// What it did not do.
        pub kind: OutageKind,
        /// When it began, as far as is known: at the first request that waited, not before the service sent
        /// something last.
        #[name = "from_us"]
        pub from: Nanos,
        /// The last answer before; of refusals, the last other answer. Null where none was seen.
        #[name = "last_answer_us"]
        pub last_answer: Option<Nanos>,
        /// When the first request was sent that was not answered by then, or was refused.
        #[name = "first_unanswered_us"]
        pub first_unanswered: Nanos,
        /// The first answer after; null while it lasts, or where its end was not seen.
        #[name = "first_answer_us"]
        pub first_answer: Option<Nanos>,
        /// Until when it is known to have lasted.
        #[name = "last_us"]
        pub last: Nanos,
        /// How long it is known to have served nobody.
        #[unit = Milliseconds]
        pub down_ms: f64,
        /// Time of it in which no request waited.
        #[unit = Milliseconds]
        pub unobserved_ms: f64,
        /// Requests without an answer, or refused; repeats are the same request.
        pub requests: u64,
        /// Times that they were sent.
        pub sent: u64,
        /// Addresses that sent them.
        pub clients: u64,
        /// Kind of requests that were refused; null where nothing was answered.
        pub refused: Option<String>,
    }
}

record! {
    /// A sign of a failover.
    #[part]
    #[name = "sign"]
    pub struct FailoverSign {
        /// What was seen.
        pub kind: EvidenceKind,
        /// When first.
        #[name = "first_us"]
        pub first: Nanos,
        /// When last.
        #[name = "last_us"]
        pub last: Nanos,
        /// How often: packets; of INVITEs and REGISTER, requests.
        pub count: u64,
        /// The address that it is about.
        pub address: String,
        /// Its owner by MAC address, or the service, before.
        pub from: Option<String>,
        /// Its owner, or the service, after.
        pub to: Option<String>,
    }
}

record! {
    /// One failure, and how it was got over.
    #[name = "failover"]
    pub struct Failover {
        /// Derived from its beginning and from what it was first known by.
        pub id: Id,
        /// The first sign of it.
        #[name = "from_us"]
        pub from: Nanos,
        /// When all its services answered again; null where one does not, or was not seen to.
        #[name = "until_us"]
        pub until: Option<Nanos>,
        /// The longest outage of a service in it.
        #[unit = Milliseconds]
        pub down_ms: f64,
        /// Why; several where several failed at once.
        pub causes: Vec<String>,
        /// Services that were out of service, or addresses that moved.
        pub services: Vec<String>,
        /// Ids of its outages.
        pub outages: Vec<Id>,
        /// What else was seen.
        pub evidence: Vec<FailoverSign>,
        /// When its effects were judged: nothing later is among them. Null until then, as are they.
        #[name = "judged_until_us"]
        pub judged_until: Option<Nanos>,
        /// Calls that were being set up, or established, meanwhile, and all affected ones.
        pub calls: Option<u64>,
        /// Of these, set up late.
        pub delayed: Option<u64>,
        /// Median of the time from the first INVITE of the delayed calls to their first 18x, or 2xx.
        #[unit = Milliseconds]
        pub delay_ms_median: Option<f64>,
        /// The 95th percentile of it, by nearest rank.
        #[unit = Milliseconds]
        pub delay_ms_p95: Option<f64>,
        /// The longest.
        #[unit = Milliseconds]
        pub delay_ms_max: Option<f64>,
        /// Calls that were not answered, for a reason of the network.
        pub failed: Option<u64>,
        /// Calls that were established before, and ended by neither telephone.
        pub cut: Option<u64>,
        /// Calls that their caller gave up before they rang.
        pub given_up: Option<u64>,
        /// Calls of which packets do not tell.
        pub unknown: Option<u64>,
        /// Users of these calls but the unknown, and users whose REGISTER waited or was refused.
        pub users: Option<u64>,
        /// Users whose REGISTER waited or was refused.
        pub registering_users: Option<u64>,
        /// Directions of calls with a gap in their media; null where calls were established, and nothing of
        /// their media was seen.
        pub gaps: Option<u64>,
        /// Median of the longest gap of each direction.
        #[unit = Milliseconds]
        pub gap_ms_median: Option<f64>,
        /// The 95th percentile of it, by nearest rank.
        #[unit = Milliseconds]
        pub gap_ms_p95: Option<f64>,
        /// The longest.
        #[unit = Milliseconds]
        pub gap_ms_max: Option<f64>,
        /// Failed and cut calls in a million of its calls.
        pub lost_per_million: Option<f64>,
    }
}

impl Failover {
    /// Of which nothing is known.
    pub const UNKNOWN: Self = Self {
        id: Id([0; 16]),
        from: Nanos::ZERO,
        until: None,
        down_ms: 0.0,
        causes: Vec::new(),
        services: Vec::new(),
        outages: Vec::new(),
        evidence: Vec::new(),
        judged_until: None,
        calls: None,
        delayed: None,
        delay_ms_median: None,
        delay_ms_p95: None,
        delay_ms_max: None,
        failed: None,
        cut: None,
        given_up: None,
        unknown: None,
        users: None,
        registering_users: None,
        gaps: None,
        gap_ms_median: None,
        gap_ms_p95: None,
        gap_ms_max: None,
        lost_per_million: None,
    };
}

record! {
    /// The longest gap in the media of one direction of a call.
    #[part]
    #[name = "affected_gap"]
    pub struct AffectedGap {
        /// Which way the missing packets went; null where that is not known.
        pub direction: Option<Direction>,
        /// The last packet before.
        #[name = "from_us"]
        pub from: Nanos,
        /// From that to the next packet.
        #[unit = Milliseconds]
        pub gap_ms: f64,
    }
}

record! {
    /// A call that a failover had an effect on.
    #[name = "affected_call"]
    pub struct AffectedCall {
        /// Derived from the failover and the Call-ID.
        pub id: Id,
        /// Id of the failover.
        pub failover: Id,
        /// When that began.
        #[name = "failover_us"]
        pub failover_from: Nanos,
        /// Id of the call.
        pub call: Id,
        /// Its Call-ID.
        pub call_id: String,
        /// Its first INVITE.
        #[name = "invite_us"]
        pub invite: Nanos,
        /// `delayed`, `failed`, `cut`, `given_up` or `unknown`; null where its media had a gap, and nothing
        /// else.
        pub effect: Option<String>,
        /// Of a delayed call, first INVITE to first 18x, or 2xx.
        #[unit = Milliseconds]
        pub delay_ms: Option<f64>,
        /// The longest gap of each direction.
        pub gaps: Vec<AffectedGap>,
    }
}

record! {
    /// How available a service was in an hour, or in a part of it in which it was monitored.
    #[name = "service_hour"]
    pub struct ServiceHour {
        /// Derived from the service and the beginning.
        pub id: Id,
        /// Address and port of the service.
        pub service: Endpoint,
        /// Its transport protocol.
        pub transport: Transport,
        /// What it is.
        pub role: ServiceRole,
        /// Where the hour begins, or the monitoring of the service in it.
        #[name = "from_us"]
        pub from: Nanos,
        /// The first request or answer that it counts.
        #[name = "first_us"]
        pub first: Nanos,
        /// The last.
        #[name = "last_us"]
        pub last: Nanos,
        /// Requests, without repeats and ACK.
        pub requests: u64,
        /// Of these, answered in any way.
        pub answered: u64,
        /// Of those, after the client had repeated the request.
        pub answered_late: u64,
        /// Never answered, whether or not the service was out of service.
        pub unanswered: u64,
        /// Sent too shortly before the end, or before packets were lost, to tell.
        pub undecided: u64,
        /// Outages that ended.
        pub outages: u64,
        /// Time in which it is known whether it served.
        #[unit = Milliseconds]
        pub observed_ms: f64,
        /// Time of that in which it served nobody, of outages that ended.
        #[unit = Milliseconds]
        pub down_ms: f64,
    }
}
