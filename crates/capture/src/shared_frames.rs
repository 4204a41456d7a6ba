//! Frames that several threads read while their source reads on.

use std::sync::Arc;

use ringtap_model::{Frame, LinkType, Nanos};

use crate::window::Window;

/// The bytes of frames: windows that their files have left to whoever holds these.
#[derive(Debug, Default)]
pub struct SharedFrames {
    windows: Vec<Arc<Vec<u8>>>,
    /// By the index of the file: the window that was added for it last.
    latest: Vec<Option<u16>>,
}

/// One of [`SharedFrames`].
#[derive(Clone, Copy, Debug)]
pub struct SharedFrame {
    time: Nanos,
    number: u64,
    wire_len: u32,
    place: u32,
    length: u32,
    link: LinkType,
    window: u16,
}

const _: () = assert!(size_of::<SharedFrame>() == 32);

impl SharedFrames {
    /// The frame, one that was shared with these.
    #[inline]
    pub fn frame(&self, shared: &SharedFrame) -> Frame<'_> {
        let SharedFrame { time, number, wire_len, place, length, link, window } = *shared;
        let window = self.windows.get(usize::from(window)).map_or(&[][..], |window| window);
        let data = window.get(place as usize..(place + length) as usize).unwrap_or_default();
        Frame { time, number, link, wire_len, data }
    }

    /// Lets go of all windows.
    pub fn clear(&mut self) {
        self.windows.clear();
        self.latest.clear();
    }

    /// Whether the windows of so many files have room.
    pub(crate) fn has_room(&self, files: usize) -> bool {
        self.windows.len() + files <= usize::from(u16::MAX)
    }

    /// Holds the window of a file; returns its index.
    #[inline]
    pub(crate) fn hold(&mut self, file: usize, window: &Window) -> u16 {
        if let Some(Some(latest)) = self.latest.get(file)
            && self.windows.get(usize::from(*latest)).is_some_and(|held| Arc::ptr_eq(held, window.bytes()))
        {
            return *latest;
        }
        self.add(file, window)
    }

    #[cold]
    fn add(&mut self, file: usize, window: &Window) -> u16 {
        let index = self.windows.len() as u16;
        self.windows.push(window.bytes().clone());
        if self.latest.len() <= file {
            self.latest.resize(file + 1, None);
        }
        self.latest[file] = Some(index);
        index
    }
}

impl SharedFrame {
    /// A frame of a window, which [`SharedFrames::hold`] gave that index.
    #[inline]
    pub(crate) fn new(frame: &Frame<'_>, window: &Window, index: u16) -> Self {
        let Frame { time, number, link, wire_len, data } = *frame;
        // Empty data may be anywhere. A window has a few megabytes at most.
        let place = if data.is_empty() { 0 } else { window.place(data) as u32 };
        Self { time, number, wire_len, place, length: data.len() as u32, link, window: index }
    }
}
