//! Conversations with what a network does to their legs.

use ringtap_model::{Call, CallState, Endpoint, Id, Nanos};
use ringtap_testing::samples;

/// What the legs of a conversation have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Evidence {
    /// A Session-ID; numbers may be rewritten on both sides, and there may be forks.
    SessionId,
    /// A charging identifier, with the same changes.
    ChargingId,
    /// The caller's description passes through.
    Origin,
    /// The caller's media address passes through, in a description that the box writes anew.
    Media,
    /// The transferred call names the one that it replaces.
    Replaces,
    /// REFER, then the call to where it says.
    Refer,
    /// The leg into a box, which goes on while the one behind the box ends with a REFER and another begins:
    /// numbers join it to the first of them, although they do not end together.
    Through,
    /// 302, then the call to its contact.
    Redirect,
    /// Numbers and times alone.
    Numbers,
    /// Numbers alone, and a box that writes the same identifiers into all its calls.
    Constant,
    /// Callers without a number to one number that everybody calls, several in a second.
    Hotline,
    /// Nothing: both numbers are rewritten.
    Nothing,
}

impl Evidence {
    /// Whether it is the conversation's alone.
    pub(crate) fn is_unique(self) -> bool {
        !matches!(self, Self::Through | Self::Numbers | Self::Constant | Self::Hotline | Self::Nothing)
    }
}

/// Legs that belong together.
pub(crate) struct Conversation {
    pub(crate) evidence: Evidence,
    pub(crate) legs: Vec<Call>,
}

/// Makes conversations out of a seed.
pub(crate) struct Generator {
    state: u64,
    next: u64,
    /// Whether there are conversations of [`Evidence::Through`].
    has_through: bool,
}

/// What a leg is made of.
#[derive(Clone)]
struct Plan {
    from: u8,
    to: u8,
    caller: Option<String>,
    callee: String,
    start: Nanos,
    answer: Option<Nanos>,
    end: Nanos,
}

impl Generator {
    pub(crate) fn new(seed: u64) -> Self {
        Self { state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1, next: 0, has_through: false }
    }

    /// One that makes conversations of [`Evidence::Through`] too.
    pub(crate) fn with_through(seed: u64) -> Self {
        Self { has_through: true, ..Self::new(seed) }
    }

