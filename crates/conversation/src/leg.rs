//! What is remembered of a call whose record was seen.

use std::net::IpAddr;

use ringtap_model::{Call, Id, JoinReason, Nanos};

use crate::number::{Agreement, Number, agreement};
use crate::settings::NumberPlan;

/// A call as the later ones are compared with it.
#[derive(Clone, Debug)]
pub(crate) struct Leg {
    pub(crate) id: Id,
    /// Its place in the order of records.
    pub(crate) order: u64,
    pub(crate) start: Nanos,
    pub(crate) answer: Option<Nanos>,
    pub(crate) end: Nanos,
    pub(crate) src: IpAddr,
    pub(crate) dst: IpAddr,
    /// Where proxies sent it on to, with its Call-ID.
    pub(crate) hops: Vec<IpAddr>,
    pub(crate) caller: Option<Number>,
    pub(crate) callee: Option<Number>,
    /// Where REFER and 3xx answers sent it.
    pub(crate) targets: Vec<Target>,
    /// A side sent the other on to somebody else, or it names another dialog in Replaces.
    pub(crate) transfers: bool,
    /// The identifiers that a conversation has of its own, if it has any: hashes of Session-IDs.
    pub(crate) sessions: Vec<u64>,
    /// The conversation that it shares with others.
    pub(crate) group: Option<u32>,
    /// The index entries that name it.
    pub(crate) keys: Vec<u64>,
}

/// Another number to which somebody was to call.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) reason: JoinReason,
    pub(crate) number: Number,
    /// Who was told to call it, and when.
    pub(crate) by: IpAddr,
    pub(crate) at: Nanos,
}

impl Leg {
    pub(crate) fn new(call: &Call, order: u64, plan: &NumberPlan) -> Self {
        let start = call.start().unwrap_or_default();
        let number = |user: &Option<String>| user.as_deref().and_then(|user| Number::parse(user, plan));
        let end = call.end.or(call.answer).unwrap_or(start).max(start);
        Self {
            id: call.id,
            order,
            start,
            answer: call.answer,
            end,
            src: call.src.ip,
            dst: call.dst.ip,
            hops: hops(call).collect(),
            caller: number(&call.from_user).or_else(|| number(&call.asserted_identity)),
            callee: number(&call.ruri_user).or_else(|| number(&call.to_user)),
            targets: targets(call, end, plan),
            transfers: call
                .links
                .iter()
                .any(|link| link.starts_with("refer_to=") || link.starts_with("replaces=")),
            sessions: Vec::new(),
            group: None,
            keys: Vec::new(),
        }
    }

    /// Whether both have Session-IDs, and none in common.
    pub(crate) fn has_other_session(&self, other: &Self) -> bool {
        let known = !self.sessions.is_empty() && !other.sessions.is_empty();
        known && self.sessions.iter().all(|session| !other.sessions.contains(session))
    }

    /// Whether both were there at one time, or one began within `slack` of the end of the other.
    pub(crate) fn overlaps(&self, other: &Self, slack: Nanos) -> bool {
        self.start <= other.end + slack && other.start <= self.end + slack
    }

    /// Whether a host that got this leg sent the other.
    pub(crate) fn leads_to(&self, other: &Self) -> bool {
        self.receivers().any(|host| host == other.src)
    }

    /// The hosts that got it.
    pub(crate) fn receivers(&self) -> impl Iterator<Item = IpAddr> {
        std::iter::once(self.dst).chain(self.hops.iter().copied())
    }

    /// Whether one of them leads to the other.
    pub(crate) fn is_chained(&self, other: &Self) -> bool {
        self.leads_to(other) || other.leads_to(self)
    }

    /// How far apart they began.
    pub(crate) fn apart(&self, other: &Self) -> Nanos {
        self.start.since(other.start).max(other.start.since(self.start))
    }

    /// Of callers and of callees.
    pub(crate) fn agreements(&self, other: &Self) -> [Agreement; 2] {
        [
            agreement(self.caller.as_ref(), other.caller.as_ref()),
            agreement(self.callee.as_ref(), other.callee.as_ref()),
        ]
    }

    /// Whether all four parties are known, and none of one leg is one of the other.
    pub(crate) fn has_other_parties(&self, other: &Self) -> bool {
        let own = [&self.caller, &self.callee];
        let others = [&other.caller, &other.callee];
        own.iter().all(|one| {
            others.iter().all(|other| agreement(one.as_ref(), other.as_ref()) == Agreement::Different)
        })
    }
}

/// The hops among the links of a call: `hop=address`.
fn hops(call: &Call) -> impl Iterator<Item = IpAddr> {
    call.links.iter().filter_map(|link| link.strip_prefix("hop=")?.parse().ok())
}

/// The targets among the links of a call: `refer_to=user@host;at=microseconds;by=caller` and
/// `redirect_to=user@host`.
fn targets(call: &Call, end: Nanos, plan: &NumberPlan) -> Vec<Target> {
    let target = |link: &String| {
        let (kind, value) = link.split_once('=')?;
        let mut parts = value.split(';');
        let user = parts.next()?.split('@').next()?;
        let number = Number::parse(user, plan)?;
        let part = |parts: &mut std::str::Split<'_, char>, name: &str| {
            Some(parts.next()?.strip_prefix(name)?.to_owned())
        };
        match kind {
            "refer_to" => {
                let at = Nanos::from_micros(part(&mut parts, "at=")?.parse().ok()?);
                // The side that was asked calls: where this leg ends at a box, the box.
                let by = if part(&mut parts, "by=")? == "caller" { call.dst.ip } else { call.src.ip };
                Some(Target { reason: JoinReason::Refer, number, by, at })
            }
            "redirect_to" => Some(Target { reason: JoinReason::Redirect, number, by: call.src.ip, at: end }),
            _ => None,
        }
    };
    let mut targets: Vec<Target> = call.links.iter().filter_map(target).collect();
    // Behind a proxy, the box that was asked is a later hop.
    let to_box = |target: &&Target| target.reason == JoinReason::Refer && target.by == call.dst.ip;
    let behind: Vec<Target> = targets
        .iter()
        .filter(to_box)
        .flat_map(|target| hops(call).map(|by| Target { by, ..target.clone() }))
        .collect();
    targets.extend(behind);
    targets
}
