//! The packets of one file.

use ringtap_model::Frame;

use crate::error::{Damage, DamageKind};
use crate::{Format, erf, pcap, pcapng};

/// Iterator over the frames of one [`Capture`](crate::Capture) in file order, numbered from 1.
///
/// After it has ended, [`damage`](Self::damage) says whether the file was read to its end.
#[derive(Clone, Debug)]
pub struct Frames<'a> {
    records: Records<'a>,
    /// Where the content ended because its compressed form was damaged.
    unpacked: Option<Damage>,
}

#[derive(Clone, Debug)]
enum Records<'a> {
    Pcap(pcap::Records<'a>),
    PcapNg(pcapng::Records<'a>),
    Erf(erf::Records<'a>),
}

impl<'a> Frames<'a> {
    /// `None` if the content has no complete file header.
    pub(crate) fn new(content: &'a [u8], format: Format, unpacked: Option<Damage>) -> Option<Self> {
        let records = match format {
            Format::Pcap => Records::Pcap(pcap::Records::new(content)?),
            Format::PcapNg if pcapng::has_header(content) => Records::PcapNg(pcapng::Records::new(content)),
            Format::PcapNg => return None,
            Format::Erf => Records::Erf(erf::Records::new(content)),
        };
        Some(Self { records, unpacked })
    }

    /// Where and why the file cannot be read further; `None` before that point and for an undamaged file.
    pub fn damage(&self) -> Option<Damage> {
        let damage = match &self.records {
            Records::Pcap(records) => records.damage(),
            Records::PcapNg(records) => records.damage(),
            Records::Erf(records) => records.damage(),
        };
        match (damage, self.unpacked) {
            // A truncated record is only the consequence of damaged compression.
            (None | Some(Damage { kind: DamageKind::Truncated, .. }), Some(unpacked)) => {
                (damage.is_some() || self.offset() == unpacked.offset).then_some(unpacked)
            }
            (damage, _) => damage,
        }
    }

    /// Bytes of the content consumed so far, of [`Capture::size`](crate::Capture::size).
    pub fn offset(&self) -> u64 {
        match &self.records {
            Records::Pcap(records) => records.offset(),
            Records::PcapNg(records) => records.offset(),
            Records::Erf(records) => records.offset(),
        }
    }

    /// Records numbered but skipped so far: ERF metadata, and packets that the capture card received with an
    /// error.
    pub fn skipped(&self) -> u64 {
        match &self.records {
            Records::Pcap(_) | Records::PcapNg(_) => 0,
            Records::Erf(records) => records.skipped(),
        }
    }
}

impl<'a> Iterator for Frames<'a> {
    type Item = Frame<'a>;

    #[inline]
    fn next(&mut self) -> Option<Frame<'a>> {
        match &mut self.records {
            Records::Pcap(records) => records.next(),
            Records::PcapNg(records) => records.next(),
            Records::Erf(records) => records.next(),
        }
    }
}