    /// A number below `limit`.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state >> 11) % limit
    }

    /// At least so many legs: 25 conversations a second between nine hosts.
    pub(crate) fn conversations(&mut self, legs: usize) -> Vec<Conversation> {
        let mut all = Vec::new();
        let (mut made, mut at) = (0, Nanos::from_secs(1_795_262_400));
        while made < legs {
            // Several in one millisecond, now and then.
            at += Nanos::from_millis(if self.below(4) == 0 { 0 } else { self.below(80) });
            let conversation = self.conversation(at);
            made += conversation.legs.len();
            all.push(conversation);
        }
        all
    }

    fn conversation(&mut self, at: Nanos) -> Conversation {
        let evidence = match self.below(20) {
            0..=3 => Evidence::SessionId,
            4..=5 => Evidence::ChargingId,
            6..=7 => Evidence::Origin,
            8 => Evidence::Media,
            9 => Evidence::Replaces,
            10 => Evidence::Refer,
            11 => Evidence::Redirect,
            12..=14 if self.has_through => Evidence::Through,
            12..=14 => Evidence::Numbers,
            15..=16 => Evidence::Constant,
            17..=18 => Evidence::Hotline,
            _ => Evidence::Nothing,
        };
        let legs = match evidence {
            Evidence::Replaces | Evidence::Refer => self.transfer(evidence, at),
            Evidence::Through => self.transfer_through(at),
            Evidence::Redirect => self.redirect(at),
            _ => self.chain(evidence, at),
        };
        Conversation { evidence, legs }
    }

    fn number(&mut self) -> String {
        format!("+4930{:07}", self.below(3_000))
    }

    /// A leg between two of the outer hosts and a box.
    fn first(&mut self, at: Nanos) -> Plan {
        let ring = Nanos::from_millis(500 + self.below(9_000));
        let answer = (self.below(3) > 0).then_some(at + ring);
        let talk = Nanos::from_millis(self.below(90_000));
        let end = answer.map_or(at + ring, |answer| answer + talk);
        let (from, to) = (1 + self.below(4) as u8, 10 + self.below(2) as u8);
        Plan { from, to, caller: Some(self.number()), callee: self.number(), start: at, answer, end }
    }

    /// The leg that a box sends for one that it got, some milliseconds later.
    fn next(&mut self, before: &Plan, to: u8) -> Plan {
        let hop = |random: &mut Self| Nanos::from_millis(1 + random.below(40));
        let start = before.start + hop(self);
        // Answers and ends come back through the box.
        let answer = before.answer.map(|answer| (answer - hop(self)).max(start));
        let end = (before.end + hop(self)).max(start);
        Plan { from: before.to, to, start, answer, end, ..before.clone() }
    }

    fn call(&mut self, plan: &Plan, links: Vec<String>) -> Call {
        self.next += 1;
        let (number, random) = (self.next, self.below(1 << 40));
        let end = |host: u8| Endpoint::new([192, 0, 2, host].into(), 5060);
        let user = |number: &Option<String>| number.clone().or_else(|| Some("anonymous".into()));
        let state = if plan.answer.is_some() { CallState::Completed } else { CallState::Failed };
        Call {
            id: Id((u128::from(number) << 40 | u128::from(random)).to_be_bytes()),
            call_id: format!("{number}-{random}@192.0.2.{}", plan.from),
            src: end(plan.from),
            dst: end(plan.to),
            from_user: user(&plan.caller),
            to_user: Some(plan.callee.clone()),
            ruri_user: Some(plan.callee.clone()),
            asserted_identity: None,
            conversation: None,
            joins: Vec::new(),
            links,
            state,
            invite: Some(plan.start),
            trying: None,
            ringing: None,
            answer: plan.answer,
            end: Some(plan.end),
            ..samples::call()
        }
    }

    fn hex(&mut self) -> String {
        format!("{:016x}{:016x}", self.below(u64::MAX), self.below(u64::MAX))
    }

    /// Links of a leg's own: each description of a box is its own, and so is its media.
    fn own_links(&mut self, host: u8) -> Vec<String> {
        let session = 1_000_000 + self.below(1 << 40);
        let port = 10_000 + 2 * self.below(27_000);
        let address = format!("192.0.2.{host}");
        vec![format!("origin=- {session} {address}"), format!("media={address}:{port}")]
    }

    /// Two to four legs, one behind the other or forked at the end.
    fn chain(&mut self, evidence: Evidence, at: Nanos) -> Vec<Call> {
        let mut plan = self.first(at);
        if evidence == Evidence::Hotline {
            (plan.caller, plan.callee) = (None, "+49800555000".into());
            // Which of them is which, nobody can tell.
            plan.answer = plan.answer.map(|_| at + Nanos::from_millis(600));
            plan.end = at + Nanos::from_millis(1_500);
        }
        let (session, icid) = (self.hex(), self.hex());
        let (origin, media) = (1_000_000_000 + self.below(1 << 40), 10_000 + self.below(50_000));
        let caller = 20 + self.below(200);
        let shared = match evidence {
            Evidence::SessionId => vec![format!("session={session}")],
            Evidence::ChargingId => vec![format!("icid={icid}")],
            Evidence::Origin => vec![format!("origin=- {origin} 198.51.100.{caller}")],
            Evidence::Media => vec![format!("media=198.51.100.{caller}:{media}")],
            _ => Vec::new(),
        };
        let constant = evidence == Evidence::Constant;
        let legs = 2 + self.below(3);
        let is_forked = legs > 2 && matches!(evidence, Evidence::SessionId | Evidence::ChargingId);
        let mut calls = Vec::new();
        let mut parent = plan.clone();
        for leg in 0..legs {
            if leg > 0 {
                let before = if is_forked { parent.clone() } else { plan.clone() };
                // By Session-ID also through a box that has the call already.
                let is_back = leg == 2 && evidence == Evidence::SessionId && self.below(4) == 0;
                let to = if is_back { before.from } else { 10 + 2 * leg as u8 + self.below(2) as u8 };
                plan = self.next(&before, to);
                self.rewrite(evidence, &mut plan);
                if is_forked && leg > 1 {
                    // Not the one that was answered.
                    plan.callee = self.number();
                    plan.end = plan.answer.unwrap_or(plan.end);
                    plan.answer = None;
                }
            } else if is_forked {
                parent = plan.clone();
            }
            let mut links = shared.clone();
            if constant {
                links.extend(constant_links(plan.from));
            } else {
                links.extend(self.own_links(plan.from));
            }
            calls.push(self.call(&plan, links));
        }
        calls
    }

    /// What boxes do to numbers.
    fn rewrite(&mut self, evidence: Evidence, plan: &mut Plan) {
        let both = match evidence {
            Evidence::SessionId => self.below(4) == 0,
            Evidence::Nothing => true,
            _ => false,
        };
        if both {
            (plan.caller, plan.callee) = (Some("+498912345678".into()), self.number());
        } else if evidence != Evidence::Hotline && self.below(4) == 0 {
            plan.caller = None;
        } else if self.below(3) == 0 {
            plan.callee = plan.callee.replace("+49", "0049");
        }
    }

    /// A call through a box, and the one to which its callee transfers it.
    fn transfer(&mut self, evidence: Evidence, at: Nanos) -> Vec<Call> {
        let mut plan = self.first(at);
        let answer = at + Nanos::from_secs(3);
        let sent = answer + Nanos::from_secs(5 + self.below(20));
        (plan.answer, plan.end) = (Some(answer), sent + Nanos::from_millis(800));
        let target = self.number();
        let start = sent + Nanos::from_millis(20 + self.below(300));
        let new = Plan {
            from: plan.to,
            to: 12 + self.below(3) as u8,
            caller: Some(plan.callee.clone()),
            callee: target.clone(),
            start,
            answer: Some(start + Nanos::from_secs(2)),
            end: start + Nanos::from_secs(40),
        };
        let mut links = self.own_links(plan.from);
        let mut new_links = self.own_links(new.from);
        if evidence == Evidence::Refer {
            links.push(format!("refer_to={target}@192.0.2.9;at={};by=caller", sent.micros()));
            let calls = [self.call(&plan, links), self.call(&new, new_links)];
            return calls.into();
        }
        let first = self.call(&plan, links);
        new_links.push(format!("replaces={}", first.call_id));
        vec![first, self.call(&new, new_links)]
    }

    /// The callee behind a box sends the caller on: the caller's own leg stays as it is.
    fn transfer_through(&mut self, at: Nanos) -> Vec<Call> {
        let mut into = self.first(at);
        let answer = into.start + Nanos::from_millis(500 + self.below(9_000));
        let sent = answer + Nanos::from_secs(2 + self.below(20));
        (into.answer, into.end) = (Some(answer), sent + Nanos::from_millis(5_000 + self.below(60_000)));
        let to = 12 + self.below(2) as u8;
        let first = self.next(&into, to);
        let asked = Plan { end: sent + Nanos::from_millis(self.below(300)), ..first };
        let target = self.number();
        let start = sent + Nanos::from_millis(5 + self.below(100));
        let new = Plan {
            to: 14 + self.below(2) as u8,
            callee: target.clone(),
            start,
            answer: Some(start + Nanos::from_secs(1)),
            end: into.end + Nanos::from_millis(self.below(40)),
            ..asked.clone()
        };
        let mut links = self.own_links(asked.from);
        links.push(format!("refer_to={target}@192.0.2.{};at={};by=callee", asked.from, sent.micros()));
        let (into_links, new_links) = (self.own_links(into.from), self.own_links(new.from));
        vec![self.call(&into, into_links), self.call(&asked, links), self.call(&new, new_links)]
    }

    fn redirect(&mut self, at: Nanos) -> Vec<Call> {
        let mut plan = self.first(at);
        (plan.answer, plan.end) = (None, at + Nanos::from_millis(30 + self.below(50)));
        let target = self.number();
        let links = vec![format!("redirect_to={target}@192.0.2.9")];
        let mut first = self.call(&plan, links);
        first.state = CallState::Redirected;
        let start = plan.end + Nanos::from_millis(1 + self.below(100));
        let new = Plan {
            callee: target,
            start,
            answer: Some(start + Nanos::from_secs(2)),
            end: start + Nanos::from_secs(30),
            ..plan
        };
        let new_links = self.own_links(new.from);
        vec![first, self.call(&new, new_links)]
    }
}

/// What a box writes into every call.
fn constant_links(host: u8) -> Vec<String> {
    vec![
        format!("session=47755a9de7794ba387653f2099600e{host:02x}"),
        format!("icid=PrimaryBox{host}"),
        format!("origin=box 1234567 192.0.2.{host}"),
        format!("media=192.0.2.{host}:20000"),
    ]
}
