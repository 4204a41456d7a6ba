//! Conversations of more than one leg.

use ringtap_model::{Id, Join, JoinReason, Nanos};

/// Legs that belong together, and why.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    /// The id of the leg whose record came first.
    pub(crate) conversation: Id,
    pub(crate) members: Vec<Member>,
    pub(crate) edges: Vec<Edge>,
    /// Members that are still remembered.
    pub(crate) remembered: u32,
}

/// A leg of a conversation: remembered as long as any of them is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    pub(crate) id: Id,
    pub(crate) order: u64,
    pub(crate) start: Nanos,
}

/// What joins two legs.
#[derive(Clone, Debug)]
pub(crate) struct Edge {
    /// The leg whose record came later and names the other.
    pub(crate) later: Id,
    pub(crate) join: Join,
    /// The index entry that it comes from.
    pub(crate) key: u64,
}

impl Edge {
    pub(crate) fn is_between(&self, one: Id, other: Id) -> bool {
        [(one, other), (other, one)].contains(&(self.later, self.join.call))
    }

    pub(crate) fn reason(&self) -> JoinReason {
        self.join.reason
    }
}

impl Group {
    pub(crate) fn of_one(member: Member) -> Self {
        Self { conversation: member.id, members: vec![member], edges: Vec::new(), remembered: 1 }
    }

    /// Its place in the order of records.
    pub(crate) fn order(&self) -> u64 {
        self.members.iter().map(|member| member.order).min().unwrap_or(u64::MAX)
    }

    /// The joins that the record of a leg names: to each leg the strongest.
    pub(crate) fn joins_of(&self, id: Id) -> Vec<Join> {
        let mut joins: Vec<Join> = Vec::new();
        for Edge { join, .. } in self.edges.iter().filter(|edge| edge.later == id) {
            if joins.iter().all(|known| known.call != join.call) {
                joins.push(join.clone());
            }
        }
        joins
    }

    /// The parts into which it falls without the edges that are gone, that with the first leg first.
    pub(crate) fn parts(mut self) -> Vec<Self> {
        self.members.sort_by_key(|member| member.order);
        let mut parts = Vec::new();
        while let Some(first) = self.members.first().copied() {
            let mut ids = vec![first.id];
            let mut next = 0;
            while let Some(id) = ids.get(next).copied() {
                next += 1;
                let beside = self.edges.iter().filter_map(|edge| match id {
                    id if id == edge.later => Some(edge.join.call),
                    id if id == edge.join.call => Some(edge.later),
                    _ => None,
                });
                let new: Vec<Id> = beside.filter(|other| !ids.contains(other)).collect();
                ids.extend(new);
            }
            let is_in = |id: &Id| ids.contains(id);
            let (members, rest) = self.members.iter().partition(|member| is_in(&member.id));
            let (edges, other_edges) = self.edges.into_iter().partition(|edge| is_in(&edge.later));
            self.members = rest;
            self.edges = other_edges;
            // The part that has the first leg goes on under the conversation's id, even where that leg was
            // forgotten and the id is not that of a member.
            let conversation = if parts.is_empty() { self.conversation } else { first.id };
            parts.push(Self { conversation, members, edges, remembered: 0 });
        }
        parts
    }
}
