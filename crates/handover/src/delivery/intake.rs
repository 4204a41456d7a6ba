//! Where product comes in: numbered, encoded and counted, until the driver writes it to the buffer.

use std::collections::HashMap;

use super::batch::{Batch, Entry};
use super::losses::{LossCause, Losses};
use crate::{Cin, Content, EncodeError, Encoder, Iri, Liid, Notification, Number};

/// What a caller delivers.
#[derive(Clone, Copy, Debug)]
pub enum Product<'a> {
    /// An event, over HI2.
    Iri(&'a Iri),
    /// A packet, over HI3.
    Content(&'a Content<'a>),
    /// A notification, over HI2.
    Notification(&'a Notification),
}

/// What became of product that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// It is the next of its CIN, and will be in the buffer once
    /// [`Delivery::is_kept`](crate::Delivery::is_kept) says so.
    Accepted(Receipt),
    /// It is lost; its number is used up.
    Lost(LossCause),
    /// The mediation function does not take this handover interface.
    NotTaken,
}

/// By which to ask whether product is in the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt {
    pub(crate) link: usize,
    pub(crate) batch: u64,
}

/// The warrants of one link, and their product that is not written yet.
#[derive(Debug)]
pub(crate) struct Intake {
    open: Batch,
    /// How many batches were taken: the open one is known by it.
    taken: u64,
    warrants: Vec<Option<Warrant>>,
    by_liid: HashMap<Liid, usize>,
    /// Warrants that were found in the buffer and are not open, and such as were closed while product waits.
    closed: HashMap<Liid, Closed>,
    /// Most octets of the open batch.
    most_open: usize,
    /// CINs whose counter was dropped because a warrant had too many.
    pub(crate) forgotten: u64,
}

#[derive(Debug)]
struct Warrant {
    encoder: Encoder,
    counters: Counters,
    /// Octets that are not confirmed.
    waiting: u64,
    /// Most of them.
    most: u64,
    lost: Losses,
    /// Losses that an alarm told.
    told: Losses,
}

#[derive(Debug, Default)]
struct Closed {
    counters: Counters,
    waiting: u64,
    lost: Losses,
}

/// The next sequence number of each CIN.
#[derive(Debug, Default)]
struct Counters {
    next: HashMap<Cin, Counter>,
    uses: u64,
}

#[derive(Clone, Copy, Debug)]
struct Counter {
    next: u32,
    last_use: u64,
}

impl Counters {
    /// The number of the next PDU, and whether another CIN was forgotten for it.
    fn take(&mut self, cin: Cin) -> (u32, u64) {
        self.uses += 1;
        let mut forgotten = 0;
        if self.next.len() >= MOST_CINS && !self.next.contains_key(&cin) {
            let mut uses: Vec<u64> = self.next.values().map(|counter| counter.last_use).collect();
            let (_, middle, _) = uses.select_nth_unstable(MOST_CINS / 8);
            let middle = *middle;
            self.next.retain(|_, counter| counter.last_use >= middle);
            forgotten = (MOST_CINS - self.next.len()) as u64;
        }
        let counter = self.next.entry(cin).or_insert(Counter { next: 0, last_use: 0 });
        let number = counter.next;
        *counter = Counter { next: number.wrapping_add(1), last_use: self.uses };
        (number, forgotten)
    }

    fn set(&mut self, cin: Cin, next: u32) {
        self.next.insert(cin, Counter { next, last_use: 0 });
    }
}

impl Intake {
    /// Of a link whose open batch may have so many octets.
    pub(crate) fn new(most_open: usize) -> Self {
        Self {
            open: Batch::default(),
            taken: 0,
            warrants: Vec::new(),
            by_liid: HashMap::new(),
            closed: HashMap::new(),
            most_open,
            forgotten: 0,
        }
    }

    /// What was found in the buffer.
    pub(crate) fn recovered(&mut self, counters: HashMap<(Liid, Cin), u32>, waiting: HashMap<Liid, u64>) {
        for ((liid, cin), next) in counters {
            self.closed.entry(liid).or_default().counters.set(cin, next);
        }
        for (liid, bytes) in waiting {
            self.closed.entry(liid).or_default().waiting = bytes;
        }
    }

