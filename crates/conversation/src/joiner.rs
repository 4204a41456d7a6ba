//! See [`Joiner`].

use std::collections::{HashMap, VecDeque};

use ringtap_model::{Amendment, Call, Id, JoinReason, Nanos};

use crate::groups::{Edge, Group, Member};
use crate::index::Index;
use crate::leg::Leg;
use crate::matches::{Key, Matches, Memory};
use crate::settings::Settings;

/// What a joiner has done since it was made, and what it remembers now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Calls that were joined to an earlier one, by the strongest reason, in the order of
    /// [`JoinReason::ALL`].
    pub joined: [u64; JoinReason::ALL.len()],
    /// Calls whose conversation became another one after their record was made.
    pub amended: u64,
    /// Identifiers that lost their weight: unrelated calls had them.
    pub repeated: u64,
    /// Calls that were forgotten before their time because there were more than are remembered.
    pub forgotten_early: u64,
    /// Calls that were not joined because their conversation has as many legs as one may have.
    pub refused: u64,
    /// Calls that are remembered now.
    pub remembered: u64,
}

/// Says which conversation each call is a leg of.
///
/// Call [`add`](Self::add) once for each record of a call, in the order in which they are made. It has no
/// clock: calls are forgotten as later ones end.
pub struct Joiner {
    settings: Settings,
    legs: Vec<Option<Leg>>,
    free: Vec<u32>,
    /// Slots in the order of records, with the place in that order.
    queue: VecDeque<(u32, u64)>,
    by_id: HashMap<Id, u32>,
    index: Index,
    groups: HashMap<u32, Group>,
    next_group: u32,
    /// Groups of conversations that are known from the store.
    by_conversation: HashMap<Id, u32>,
    newest: Nanos,
    order: u64,
    counts: Counts,
}

impl std::fmt::Debug for Joiner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Joiner").field("counts", &self.counts).finish_non_exhaustive()
    }
}

