//! Captures, owned together with the iterator that borrows from them.

use std::sync::Arc;

use ringtap_model::Frame;

use crate::{Capture, Damage, Merge};

/// Merges the frames of captures that it owns.
#[derive(Debug)]
pub(crate) struct OwnedMerge {
    // INVARIANT: borrows from `captures`, which is neither dropped nor changed before it. The lifetime is
    // 'static in name only.
    merge: Merge<'static>,
    head: Option<Frame<'static>>,
    captures: Arc<[Capture]>,
}

/// What to do with the next frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrameChoice {
    Deliver,
    /// It belongs to nobody.
    Skip,
    /// It is not due yet.
    Stop,
}

impl OwnedMerge {
    pub(crate) fn new(captures: Arc<[Capture]>) -> Self {
        // SAFETY: the borrow points into the allocation of the `Arc`, which neither moves nor changes while a
        // clone of it exists, and `captures` is such a clone. Both fields are dropped together, `Merge` does
        // not use its captures when dropped, and no method returns anything that outlives a borrow of `self`.
        let borrowed: &'static [Capture] = unsafe { &*Arc::as_ptr(&captures) };
        let mut merge = Merge::new(borrowed);
        let head = merge.next();
        Self { merge, head, captures }
    }

    /// The next frame.
    pub(crate) fn head(&self) -> Option<Frame<'_>> {
        self.head
    }

    /// Fills `frames` with the next frames that `choose` selects, and returns their number.
    pub(crate) fn fill<'a>(
        &'a mut self,
        frames: &mut [Frame<'a>],
        mut choose: impl FnMut(&Frame<'_>) -> FrameChoice,
    ) -> usize {
        let mut filled = 0;
        while let (Some(head), Some(slot)) = (self.head, frames.get_mut(filled)) {
            match choose(&head) {
                FrameChoice::Deliver => {
                    *slot = head;
                    filled += 1;
                }
                FrameChoice::Skip => {}
                FrameChoice::Stop => break,
            }
            self.head = self.merge.next();
        }
        filled
    }

    /// The captures found damaged so far: name and damage.
    pub(crate) fn damages(&self) -> impl Iterator<Item = (&str, Damage)> {
        let named = |(index, damage): (usize, _)| Some((self.captures.get(index)?.name(), damage));
        self.merge.damages().into_iter().filter_map(named)
    }
}
