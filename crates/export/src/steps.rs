//! SIP messages as steps of a ladder.

use ringtap_engine::SipSeen;
use ringtap_model::Nanos;
use ringtap_report::ladder::{Step, StepKind};
use ringtap_report::message;

use crate::find::TimeRange;

/// Most messages of one Call-ID, so that a device that uses one Call-ID for everything cannot fill the
/// memory.
const MOST: usize = 10_000;

/// The messages of one Call-ID in the order of their arrival.
#[derive(Default)]
pub struct Steps {
    steps: Vec<Step>,
    /// Times of mirrored copies, which are not drawn.
    mirrored: Vec<Nanos>,
    left_out: u64,
}

impl Steps {
    /// Adds a message.
    pub fn push(&mut self, seen: &SipSeen<'_>) {
        if self.steps.len() + self.mirrored.len() >= MOST {
            self.left_out += 1;
        } else if seen.mirrored {
            self.mirrored.push(seen.time);
        } else {
            self.steps.push(Step {
                time: seen.time,
                src: seen.src,
                dst: seen.dst,
                label: message::label(seen.message),
                style: message::style(seen.message.code()),
                retransmission: seen.retransmission,
                kind: StepKind::Message,
            });
        }
    }

    /// Whether there are no messages to draw.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// The messages within a time range.
    pub fn within(&self, range: TimeRange) -> Vec<Step> {
        self.steps.iter().filter(|step| range.contains(step.time)).cloned().collect()
    }

    /// All messages.
    pub fn all(&self) -> &[Step] {
        &self.steps
    }

    /// One sentence for each group of messages that is not drawn.
    pub fn remarks(&self, range: TimeRange) -> Vec<String> {
        let mirrored = self.mirrored.iter().filter(|time| range.contains(**time)).count();
        let mut remarks = Vec::new();
        if mirrored > 0 {
            remarks.push(format!("Not drawn: {mirrored} second copies made by the mirror port"));
        }
        if self.left_out > 0 {
            remarks.push(format!("Not drawn: {} messages after the first {MOST}", self.left_out));
        }
        remarks
    }
}
