//! Memory for records: that of records which a sink has given back, so that a call which ends allocates
//! nothing.

use std::cell::{Cell, RefCell};
use std::fmt::{self, Write};
use std::mem::take;

use ringtap_model::{Call, Dtmf, Id, Interval, Note, RtcpReport, Stream};

use crate::table::lists::Lists;

/// Texts of one size that stay.
const MOST_TEXTS: usize = 256;
/// Texts stay by the room they have: for 16 bytes, 32, 64, 128, 256.
const SIZES: usize = 5;
const SMALLEST: usize = 16;
const LARGEST: usize = SMALLEST << (SIZES - 1);

/// Emptied lists and texts of all that a record is made of. Without a sink that gives any back, memory comes
/// from the allocator, and is as large as it has to be.
#[derive(Default)]
pub(crate) struct Spare {
    /// A sink gives records back: texts are made with room for others.
    is_used: Cell<bool>,
    texts: [RefCell<Vec<String>>; SIZES],
    pub(crate) ids: Lists<Id>,
    pub(crate) words: Lists<String>,
    pub(crate) digits: Lists<Dtmf>,
    pub(crate) intervals: Lists<Interval>,
    pub(crate) reports: Lists<RtcpReport>,
    pub(crate) notes: Lists<Note>,
}

impl Spare {
    pub(crate) fn text(&self, text: &str) -> String {
        let mut own = self.empty_text(text.len());
        own.push_str(text);
        own
    }

    /// As [`std::fmt::format`], with room for a sentence.
    pub(crate) fn written(&self, text: fmt::Arguments<'_>) -> String {
        if !self.is_used.get() {
            return fmt::format(text);
        }
        let mut own = self.empty_text(LARGEST);
        // A string takes whatever is written.
        let _ = own.write_fmt(text);
        own
    }

    pub(crate) fn empty_text(&self, length: usize) -> String {
        if length == 0 || length > LARGEST || !self.is_used.get() {
            return String::with_capacity(length);
        }
        // As many bits as the number of whole smallest ones that it is longer than.
        let size = (usize::BITS - ((length - 1) / SMALLEST).leading_zeros()) as usize;
        let found = self.texts.get(size).and_then(|texts| texts.borrow_mut().pop());
        found.unwrap_or_else(|| String::with_capacity(SMALLEST << size))
    }

    pub(crate) fn give_text(&self, mut text: String) {
        let Some(size) = (text.capacity() / SMALLEST).checked_ilog2() else { return };
        let Some(texts) = self.texts.get(size as usize) else { return };
        let mut texts = texts.borrow_mut();
        if texts.capacity() == 0 {
            // All at once, so that it never grows while a call ends.
            texts.reserve_exact(MOST_TEXTS);
        }
        if texts.len() < MOST_TEXTS {
            text.clear();
            texts.push(text);
        }
    }

    fn give_texts(&self, mut texts: Vec<String>) {
        texts.drain(..).for_each(|text| self.give_text(text));
        self.words.give(texts);
    }

    fn give_notes(&self, mut notes: Vec<Note>) {
        notes.drain(..).for_each(|note| self.give_text(note.evidence));
        self.notes.give(notes);
    }

    /// Takes the memory of a call's record out of it.
    pub(crate) fn reuse(&self, call: &mut Call) {
        self.is_used.set(true);
        let texts = [
            &mut call.from_user,
            &mut call.from_host,
            &mut call.from_display,
            &mut call.to_user,
            &mut call.to_host,
            &mut call.ruri_user,
            &mut call.ruri_host,
            &mut call.asserted_identity,
            &mut call.trunk_from,
            &mut call.trunk_to,
            &mut call.origination_id,
            &mut call.final_reason,
            &mut call.user_agent_caller,
            &mut call.user_agent_callee,
        ];
        texts.into_iter().filter_map(Option::take).for_each(|text| self.give_text(text));
        self.give_text(take(&mut call.call_id));
        self.give_texts(take(&mut call.diverted_to));
        self.give_texts(take(&mut call.links));
        self.ids.give(take(&mut call.streams));
        let mut digits = take(&mut call.dtmf);
        digits.drain(..).for_each(|digit| self.give_text(digit.digit));
        self.digits.give(digits);
        self.give_notes(take(&mut call.notes));
    }

    /// Takes the memory of a stream's record out of it.
    pub(crate) fn reuse_stream(&self, stream: &mut Stream) {
        let texts = [
            &mut stream.call_id,
            &mut stream.codec,
            &mut stream.rtcp_cname,
            &mut stream.lost_at_evidence,
            &mut stream.mos_basis,
            &mut stream.mos_cq_basis,
        ];
        texts.into_iter().filter_map(Option::take).for_each(|text| self.give_text(text));
        self.give_texts(take(&mut stream.rtcp_counts));
        self.reports.give(take(&mut stream.reports));
        self.intervals.give(take(&mut stream.intervals));
        self.give_notes(take(&mut stream.notes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_the_room_of_one_that_came_back() {
        let spare = Spare::default();
        assert_eq!(spare.text("13 characters").capacity(), 13);
        spare.is_used.set(true);
        for (length, room) in [(1, 16), (16, 16), (17, 32), (100, 128), (256, 256), (257, 257)] {
            let text = spare.text(&"x".repeat(length));
            assert_eq!((text.len(), text.capacity()), (length, room));
            let at = text.as_ptr();
            spare.give_text(text);
            let again = spare.text(&"y".repeat(length));
            assert_eq!(again.as_ptr() == at, length <= 256, "{length}");
            assert_eq!(again, "y".repeat(length));
        }
        let sentence = spare.written(format_args!("{} of {}", 1, 2));
        assert_eq!(sentence, "1 of 2");
        assert!(sentence.capacity() >= LARGEST);
    }
}