    /// Opens a warrant; None where one of the same name is open, or too many are.
    pub(crate) fn open(&mut self, encoder: Encoder, most: u64) -> Option<usize> {
        let liid = encoder.identifiers().liid;
        if self.by_liid.contains_key(&liid) {
            return None;
        }
        let slot = match self.warrants.iter().position(Option::is_none) {
            Some(slot) => slot,
            None if self.warrants.len() < MOST_WARRANTS => {
                self.warrants.push(None);
                self.warrants.len() - 1
            }
            None => return None,
        };
        let Closed { counters, waiting, lost } = self.closed.remove(&liid).unwrap_or_default();
        self.warrants[slot] = Some(Warrant { encoder, counters, waiting, most, lost, told: lost });
        self.by_liid.insert(liid, slot);
        Some(slot)
    }

    /// Closes a warrant: what waits is still sent, and a warrant of the same name goes on with its numbers.
    pub(crate) fn close(&mut self, slot: usize) {
        let Some(Warrant { encoder, counters, waiting, lost, .. }) =
            self.warrants.get_mut(slot).and_then(Option::take)
        else {
            return;
        };
        let liid = encoder.identifiers().liid;
        self.by_liid.remove(&liid);
        self.closed.insert(liid, Closed { counters, waiting, lost });
    }

    /// The communication is over: its counter is no longer needed.
    pub(crate) fn finish(&mut self, slot: usize, cin: Cin) {
        if let Some(Some(warrant)) = self.warrants.get_mut(slot) {
            warrant.counters.next.remove(&cin);
        }
    }

    /// Whether an alarm of this warrant would be accepted: one that is not must not count as a loss of
    /// its own.
    pub(crate) fn takes_alarm(&self, slot: usize) -> bool {
        let has_room = |warrant: &Warrant| warrant.waiting < warrant.most.saturating_add(ALARM_ROOM);
        self.open.pdus.len() < self.most_open
            && self.warrants.get(slot).and_then(Option::as_ref).is_some_and(has_room)
    }

    /// Numbers and encodes product. Returns the batch that it is in, and whether it is the first in it.
    // HOT: once a packet.
    pub(crate) fn send(
        &mut self,
        slot: usize,
        cin: Cin,
        product: Product<'_>,
    ) -> Result<(u64, bool), LossCause> {
        let Some(Some(warrant)) = self.warrants.get_mut(slot) else { return Err(LossCause::TooLong) };
        let (sequence, forgotten) = warrant.counters.take(cin);
        self.forgotten += forgotten;
        let reserve = match product {
            // So that the alarm that says of a full buffer has room in it.
            Product::Notification(_) => ALARM_ROOM,
            Product::Iri(_) | Product::Content(_) => 0,
        };
        let before = self.open.pdus.len();
        let lost = if before >= self.most_open {
            Some(LossCause::Overrun)
        } else if warrant.waiting >= warrant.most.saturating_add(reserve) {
            Some(LossCause::Full)
        } else {
            let number = Number { cin, sequence };
            let result = match product {
                Product::Content(content) => warrant.encoder.content(number, content, &mut self.open.pdus),
                Product::Iri(iri) => warrant.encoder.iri(number, iri, &mut self.open.pdus),
                Product::Notification(told) => {
                    warrant.encoder.notification(number, told, &mut self.open.pdus)
                }
            };
            result.err().map(|_: EncodeError| LossCause::TooLong)
        };
        if let Some(cause) = lost {
            warrant.lost.add(cause, 1);
            return Err(cause);
        }
        let length = (self.open.pdus.len() - before) as u32;
        let liid = warrant.encoder.identifiers().liid;
        warrant.waiting += u64::from(length);
        self.open.entries.push(Entry { liid, cin, sequence, length });
        Ok((self.taken, before == 0))
    }

    /// The open batch and by what it is known; None where nothing came.
    pub(crate) fn take(&mut self) -> Option<(u64, Batch)> {
        if self.open.entries.is_empty() {
            return None;
        }
        let batch = self.taken;
        self.taken += 1;
        Some((batch, std::mem::take(&mut self.open)))
    }

