//! RTCP of a stream that is only counted, by kind.

use ringtap_wire::rtcp::{Block, FeedbackKind};

use crate::spare::Spare;

/// Names of application-defined packets that are counted apart.
const MAX_NAMES: usize = 4;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MessageKind {
    /// RFC 4585.
    Feedback(FeedbackKind),
    /// RFC 3550 section 6.7, by name.
    Application([u8; 4]),
    /// A block of an extended report that nothing else shows.
    Block(BlockKind),
}

/// Blocks of extended reports (RFC 3611 section 4) that are only counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockKind {
    LossRuns,
    DuplicateRuns,
    ReceiptTimes,
    Summary,
    Other,
}

impl BlockKind {
    const ALL: [(Self, &'static str); 5] = [
        (Self::LossRuns, "xr:loss-rle"),
        (Self::DuplicateRuns, "xr:duplicate-rle"),
        (Self::ReceiptTimes, "xr:receipt-times"),
        (Self::Summary, "xr:summary"),
        (Self::Other, "xr:other"),
    ];

    /// The kind of a block, and the source that it is about; None where it is shown elsewhere, or names none.
    pub(crate) fn of(block: &Block<'_>) -> Option<(Self, u32)> {
        match block {
            Block::LossRuns(runs) => Some((Self::LossRuns, runs.ssrc)),
            Block::DuplicateRuns(runs) => Some((Self::DuplicateRuns, runs.ssrc)),
            Block::ReceiptTimes(times) => Some((Self::ReceiptTimes, times.ssrc)),
            Block::Summary(summary) => Some((Self::Summary, summary.ssrc)),
            // All types so far but those of sections 4.4 and 4.5 begin with the source.
            Block::Other { data, .. } => {
                let ssrc = data.first_chunk::<4>().map(|bytes| u32::from_be_bytes(*bytes));
                Some((Self::Other, ssrc?))
            }
            Block::ReferenceTime(_) | Block::Delays(_) | Block::Voip(_) => None,
        }
    }
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub(crate) struct MessageCounts {
    feedback: [u32; FeedbackKind::ALL.len()],
    blocks: [u32; BlockKind::ALL.len()],
    names: [([u8; 4], u32); MAX_NAMES],
    /// Application-defined packets of further names.
    other: u32,
}

impl MessageCounts {
    pub(super) fn add(&mut self, kind: MessageKind) {
        let count = match kind {
            MessageKind::Feedback(kind) => &mut self.feedback[kind as usize],
            MessageKind::Block(kind) => &mut self.blocks[kind as usize],
            MessageKind::Application(name) => {
                let is_place = |(known, count): &&mut ([u8; 4], u32)| *count == 0 || *known == name;
                match self.names.iter_mut().find(is_place) {
                    Some((known, count)) => {
                        *known = name;
                        count
                    }
                    None => &mut self.other,
                }
            }
        };
        *count = count.saturating_add(1);
    }

    /// `name=count` of each that there was.
    pub(crate) fn texts(&self, spare: &Spare) -> Vec<String> {
        let mut texts = spare.words.take_any();
        let feedback = FeedbackKind::ALL.iter().map(|kind| kind.name()).zip(self.feedback);
        let blocks = BlockKind::ALL.iter().map(|(_, name)| *name).zip(self.blocks);
        let counted = |(_, count): &(&str, _)| *count > 0;
        let known = feedback.chain(blocks).filter(counted);
        texts.extend(known.map(|(name, count)| spare.written(format_args!("{name}={count}"))));
        for (name, count) in self.names.iter().filter(|(_, count)| *count > 0) {
            let [a, b, c, d] = name.map(|byte| if byte.is_ascii_graphic() { char::from(byte) } else { '.' });
            texts.push(spare.written(format_args!("app:{a}{b}{c}{d}={count}")));
        }
        if self.other > 0 {
            texts.push(spare.written(format_args!("app:other={}", self.other)));
        }
        texts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_counted_by_name_and_names_beyond_the_fourth_together() {
        let mut counts = MessageCounts::default();
        assert_eq!(counts.texts(&Spare::default()), [""; 0]);
        (0..3).for_each(|_| counts.add(MessageKind::Feedback(FeedbackKind::Nack)));
        counts.add(MessageKind::Block(BlockKind::Summary));
        for name in [b"PoC1", b"one\0", b"PoC1", b"tre ", b"fo\xffr", b"five", b"six6"] {
            counts.add(MessageKind::Application(*name));
        }
        let wanted = ["nack=3", "xr:summary=1", "app:PoC1=2", "app:one.=1", "app:tre.=1", "app:fo.r=1"];
        assert_eq!(counts.texts(&Spare::default()), [&wanted[..], &["app:other=2"]].concat());
        for (number, (kind, _)) in BlockKind::ALL.iter().enumerate() {
            assert_eq!(*kind as usize, number);
        }
    }
}
