//! What a new leg has in common with those before it.

use ringtap_model::{Call, Id, Join, JoinReason};

use crate::evidence::{ENDED, Verdict, is_call_to, is_next_by_numbers, judge};
use crate::index::{Index, KeyKind};
use crate::leg::{Leg, Target};
use crate::link::{Identifier, confidence};
use crate::number::{Agreement, Number};

/// The remembered calls.
pub(crate) struct Memory<'m> {
    pub(crate) legs: &'m [Option<Leg>],
    pub(crate) index: &'m Index,
}

/// What was found.
#[derive(Default)]
pub(crate) struct Matches {
    /// Legs of the same conversation, by their slots, with the key that says so.
    pub(crate) joins: Vec<(u32, u64, Join)>,
    /// Keys that a box repeats.
    pub(crate) repeated: Vec<(u64, JoinReason)>,
    /// Legs of which it is no longer certain that they belong together, for that reason.
    pub(crate) doubtful: Vec<(Id, Id, JoinReason)>,
}

/// A key of the index, and how many calls are compared by it.
pub(crate) struct Key {
    pub(crate) key: u64,
    pub(crate) most: usize,
}

impl Memory<'_> {
    fn legs_of(&self, key: u64) -> impl Iterator<Item = (u32, &Leg)> {
        let of = |slot: &u32| Some((*slot, self.legs.get(*slot as usize)?.as_ref()?));
        self.index.slots(key).iter().filter_map(of)
    }

    /// The keys under which a leg is found.
    pub(crate) fn keys(&self, leg: &Leg, call: &Call, reasons: &[JoinReason]) -> Vec<Key> {
        let mut keys: Vec<Key> = Vec::new();
        let mut add = |key, most| {
            if keys.iter().all(|known| known.key != key) {
                keys.push(Key { key, most });
            }
        };
        for (key, identifier) in self.identifiers(call, reasons) {
            add(key, most_at_once(identifier.reason));
        }
        add(self.index.key(KeyKind::CallId, &*call.call_id), AT_ONCE);
        for host in leg.receivers().chain([leg.src]) {
            for number in [&leg.caller, &leg.callee].into_iter().flatten() {
                add(self.index.key(KeyKind::AtHost, (host, number.tail())), COMPARED);
            }
        }
        for Target { by, number, .. } in &leg.targets {
            add(self.index.key(KeyKind::Target, (by, number.tail())), COMPARED);
        }
        keys
    }

    /// The Session-IDs of a call, without those that a box repeats.
    pub(crate) fn sessions(&self, call: &Call) -> Vec<u64> {
        let keys = self.identifiers(call, &[JoinReason::SessionId]).map(|(key, _)| key);
        keys.filter(|key| !self.index.is_worn(*key)).collect()
    }

    fn identifiers<'c>(
        &self,
        call: &'c Call,
        reasons: &[JoinReason],
    ) -> impl Iterator<Item = (u64, Identifier<'c>)> {
        let of = |link: &'c String| Identifier::of(link);
        call.links.iter().filter_map(of).filter(|found| reasons.contains(&found.reason)).map(|found| {
            let kind = KeyKind::Identifier(found.reason as u8);
            (self.index.key(kind, found.value), found)
        })
    }

    /// Everything that joins a new leg to others, or shows that what joined them does not count.
    pub(crate) fn find(&self, leg: &Leg, call: &Call, reasons: &[JoinReason]) -> Matches {
        let mut found = Matches::default();
        for (key, identifier) in self.identifiers(call, reasons) {
            self.by_identifier(leg, key, identifier, &mut found);
        }
        if reasons.contains(&JoinReason::Replaces) {
            // Another leg may have named this one.
            let kind = KeyKind::Identifier(JoinReason::Replaces as u8);
            let key = self.index.key(kind, &*call.call_id);
            let evidence = || format!("that call names the Call-ID {} in Replaces", call.call_id);
            self.by_call_id(leg, key, &evidence, &mut found);
        }
        self.by_target(leg, reasons, &mut found);
        if reasons.contains(&JoinReason::Numbers) {
            self.by_numbers(leg, &mut found);
        }
        let is_repeated = |key: &u64| found.repeated.iter().any(|(repeated, _)| repeated == key);
        found.joins.retain(|(_, key, _)| !is_repeated(key));
        found
    }

    fn by_identifier(&self, leg: &Leg, key: u64, identifier: Identifier<'_>, found: &mut Matches) {
        let Identifier { reason, value, names_call_id } = identifier;
        if names_call_id {
            let key = self.index.key(KeyKind::CallId, value);
            let evidence = || format!("Replaces: {value}");
            return self.by_call_id(leg, key, &evidence, found);
        }
        if self.index.is_worn(key) {
            return;
        }
        let mut at_once = 1;
        for (slot, other) in self.legs_of(key) {
            at_once += usize::from(leg.overlaps(other, ringtap_model::Nanos::ZERO));
            match judge(reason, leg, other) {
                Verdict::Join => {
                    let evidence = format!("{} {value}", what(reason));
                    let join = Join { call: other.id, reason, confidence: confidence(reason), evidence };
                    found.joins.push((slot, key, join));
                }
                Verdict::Apart => {}
                Verdict::Repeated => return found.repeated.push((key, reason)),
            }
        }
        if at_once > most_at_once(reason) {
            found.repeated.push((key, reason));
        }
    }

    fn by_call_id(&self, leg: &Leg, key: u64, evidence: &dyn Fn() -> String, found: &mut Matches) {
        let reason = JoinReason::Replaces;
        for (slot, other) in self.legs_of(key) {
            if other.id != leg.id && judge(reason, leg, other) == Verdict::Join {
                let confidence = confidence(reason);
                let join = Join { call: other.id, reason, confidence, evidence: evidence() };
                found.joins.push((slot, key, join));
            }
        }
    }

    /// Calls that somebody was told to make by REFER or a 3xx answer.
    fn by_target(&self, leg: &Leg, reasons: &[JoinReason], found: &mut Matches) {
        for target in leg.targets.iter().filter(|target| reasons.contains(&target.reason)) {
            let key = self.index.key(KeyKind::AtHost, (target.by, target.number.tail()));
            let calls: Vec<_> =
                self.legs_of(key).filter(|(_, other)| is_call_to(target, leg, other)).collect();
            self.told(leg, target, key, &calls, true, found);
        }
        let Some(callee) = &leg.callee else { return };
        let key = self.index.key(KeyKind::Target, (leg.src, callee.tail()));
        for (slot, other) in self.legs_of(key) {
            let of_leg = |target: &&Target| {
                reasons.contains(&target.reason)
                    && target.number.tail() == callee.tail()
                    && is_call_to(target, other, leg)
            };
            if let Some(target) = other.targets.iter().find(of_leg) {
                self.told(leg, target, key, &[(slot, other)], false, found);
            }
        }
    }

    /// One call was told, one follows: else none of them counts.
    fn told(
        &self,
        leg: &Leg,
        target: &Target,
        key: u64,
        others: &[(u32, &Leg)],
        is_told: bool,
        found: &mut Matches,
    ) {
        let reason = target.reason;
        for (slot, other) in others {
            let (told, follows) = if is_told { (leg, *other) } else { (*other, leg) };
            let rivals = self.rivals(target, told, follows);
            if rivals.is_empty() && others.len() == 1 && !self.index.is_crowded(key, leg.end, LONG) {
                let evidence = format!("{} {}", what(reason), target.number.tail());
                let join = Join { call: other.id, reason, confidence: confidence(reason), evidence };
                found.joins.push((*slot, key, join));
            }
            found.doubtful.extend(rivals.iter().flat_map(|(one, two)| {
                [(*one, *two, reason), (told.id, *two, reason), (*one, follows.id, reason)]
            }));
        }
    }

    /// Pairs of calls, told and following, that compete with this pair.
    fn rivals(&self, target: &Target, told: &Leg, follows: &Leg) -> Vec<(Id, Id)> {
        let calls = self.index.key(KeyKind::AtHost, (target.by, target.number.tail()));
        let others = self.legs_of(calls).filter(|(_, other)| other.id != follows.id);
        let mut rivals: Vec<(Id, Id)> = others
            .filter(|(_, other)| is_call_to(target, told, other))
            .map(|(_, other)| (told.id, other.id))
            .collect();
        let tellers = self.index.key(KeyKind::Target, (target.by, target.number.tail()));
        let others = self.legs_of(tellers).filter(|(_, other)| other.id != told.id);
        let tells = |other: &Leg| other.targets.iter().any(|target| is_call_to(target, other, follows));
        rivals.extend(others.filter(|(_, other)| tells(other)).map(|(_, other)| (other.id, follows.id)));
        rivals
    }

    /// The leg before it and the leg behind it, by numbers, times and the host between them.
    fn by_numbers(&self, leg: &Leg, found: &mut Matches) {
        let behind = self.neighbours(leg, true);
        self.by_side(leg, &behind, true, found);
        let before = self.neighbours(leg, false);
        self.by_side(leg, &before, false, found);
    }

    fn by_side(&self, leg: &Leg, others: &[(u32, &Leg, f64)], is_behind: bool, found: &mut Matches) {
        let reason = JoinReason::Numbers;
        for (slot, other, confidence) in others {
            // Who else could be in the place of either. A pair of which one number differs is no rival of one
            // of which both agree: two callers of one number.
            let rivals = self.neighbours(other, !is_behind);
            let has_rival = |found: &[(u32, &Leg, f64)], of: &Leg| {
                found.iter().any(|(_, rival, of_rival)| rival.id != of.id && of_rival >= confidence)
            };
            let is_only = !has_rival(others, other) && !has_rival(&rivals, leg);
            if is_only && !self.is_crowded(leg) {
                let evidence = between(leg, other, is_behind);
                let join = Join { call: other.id, reason, confidence: *confidence, evidence };
                found.joins.push((*slot, 0, join));
            }
            let weaker = rivals.iter().filter(|(_, rival, found)| rival.id != leg.id && found <= confidence);
            found.doubtful.extend(weaker.map(|(_, rival, _)| (rival.id, other.id, reason)));
        }
    }

    /// The legs that the host behind a leg may have sent for it; or those for which the host before may have
    /// sent it.
    fn neighbours(&self, leg: &Leg, behind: bool) -> Vec<(u32, &Leg, f64)> {
        let mut neighbours: Vec<(u32, &Leg, f64)> = Vec::new();
        let hosts = leg.receivers().filter(|_| behind).chain((!behind).then_some(leg.src));
        for key in hosts.flat_map(|host| self.number_keys(leg, host)) {
            let calls = self.index.slots(key).len();
            for (slot, other) in self.legs_of(key) {
                let (into, out) = if behind { (leg, other) } else { (other, leg) };
                if !into.leads_to(out) || Self::most_calls(into, out).is_some_and(|most| calls > most) {
                    continue;
                }
                if let Some(confidence) = is_next_by_numbers(into, out)
                    && neighbours.iter().all(|(known, ..)| *known != slot)
                {
                    neighbours.push((slot, other, confidence));
                }
            }
        }
        neighbours
    }

    fn number_keys(&self, leg: &Leg, host: std::net::IpAddr) -> impl Iterator<Item = u64> {
        let key = move |number: &Number| self.index.key(KeyKind::AtHost, (host, number.tail()));
        [&leg.callee, &leg.caller].map(|number| number.as_ref().map(key)).into_iter().flatten()
    }

    /// How many calls a number may have at a host to join two legs of which only that number agrees: one that
    /// everybody calls, or that a box gives all its callers, tells nothing. None where both agree.
    fn most_calls(leg: &Leg, other: &Leg) -> Option<usize> {
        match leg.agreements(other) {
            [Agreement::Same, Agreement::Same] => None,
            agreements if agreements.contains(&Agreement::Different) => Some(ALONE),
            _ => Some(POPULAR),
        }
    }

    /// Whether more calls with its numbers ended with it than are compared.
    fn is_crowded(&self, leg: &Leg) -> bool {
        leg.receivers()
            .chain([leg.src])
            .any(|host| self.number_keys(leg, host).any(|key| self.index.is_crowded(key, leg.end, ENDED)))
    }
}

