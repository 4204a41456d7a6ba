//! The Identity header of a call: kept as it is, since its check takes far longer than a packet may.

use std::sync::Arc;

use ringtap_model::IdentityHeader;
use ringtap_wire::sip::{Header, Message};

use super::CallEntry;
use crate::text::text;

/// Longest header that is kept, in bytes: those of SHAKEN have some 700.
const LONGEST: usize = 4096;

impl CallEntry {
    /// That of the first INVITE that has one: a proxy on the way may have added it.
    pub(super) fn add_identity(&mut self, message: &Message<'_>) {
        if message.header(Header::Identity).is_none() || self.parties.identity.is_some() {
            return;
        }
        let Some(value) = message.identity() else { return };
        let kept = (value.len() <= LONGEST).then(|| String::from_utf8_lossy(value).into());
        let date = message.header(Header::Date).and_then(text);
        self.has_grown = true;
        self.parties.identity = Some(Arc::new(IdentityHeader { value: kept, date }));
    }

    /// What it holds on the heap, in bytes.
    pub(super) fn identity_bytes(&self) -> usize {
        let length = |text: &Option<Box<str>>| text.as_ref().map_or(0, |text| text.len());
        let header = self.parties.identity.as_ref();
        header.map_or(0, |header| size_of::<IdentityHeader>() + length(&header.value) + length(&header.date))
    }
}
