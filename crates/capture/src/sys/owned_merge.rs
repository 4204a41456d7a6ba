//! Captures together with the iterator that borrows from them.

use std::sync::Arc;

use ringtap_model::Frame;

use crate::{Capture, Damage, Merge};

/// The merged frames of captures that it keeps open.
#[derive(Debug)]
pub(crate) struct OwnedMerge {
    // INVARIANT: borrows from `captures`, which is never given up or changed; 'static only in name.
    merge: Merge<'static>,
    head: Option<Frame<'static>>,
    captures: Arc<[Capture]>,
}

/// What becomes of the next frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    Take,
    /// It is nobody's.
    Skip,
    /// Its time has not come.
    Stop,
}

impl OwnedMerge {
    pub(crate) fn new(captures: Arc<[Capture]>) -> Self {
        // SAFETY: what is borrowed lies in the memory of the `Arc`, which does not move and is not changed
        // while one exists, and `captures` is one that lives as long as the borrow: both are dropped
        // together, nothing in `Merge` looks at its captures when dropped, and no method gives out anything
        // that lives longer than a borrow of `self`.
        let borrowed: &'static [Capture] = unsafe { &*Arc::as_ptr(&captures) };
        let mut merge = Merge::new(borrowed);
        let head = merge.next();
        Self { merge, head, captures }
    }

    /// The frame that comes next.
    pub(crate) fn head(&self) -> Option<Frame<'_>> {
        self.head
    }

    /// Fills `frames` with the next ones that are chosen; how many they are.
    pub(crate) fn fill<'a>(
        &'a mut self,
        frames: &mut [Frame<'a>],
        mut choose: impl FnMut(&Frame<'_>) -> Choice,
    ) -> usize {
        let mut filled = 0;
        while let (Some(head), Some(place)) = (self.head, frames.get_mut(filled)) {
            match choose(&head) {
                Choice::Take => {
                    *place = head;
                    filled += 1;
                }
                Choice::Skip => {}
                Choice::Stop => break,
            }
            self.head = self.merge.next();
        }
        filled
    }

    /// Captures that turned out to be damaged so far: their names, and where.
    pub(crate) fn damages(&self) -> impl Iterator<Item = (&str, Damage)> {
        let named = |(index, damage): (usize, _)| Some((self.captures.get(index)?.name(), damage));
        self.merge.damages().into_iter().filter_map(named)
    }
}