impl Joiner {
    /// One that remembers nothing yet.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            legs: Vec::new(),
            free: Vec::new(),
            queue: VecDeque::new(),
            by_id: HashMap::new(),
            index: Index::default(),
            groups: HashMap::new(),
            next_group: 0,
            by_conversation: HashMap::new(),
            newest: Nanos::ZERO,
            order: 0,
            counts: Counts::default(),
        }
    }

    /// What it has done so far.
    pub fn counts(&self) -> Counts {
        Counts { remembered: self.by_id.len() as u64, ..self.counts.clone() }
    }

    /// Sets `conversation` and `joins` of a call, and returns which earlier calls are of another conversation
    /// now. A call that has a conversation already keeps it, and is remembered.
    pub fn add(&mut self, call: &mut Call) -> Vec<Amendment> {
        if let Some(slot) = self.by_id.get(&call.id) {
            self.repeat(*slot, call);
            return Vec::new();
        }
        let mut leg = Leg::new(call, self.order, &self.settings.plan);
        leg.sessions = Memory { legs: &self.legs, index: &self.index }.sessions(call);
        self.order += 1;
        self.newest = self.newest.max(leg.end);
        self.forget_old();
        if let Some(conversation) = call.conversation {
            self.remember(leg, call, conversation);
            return Vec::new();
        }
        let memory = Memory { legs: &self.legs, index: &self.index };
        let reasons = &self.settings.reasons;
        let matches = memory.find(&leg, call, reasons);
        let keys = memory.keys(&leg, call, reasons);
        let mut amendments = self.take_back(&matches);
        let slot = self.insert(leg, keys);
        self.join(slot, matches, &mut amendments);
        self.repeat(slot, call);
        amendments.retain(|amendment| amendment.call != call.id);
        self.counts.amended += amendments.len() as u64;
        amendments
    }

    /// What is known of a call that is remembered, into its record.
    fn repeat(&self, slot: u32, call: &mut Call) {
        let group = self.leg(slot).and_then(|leg| self.groups.get(&leg.group?));
        call.conversation = Some(group.map_or(call.id, |group| group.conversation));
        call.joins = group.map_or_else(Vec::new, |group| group.joins_of(call.id));
    }

    fn leg(&self, slot: u32) -> Option<&Leg> {
        self.legs.get(slot as usize)?.as_ref()
    }

    /// Remembers a call whose conversation is known: a record of before a restart.
    fn remember(&mut self, leg: Leg, call: &Call, conversation: Id) {
        let keys = Memory { legs: &self.legs, index: &self.index }.keys(&leg, call, &self.settings.reasons);
        let is_alone = conversation == leg.id && !self.by_conversation.contains_key(&conversation);
        let member = member(&leg);
        let slot = self.insert(leg, keys);
        if is_alone && call.joins.is_empty() {
            return;
        }
        let group = match self.by_conversation.get(&conversation) {
            Some(group) => *group,
            None => {
                let first = self.by_id.get(&conversation).copied().filter(|first| *first != slot);
                let group = match first {
                    Some(first) => self.group_of(first),
                    None => self.new_group(Group { conversation, ..Group::of_one(member) }, slot),
                };
                self.by_conversation.insert(conversation, group);
                group
            }
        };
        self.enter(group, slot, member);
        let edges = call.joins.iter().map(|join| Edge { later: call.id, join: join.clone(), key: 0 });
        if let Some(group) = self.groups.get_mut(&group) {
            group.edges.extend(edges);
        }
    }

    /// Makes a leg a member of a group.
    fn enter(&mut self, number: u32, slot: u32, member: Member) {
        let Some(group) = self.groups.get_mut(&number) else { return };
        if group.members.iter().all(|other| other.id != member.id) {
            group.members.push(member);
        }
        if let Some(Some(leg)) = self.legs.get_mut(slot as usize)
            && leg.group != Some(number)
        {
            leg.group = Some(number);
            group.remembered += 1;
        }
    }

    fn new_group(&mut self, group: Group, slot: u32) -> u32 {
        let number = self.next_group;
        self.next_group = self.next_group.wrapping_add(1);
        self.groups.insert(number, group);
        if let Some(Some(leg)) = self.legs.get_mut(slot as usize) {
            leg.group = Some(number);
        }
        number
    }

    /// The group of a leg, which is made where it is alone.
    fn group_of(&mut self, slot: u32) -> u32 {
        match self.leg(slot).map(|leg| (leg.group, member(leg))) {
            Some((Some(group), _)) => group,
            Some((None, member)) => self.new_group(Group::of_one(member), slot),
            // INVARIANT: slots come from the index, which names remembered legs only.
            None => u32::MAX,
        }
    }

    fn insert(&mut self, mut leg: Leg, keys: Vec<Key>) -> u32 {
        while self.by_id.len() >= self.settings.max_legs.max(1) {
            self.counts.forgotten_early += u64::from(self.forget_oldest());
        }
        let slot = self.free.pop().unwrap_or_else(|| {
            self.legs.push(None);
            (self.legs.len() - 1) as u32
        });
        let legs = &self.legs;
        let end_of = |slot: u32| Some(legs.get(slot as usize)?.as_ref()?.end);
        for Key { key, most } in keys {
            self.index.insert(key, slot, most, end_of);
            leg.keys.push(key);
        }
        self.by_id.insert(leg.id, slot);
        self.queue.push_back((slot, leg.order));
        self.legs[slot as usize] = Some(leg);
        slot
    }

    /// Forgets what ended longer ago than is remembered.
    fn forget_old(&mut self) {
        while let Some((slot, _)) = self.queue.front()
            && self.leg(*slot).is_none_or(|leg| leg.end + self.settings.window < self.newest)
        {
            self.forget_oldest();
        }
    }

    /// Whether there was one.
    fn forget_oldest(&mut self) -> bool {
        let Some((slot, _)) = self.queue.pop_front() else { return false };
        let Some(leg) = self.legs.get_mut(slot as usize).and_then(Option::take) else { return false };
        leg.keys.iter().for_each(|key| self.index.remove(*key, slot));
        self.by_id.remove(&leg.id);
        self.free.push(slot);
        if let Some(number) = leg.group
            && let Some(group) = self.groups.get_mut(&number)
        {
            group.remembered = group.remembered.saturating_sub(1);
            if group.remembered == 0 {
                self.by_conversation.remove(&group.conversation);
                self.groups.remove(&number);
            }
        }
        true
    }

    /// Joins a new leg to those that were found.
    fn join(&mut self, slot: u32, matches: Matches, amendments: &mut Vec<Amendment>) {
        let Some(id) = self.leg(slot).map(|leg| leg.id) else { return };
        let mut joins = matches.joins;
        // The strongest first: the one that is named for a leg.
        joins.sort_by(|(_, _, one), (_, _, other)| other.confidence.total_cmp(&one.confidence));
        let mut first = true;
        for (other, key, join) in joins {
            if self.leg(other).is_none() {
                continue;
            }
            let reason = join.reason;
            let (own, group) = (self.group_of(slot), self.group_of(other));
            let legs = |number| self.groups.get(number).map_or(0, |group: &Group| group.members.len());
            if own != group && legs(&own) + legs(&group) > MOST_LEGS {
                self.counts.refused += 1;
                continue;
            }
            let group = self.unite(own, group, (id, reason), amendments);
            let Some(group) = self.groups.get_mut(&group) else { continue };
            // A second identifier may turn out to be the one that holds.
            group.edges.push(Edge { later: id, join, key });
            if std::mem::take(&mut first) {
                self.counts.joined[reason as usize] += 1;
            }
        }
    }

    /// Makes one group of two: that with the earlier first leg goes on.
    fn unite(
        &mut self,
        one: u32,
        other: u32,
        (joined_by, reason): (Id, JoinReason),
        amendments: &mut Vec<Amendment>,
    ) -> u32 {
        if one == other {
            return one;
        }
        let order = |number: &u32| self.groups.get(number).map_or(u64::MAX, Group::order);
        let (stays, goes) = if order(&one) <= order(&other) { (one, other) } else { (other, one) };
        let Some(gone) = self.groups.remove(&goes) else { return stays };
        self.by_conversation.remove(&gone.conversation);
        for member in &gone.members {
            if let Some(slot) = self.by_id.get(&member.id)
                && let Some(Some(leg)) = self.legs.get_mut(*slot as usize)
            {
                leg.group = Some(stays);
            }
        }
        let Some(group) = self.groups.get_mut(&stays) else { return stays };
        amendments.extend(gone.members.iter().map(|member| Amendment {
            call: member.id,
            start: member.start,
            conversation: group.conversation,
            joined_by: Some(joined_by),
            reason,
        }));
        group.members.extend(gone.members);
        group.edges.extend(gone.edges);
        group.remembered += gone.remembered;
        stays
    }

    /// Takes back what no longer counts.
    fn take_back(&mut self, matches: &Matches) -> Vec<Amendment> {
        let mut amendments = Vec::new();
        for (key, reason) in &matches.repeated {
            let mut groups: Vec<u32> =
                self.index.slots(*key).iter().filter_map(|slot| self.leg(*slot)?.group).collect();
            groups.sort_unstable();
            groups.dedup();
            self.counts.repeated += 1;
            self.index.wear_out(*key);
            for group in groups {
                self.cut(group, *reason, |edge| edge.key == *key, &mut amendments);
            }
        }
        for (one, other, reason) in &matches.doubtful {
            let group = self.by_id.get(one).and_then(|slot| self.leg(*slot)?.group);
            if let Some(group) = group {
                let is_cut = |edge: &Edge| edge.reason() == *reason && edge.is_between(*one, *other);
                self.cut(group, *reason, is_cut, &mut amendments);
            }
        }
        amendments
    }

    /// Removes edges of a group, which may fall into parts.
    fn cut(
        &mut self,
        number: u32,
        reason: JoinReason,
        is_cut: impl Fn(&Edge) -> bool,
        amendments: &mut Vec<Amendment>,
    ) {
        let Some(group) = self.groups.get_mut(&number) else { return };
        let mut cut: Vec<Id> = Vec::new();
        group.edges.retain(|edge| {
            let goes = is_cut(edge);
            cut.extend(goes.then_some(edge.later));
            !goes
        });
        if cut.is_empty() {
            return;
        }
        let Some(group) = self.groups.remove(&number) else { return };
        let before = group.conversation;
        self.by_conversation.remove(&before);
        for mut part in group.parts() {
            let is_new = part.conversation != before;
            for member in part.members.iter().filter(|member| is_new || cut.contains(&member.id)) {
                let Member { id, start, .. } = *member;
                let conversation = part.conversation;
                amendments.push(Amendment { call: id, start, conversation, joined_by: None, reason });
            }
            let number = self.next_group;
            self.next_group = self.next_group.wrapping_add(1);
            for member in &part.members {
                if let Some(slot) = self.by_id.get(&member.id)
                    && let Some(Some(leg)) = self.legs.get_mut(*slot as usize)
                {
                    leg.group = Some(number);
                    part.remembered += 1;
                }
            }
            if part.remembered > 0 {
                self.groups.insert(number, part);
            }
        }
    }
}

fn member(leg: &Leg) -> Member {
    Member { id: leg.id, order: leg.order, start: leg.start }
}

/// Legs that a conversation may have.
const MOST_LEGS: usize = 64;