    /// Product was lost behind the intake.
    pub(crate) fn lost(&mut self, batch: &Batch, cause: LossCause) {
        for (liid, bytes, pdus) in batch.by_warrant() {
            if let Some((waiting, lost)) = self.account(liid) {
                *waiting = waiting.saturating_sub(bytes);
                lost.add(cause, pdus);
            }
        }
    }

    /// Product arrived.
    pub(crate) fn arrived(&mut self, batch: &Batch) {
        for (liid, bytes, _) in batch.by_warrant() {
            if let Some((waiting, _)) = self.account(liid) {
                *waiting = waiting.saturating_sub(bytes);
            }
        }
    }

    fn account(&mut self, liid: Liid) -> Option<(&mut u64, &mut Losses)> {
        match self.by_liid.get(&liid) {
            Some(slot) => {
                self.warrants[*slot].as_mut().map(|warrant| (&mut warrant.waiting, &mut warrant.lost))
            }
            None => self.closed.get_mut(&liid).map(|closed| (&mut closed.waiting, &mut closed.lost)),
        }
    }

    /// The next number of every CIN as it was before `batch`, which is being written: what a file begins
    /// with has to be true of what stands in the files before it.
    pub(crate) fn counters_before(&self, batch: &Batch) -> Batch {
        let mut first: HashMap<(Liid, Cin), u32> = HashMap::new();
        for entry in batch.entries.iter().chain(&self.open.entries) {
            first.entry((entry.liid, entry.cin)).or_insert(entry.sequence);
        }
        let open = self
            .warrants
            .iter()
            .flatten()
            .map(|warrant| (warrant.encoder.identifiers().liid, &warrant.counters));
        let closed = self.closed.iter().map(|(liid, closed)| (*liid, &closed.counters));
        let counters = open.chain(closed).flat_map(|(liid, counters)| {
            counters.next.iter().map(move |(cin, counter)| (liid, *cin, counter.next))
        });
        let before = counters.map(|(liid, cin, next)| (liid, cin, *first.get(&(liid, cin)).unwrap_or(&next)));
        super::buffer::counters_batch(before)
    }

    /// What each warrant lost, and how much of it waits.
    pub(crate) fn accounts(&self) -> Vec<(Liid, Losses, u64)> {
        let open = self.warrants.iter().flatten();
        let open = open.map(|warrant| (warrant.encoder.identifiers().liid, warrant.lost, warrant.waiting));
        let closed = self.closed.iter().map(|(liid, closed)| (*liid, closed.lost, closed.waiting));
        open.chain(closed).collect()
    }

    /// Losses of open warrants that no alarm told yet, by their name.
    pub(crate) fn untold(&self) -> Vec<(Liid, Losses)> {
        let open = self.warrants.iter().flatten().filter(|warrant| warrant.lost != warrant.told);
        open.map(|warrant| (warrant.encoder.identifiers().liid, warrant.lost.since(&warrant.told))).collect()
    }

    /// An alarm told of these losses.
    pub(crate) fn told(&mut self, liid: Liid, losses: &Losses) {
        if let Some(warrant) = self.by_liid.get(&liid).and_then(|slot| self.warrants[*slot].as_mut()) {
            for (cause, count) in [
                (LossCause::Full, losses.full),
                (LossCause::Overrun, losses.overrun),
                (LossCause::Disk, losses.disk),
                (LossCause::TooLong, losses.too_long),
            ] {
                warrant.told.add(cause, count);
            }
        }
    }

    /// The slot of a warrant that is open.
    pub(crate) fn slot(&self, liid: Liid) -> Option<usize> {
        self.by_liid.get(&liid).copied()
    }
}

/// CINs of one warrant whose numbers are known; of more, those that were used least recently are forgotten.
const MOST_CINS: usize = 65_536;
/// Warrants that are open.
const MOST_WARRANTS: usize = 16_384;
/// Octets of notifications beyond what a warrant may have in the buffer.
const ALARM_ROOM: u64 = 64 << 10;
