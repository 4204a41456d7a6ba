//! What rules look at one by one: a number for each trunk, caller, ..., and the calls that show what happens.

use std::collections::HashMap;
use std::collections::VecDeque;
use std::sync::Arc;

use ringtap_model::Nanos;

use crate::rule::Per;

/// Number of a subject among those of its [`Per`]. Used again when the subject is gone.
pub(crate) type SubjectId = u32;

/// No subject.
pub(crate) const NOBODY: SubjectId = SubjectId::MAX;

/// Which calls show what a figure says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Evidence {
    Begun,
    Failed,
    Poor,
    Ended,
    Short,
    Missed,
    Premium,
    Abroad,
    NewCountry,
}

const KINDS: usize = Evidence::NewCountry as usize + 1;

/// Calls of one kind, the newest first.
type Recent = VecDeque<(Nanos, Arc<str>)>;

#[derive(Debug)]
struct Subject {
    name: Arc<str>,
    /// Calls in progress and groups of figures that refer to it.
    holders: u32,
    recent: [Recent; KINDS],
}

/// The subjects of one [`Per`].
#[derive(Debug, Default)]
struct Table {
    ids: HashMap<Arc<str>, SubjectId>,
    subjects: Vec<Option<Subject>>,
    free: Vec<SubjectId>,
    /// Kinds of calls that a rule wants to see.
    wanted: [bool; KINDS],
}

/// The subjects of all.
#[derive(Debug)]
pub(crate) struct Subjects {
    tables: [Table; Per::ALL.len()],
    most: usize,
    /// Subjects that found no room.
    pub(crate) refused: u64,
}

impl Subjects {
    pub(crate) fn new(most: usize) -> Self {
        Self { tables: Default::default(), most, refused: 0 }
    }

    /// Says that calls of this kind are shown by an alarm.
    pub(crate) fn want(&mut self, per: Per, kind: Evidence) {
        self.tables[per as usize].wanted[kind as usize] = true;
    }

    /// The subject of that name, held until [`release`](Self::release); [`NOBODY`] where there is no room.
    pub(crate) fn hold(&mut self, per: Per, name: &str) -> SubjectId {
        let table = &mut self.tables[per as usize];
        if let Some(id) = table.ids.get(name) {
            if let Some(Some(subject)) = table.subjects.get_mut(*id as usize) {
                subject.holders = subject.holders.saturating_add(1);
            }
            return *id;
        }
        if table.ids.len() >= self.most {
            self.refused += 1;
            return NOBODY;
        }
        let name: Arc<str> = name.into();
        let subject = Some(Subject { name: Arc::clone(&name), holders: 1, recent: Default::default() });
        let id = match table.free.pop() {
            Some(id) => {
                table.subjects[id as usize] = subject;
                id
            }
            None => {
                table.subjects.push(subject);
                table.subjects.len() as SubjectId - 1
            }
        };
        table.ids.insert(name, id);
        id
    }

    pub(crate) fn hold_again(&mut self, per: Per, id: SubjectId) {
        if let Some(Some(subject)) = self.tables[per as usize].subjects.get_mut(id as usize) {
            subject.holders = subject.holders.saturating_add(1);
        }
    }

    /// Gives back what was held. True where nobody holds it any more: its number is then used again.
    pub(crate) fn release(&mut self, per: Per, id: SubjectId) -> bool {
        let table = &mut self.tables[per as usize];
        let Some(place) = table.subjects.get_mut(id as usize) else { return false };
        let Some(subject) = place else { return false };
        subject.holders = subject.holders.saturating_sub(1);
        if subject.holders > 0 {
            return false;
        }
        table.ids.remove(&subject.name);
        *place = None;
        table.free.push(id);
        true
    }

    pub(crate) fn name(&self, per: Per, id: SubjectId) -> Arc<str> {
        let subject = self.tables[per as usize].subjects.get(id as usize);
        subject.and_then(Option::as_ref).map_or_else(|| "".into(), |subject| Arc::clone(&subject.name))
    }

    /// Remembers a call that shows something.
    pub(crate) fn show(&mut self, per: Per, id: SubjectId, kind: Evidence, time: Nanos, call: &Arc<str>) {
        let table = &mut self.tables[per as usize];
        if !table.wanted[kind as usize] {
            return;
        }
        let Some(Some(subject)) = table.subjects.get_mut(id as usize) else { return };
        let recent = &mut subject.recent[kind as usize];
        match recent.iter().position(|(_, other)| Arc::ptr_eq(other, call)) {
            Some(0) => recent[0].0 = time,
            Some(place) => {
                recent.remove(place);
                recent.push_front((time, Arc::clone(call)));
            }
            None => {
                recent.truncate(SHOWN - 1);
                recent.push_front((time, Arc::clone(call)));
            }
        }
    }

    /// The calls that showed it since then, the newest first.
    pub(crate) fn shown(&self, per: Per, id: SubjectId, kind: Evidence, since: Nanos) -> Vec<String> {
        let subject = self.tables[per as usize].subjects.get(id as usize).and_then(Option::as_ref);
        let recent = subject.into_iter().flat_map(|subject| &subject.recent[kind as usize]);
        recent.filter(|(time, _)| *time >= since).map(|(_, call)| call.to_string()).collect()
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.tables.iter().map(|table| table.ids.len()).sum()
    }
}

/// Calls that an alarm shows.
pub(crate) const SHOWN: usize = 10;
