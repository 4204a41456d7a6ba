//! What a call holds on the heap.

use ringtap_model::{Dtmf, Endpoint, QualityReport};

use super::{CallEntry, Parties};
use crate::codecs::CodecId;
use crate::media::{MAX_LEGS, replica_bytes};
use crate::memory::{ALLOCATION_BYTES, PLACE_BYTES};
use crate::update::PayloadTypes;

impl CallEntry {
    /// Media of it were announced: its replicas, one a worker, hold them.
    pub(crate) fn add_announced(&mut self, ends: &[(Endpoint, PayloadTypes)]) {
        let types = ends.iter().map(|(_, types)| types.len()).max().unwrap_or_default();
        self.announced_ends = self.announced_ends.saturating_add(ends.len() as u16).min(MAX_LEGS as u16);
        self.announced_types = self.announced_types.max(types as u16);
        self.has_grown = true;
    }

    /// What it holds on the heap, here and in its replicas in as many workers, in bytes.
    pub(crate) fn heap_bytes(&self, workers: usize) -> usize {
        let text = |text: &Option<String>| text.as_ref().map_or(0, |text| text.capacity() + ALLOCATION_BYTES);
        let parties = &self.parties;
        let texts = [
            &parties.from_user,
            &parties.from_host,
            &parties.from_display,
            &parties.to_user,
            &parties.to_host,
            &parties.ruri_user,
            &parties.ruri_host,
            &parties.asserted,
            &parties.agents[0],
            &parties.agents[1],
            &parties.final_reason,
        ];
        let diverted = parties.diverted.iter();
        let diverted: usize =
            diverted.map(|number| 2 * size_of::<String>() + number.len() + ALLOCATION_BYTES).sum();
        let links: usize = parties.links.sizes().map(|size| size + ALLOCATION_BYTES).sum();
        let digits = parties.digits.capacity() * (size_of::<Dtmf>() + 8);
        let text_bytes =
            |text: &Option<String>| text.as_ref().map_or(0, |text| text.len() + ALLOCATION_BYTES);
        let told = parties.reports.iter();
        let told =
            told.map(|report| text_bytes(&report.reporter) + text_bytes(&report.codec) + report.source.len());
        let reports = parties.reports.capacity() * size_of::<QualityReport>() + told.sum::<usize>();
        let types = usize::from(self.announced_types) * size_of::<(u8, CodecId)>() + 16 + ALLOCATION_BYTES;
        let replicas = workers * replica_bytes(usize::from(self.announced_ends), types);
        let seen = self.seen.heap_bytes();
        let continuation = parties.continuation.as_ref().map_or(0, |before| before.heap_bytes());
        let transfer = parties.transfer.as_ref().map_or(0, |asked| asked.heap_bytes());
        let parties = size_of::<Parties>() + 2 * ALLOCATION_BYTES;
        let entry = parties + PLACE_BYTES + self.call_id.heap_bytes() + continuation + transfer;
        let entry = entry + self.identity_bytes();
        let lists = diverted + links + digits + reports;
        entry + texts.into_iter().map(text).sum::<usize>() + lists + seen + replicas
    }
}
