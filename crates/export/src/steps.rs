//! SIP messages as steps of a ladder.

use ringtap_engine::SipSeen;
use ringtap_model::Nanos;
use ringtap_report::ladder::{Step, StepKind};
use ringtap_report::message;

use crate::find::Slice;

/// A Call-ID that a stranger uses for everything must not fill the memory.
const MOST: usize = 10_000;

/// The messages of one Call-ID in the order in which they passed.
#[derive(Default)]
pub struct Steps {
    steps: Vec<Step>,
    /// Second copies made by the mirror port, which are not drawn.
    mirrored: Vec<Nanos>,
    left_out: u64,
}

impl Steps {
    /// Takes a message.
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

    /// No message came.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Those within a span of time.
    pub fn within(&self, slice: Slice) -> Vec<Step> {
        self.steps.iter().filter(|step| slice.holds(step.time)).cloned().collect()
    }

    /// All of them.
    pub fn all(&self) -> &[Step] {
        &self.steps
    }

    /// What is not drawn, as a sentence each.
    pub fn remarks(&self, slice: Slice) -> Vec<String> {
        let mirrored = self.mirrored.iter().filter(|time| slice.holds(**time)).count();
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
