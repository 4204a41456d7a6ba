//! The links of a call: what may join it to other legs of its conversation, as `kind=value`.

use ringtap_model::Endpoint;

use crate::address_text::AddressText;
use crate::spare::Spare;
use crate::update::Side;

/// See the module.
#[derive(Clone, Default)]
pub(super) struct Links {
    texts: Vec<String>,
    /// Where each side wants its first medium, by its first description.
    media: [Option<Endpoint>; 2],
}

impl Links {
    /// Those of a record of the last run.
    pub(super) fn of_record(links: &[String]) -> Self {
        let fits = |link: &&String| link.len() <= 2 * LONGEST;
        Self { texts: links.iter().filter(fits).take(MAX_TEXTS + 2).cloned().collect(), media: [None; 2] }
    }

    pub(super) fn set_media(&mut self, side: Side, end: Option<Endpoint>) {
        self.media[side as usize] = end;
    }

    /// Adds a link; whether it is new. A longer one than fits is left out: its beginning alone may be that of
    /// others.
    pub(super) fn add(&mut self, kind: &str, parts: &[&[u8]]) -> bool {
        self.add_in(kind, parts, None)
    }

    /// The same in memory that is there already.
    pub(super) fn add_in(&mut self, kind: &str, parts: &[&[u8]], spare: Option<&Spare>) -> bool {
        let length = kind.len() + 1 + parts.iter().map(|part| part.len()).sum::<usize>();
        if length > LONGEST || self.texts.len() >= MAX_TEXTS || parts.iter().any(|part| part.is_empty()) {
            return false;
        }
        let text = spare.map_or_else(|| String::with_capacity(length), |spare| spare.empty_text(length));
        let mut link = text.into_bytes();
        link.extend_from_slice(kind.as_bytes());
        link.push(b'=');
        parts.iter().for_each(|part| link.extend_from_slice(part));
        // As all text of records, bytes that are not UTF-8 are Latin-1.
        let link = String::from_utf8(link)
            .unwrap_or_else(|error| error.as_bytes().iter().map(|byte| char::from(*byte)).collect());
        let is_new = !self.texts.contains(&link);
        if is_new {
            if self.texts.capacity() == 0
                && let Some(spare) = spare
            {
                self.texts = spare.words.take(USUAL);
            }
            self.texts.push(link);
        }
        is_new
    }

    /// As the record has them.
    pub(super) fn into_texts(self, spare: &Spare) -> Vec<String> {
        let mut texts = self.texts;
        if self.media.iter().any(Option::is_some) && texts.capacity() - texts.len() < self.media.len() {
            let mut more = spare.words.take(texts.len() + self.media.len());
            more.append(&mut texts);
            spare.words.give(std::mem::replace(&mut texts, more));
        }
        for end in self.media.into_iter().flatten() {
            let end = AddressText::endpoint(end);
            let mut link = spare.empty_text(MEDIA.len() + end.as_bytes().len());
            link.push_str(MEDIA);
            link.push_str(std::str::from_utf8(end.as_bytes()).unwrap_or_default());
            if texts.contains(&link) {
                spare.give_text(link);
            } else {
                texts.push(link);
            }
        }
        texts
    }

    /// What each holds on the heap, with the room that the list has for it.
    pub(super) fn sizes(&self) -> impl Iterator<Item = usize> {
        self.texts.iter().map(|text| 2 * size_of::<String>() + text.capacity())
    }
}

/// Links of most calls: what each side's description tells.
const USUAL: usize = 4;
const MEDIA: &str = "media=";
/// Links that messages tell, beside the two media addresses.
const MAX_TEXTS: usize = 14;
/// Bytes of a link.
pub(super) const LONGEST: usize = 128;