/// The evidence of two legs that numbers join.
fn between(leg: &Leg, other: &Leg, is_behind: bool) -> String {
    let (into, out) = if is_behind { (leg, other) } else { (other, leg) };
    let later = out.start.since(into.start).millis_f64();
    format!("the same numbers, {later:.0} ms later, through {}", out.src)
}

/// An identifier in words.
fn what(reason: JoinReason) -> &'static str {
    match reason {
        JoinReason::SessionId => "Session-ID",
        JoinReason::ChargingId => "icid-value",
        JoinReason::Replaces => "Replaces:",
        JoinReason::Refer => "told by REFER to call a number that ends in",
        JoinReason::Redirect => "told by a 3xx answer to call a number that ends in",
        JoinReason::SdpOrigin => "o=",
        JoinReason::MediaAddress => "media at",
        JoinReason::Numbers => "numbers",
        JoinReason::Conference => "conference",
    }
}

/// Calls that may have an identifier at once: more of them share it by accident.
const fn most_at_once(reason: JoinReason) -> usize {
    match reason {
        JoinReason::Conference => 32,
        _ => AT_ONCE,
    }
}

const AT_ONCE: usize = 8;
/// Calls with a number at a host that are compared with a new one.
const COMPARED: usize = 32;
/// Calls with a number at a host above which the number is everybody's; and the same where the other number
/// differs.
const POPULAR: usize = 8;
const ALONE: usize = 3;
/// Longer than any call lasts after it was asked for.
const LONG: ringtap_model::Nanos = ringtap_model::Nanos::from_secs(60);
