//! Memory for records: that of records which a sink has given back, so that a call which ends allocates
//! nothing.

use std::cell::{Cell, RefCell};
use std::fmt::{self, Write};

use ringtap_model::{Call, Dtmf, Id, Interval, Note, RtcpReport, Stream};

use crate::table::lists::Lists;

/// Texts of one size that stay.
const MOST_TEXTS: usize = 256;
/// Texts stay by the room they have: for 16 bytes, 32, 64, 128, 256.
const SIZES: usize = 5;
const SMALLEST: usize = 16;

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

    /// As [`std::fmt::format`].
    pub(crate) fn written(&self, text: fmt::Arguments<'_>) -> String {
        let mut length = Length(0);
        // Neither of the two writers fails.
        let _ = length.write_fmt(text);
        let mut own = self.empty_text(length.0);
        let _ = own.write_fmt(text);
        own
    }

    pub(crate) fn empty_text(&self, length: usize) -> String {
        let largest = SMALLEST << (SIZES - 1);
        if length == 0 || length > largest || !self.is_used.get() {
            return String::with_capacity(length);
        }
        let room = length.next_power_of_two().max(SMALLEST);
        let size = (room / SMALLEST).ilog2() as usize;
        // The next size has more room than is needed, which is better than none.
        let mut found = self.texts[size..].iter().take(2).filter_map(|texts| texts.borrow_mut().pop());
        found.next().unwrap_or_else(|| String::with_capacity(room))
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

    /// Keeps the memory of a call's record.
    pub(crate) fn reuse(&self, call: Call) {
        self.is_used.set(true);
        let texts = [
            call.from_user,
            call.from_host,
            call.from_display,
            call.to_user,
            call.to_host,
            call.ruri_user,
            call.ruri_host,
            call.asserted_identity,
            call.trunk_from,
            call.trunk_to,
            call.origination_id,
            call.final_reason,
            call.user_agent_caller,
            call.user_agent_callee,
            Some(call.call_id),
        ];
        texts.into_iter().flatten().for_each(|text| self.give_text(text));
        self.give_texts(call.diverted_to);
        self.give_texts(call.links);
        self.ids.give(call.streams);
        let mut digits = call.dtmf;
        digits.drain(..).for_each(|digit| self.give_text(digit.digit));
        self.digits.give(digits);
        self.give_notes(call.notes);
    }

    /// Keeps the memory of a stream's record.
    pub(crate) fn reuse_stream(&self, stream: Stream) {
        let texts = [
            stream.call_id,
            stream.codec,
            stream.rtcp_cname,
            stream.lost_at_evidence,
            stream.mos_basis,
            stream.mos_cq_basis,
        ];
        texts.into_iter().flatten().for_each(|text| self.give_text(text));
        self.give_texts(stream.rtcp_counts);
        self.reports.give(stream.reports);
        self.intervals.give(stream.intervals);
        self.give_notes(stream.notes);
    }
}

/// Counts the bytes of a text.
struct Length(usize);

impl Write for Length {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 += text.len();
        Ok(())
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
            let text = spare.written(format_args!("{}", "x".repeat(length)));
            assert_eq!((text.len(), text.capacity()), (length, room));
            let at = text.as_ptr();
            spare.give_text(text);
            let again = spare.text(&"y".repeat(length));
            assert_eq!(again.as_ptr() == at, length <= 256, "{length}");
            assert_eq!(again, "y".repeat(length));
        }
    }
}
