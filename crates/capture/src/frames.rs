//! The packets of one file.

use ringtap_model::{Frame, LinkType, Nanos};

use crate::error::{Damage, DamageKind};
use crate::owned_frames::OwnedFrames;
use crate::window::{Rest, Window};
use crate::{Format, erf, netmon, pcap, pcapng, snoop};

/// The frames of one [`Capture`](crate::Capture) in file order, numbered from 1.
///
/// After the last batch, [`damage`](Self::damage) says whether the file was read to its end.
#[derive(Debug)]
pub struct Frames {
    window: Window,
    cursor: Cursor,
}

/// What to do with the next frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameChoice {
    /// Put it into the batch.
    Deliver,
    /// Leave it out.
    Skip,
    /// End the batch before it: it is the next frame of the next batch.
    Stop,
}

/// Where reading a window has got to.
#[derive(Debug)]
pub(crate) struct Cursor {
    format: Format,
    /// INVARIANT: between two calls, there are records once the file header was read, without any bytes.
    records: Option<Records<'static>>,
    /// Bytes at the end of the window that are not read yet.
    unread: usize,
    /// The next frame, where it was read ahead.
    head: Option<LocatedFrame>,
    has_ended: bool,
}

/// A frame by the place of its data in the window.
#[derive(Clone, Copy, Debug)]
struct LocatedFrame {
    time: Nanos,
    number: u64,
    link: LinkType,
    wire_len: u32,
    place: usize,
    length: usize,
}

#[derive(Debug)]
enum Records<'a> {
    Pcap(pcap::Records<'a>),
    PcapNg(pcapng::Records<'a>),
    Erf(erf::Records<'a>),
    Snoop(snoop::Records<'a>),
    NetMon(netmon::Records<'a>),
}

impl Frames {
    /// INVARIANT: the content has a complete file header of that format.
    pub(crate) fn new(window: Window, format: Format) -> Self {
        Self { window, cursor: Cursor::new(format) }
    }

    /// The next frames, at most `most`; none at the end. There may be fewer at any time: where the window
    /// ends, frames that borrow from it must go before it is read further.
    pub fn batch(&mut self, most: usize) -> Vec<Frame<'_>> {
        let mut batch = Vec::with_capacity(most.min(MOST_RESERVED));
        self.cursor.prepare(&mut self.window);
        self.cursor.select(&self.window, most, &mut batch, |_| FrameChoice::Deliver);
        batch
    }

    /// All frames that are left, in memory.
    pub fn owned(mut self) -> OwnedFrames {
        let mut all = OwnedFrames::default();
        loop {
            let batch = self.batch(MOST_RESERVED);
            if batch.is_empty() {
                return all;
            }
            all.extend(batch);
        }
    }

    /// Where and why the file cannot be read further; `None` before that point and for an undamaged file.
    pub fn damage(&self) -> Option<Damage> {
        self.cursor.damage(&self.window)
    }

    /// Bytes of the content consumed so far, after decompression.
    pub fn offset(&self) -> u64 {
        self.window.last(self.cursor.unread).offset()
    }

    /// Records numbered but skipped so far: metadata of ERF and NetMon, and packets that the capture card
    /// received with an error.
    pub fn skipped(&self) -> u64 {
        match &self.cursor.records {
            Some(Records::Erf(records)) => records.skipped(),
            Some(Records::NetMon(records)) => records.skipped,
            _ => 0,
        }
    }
}

impl Cursor {
    pub(crate) fn new(format: Format) -> Self {
        Self { format, records: None, unread: 0, head: None, has_ended: false }
    }

    /// The next frame, after [`prepare`](Self::prepare).
    #[inline]
    pub(crate) fn head<'a>(&self, window: &'a Window) -> Option<Frame<'a>> {
        self.head.map(|head| head.frame(window))
    }

    /// Reads the next frame if it was not read yet, and further bytes for it where they are needed.
    #[inline]
    pub(crate) fn prepare(&mut self, window: &mut Window) {
        while self.head.is_none() && !self.has_ended {
            let Some(mut records) = self.records(window) else {
                self.fetch(window);
                continue;
            };
            // More bytes may have come since.
            records.damage().take_if(|damage| damage.kind == DamageKind::Truncated);
            let frame = records.next();
            self.head = frame.map(|frame| LocatedFrame::new(&frame, window));
            let cut = matches!(records.damage(), None | Some(Damage { kind: DamageKind::Truncated, .. }));
            self.put_back(records);
            if self.head.is_none() {
                if cut && !window.is_last() { self.fetch(window) } else { self.has_ended = true }
            }
        }
    }

    #[cold]
    fn fetch(&mut self, window: &mut Window) {
        let is_last = window.is_last();
        self.unread = window.advance(self.unread);
        // The header was complete when the file was opened: it has become shorter since.
        self.has_ended = is_last && self.records.is_none();
    }

    /// The records over the bytes that are not read yet; None before the file header is in the window.
    #[inline]
    fn records<'a>(&mut self, window: &'a Window) -> Option<Records<'a>> {
        let rest = window.last(self.unread);
        match self.records.take() {
            Some(records) => Some(records.over(rest)),
            None => Records::new(self.format, rest),
        }
    }

    #[inline]
    fn put_back(&mut self, records: Records<'_>) {
        self.unread = records.unread();
        self.records = Some(records.over(Rest::default()));
    }

    /// Adds frames of the window to the batch, up to `most`, to the first that is to stay, or to the end of
    /// the window. Whether there is a next frame is known only after [`prepare`](Self::prepare).
    // HOT: each frame of a single file passes here.
    #[inline]
    pub(crate) fn select<'a>(
        &mut self,
        window: &'a Window,
        most: usize,
        batch: &mut Vec<Frame<'a>>,
        mut choose: impl FnMut(&mut Frame<'a>) -> FrameChoice,
    ) {
        let Some(mut head) = self.head.map(|head| head.frame(window)) else { return };
        if batch.len() == most {
            return;
        }
        match choose(&mut head) {
            FrameChoice::Deliver => batch.push(head),
            FrameChoice::Skip => {}
            FrameChoice::Stop => return,
        }
        self.head = None;
        let Some(mut records) = self.records(window) else { return };
        while batch.len() < most
            && let Some(frame) = records.next()
        {
            let mut chosen = frame;
            match choose(&mut chosen) {
                FrameChoice::Deliver => batch.push(chosen),
                FrameChoice::Skip => {}
                FrameChoice::Stop => {
                    self.head = Some(LocatedFrame::new(&frame, window));
                    break;
                }
            }
        }
        self.put_back(records);
    }

    /// Goes to the frame after the head, and returns its time; None at the end of the window.
    #[inline]
    pub(crate) fn next(&mut self, window: &Window) -> Option<Nanos> {
        let mut records = self.records(window)?;
        self.head = records.next().map(|frame| LocatedFrame::new(&frame, window));
        self.put_back(records);
        self.head.map(|head| head.time)
    }

    /// Where and why the file cannot be read further.
    pub(crate) fn damage(&self, window: &Window) -> Option<Damage> {
        let damage = match self.records.as_ref() {
            _ if !self.has_ended => return None,
            Some(Records::Pcap(records)) => records.damage,
            Some(Records::PcapNg(records)) => records.damage,
            Some(Records::Erf(records)) => records.damage,
            Some(Records::Snoop(records)) => records.damage,
            Some(Records::NetMon(records)) => records.damage,
            None => None,
        };
        match damage {
            // A truncated record is only the consequence of content that ended too early.
            None | Some(Damage { kind: DamageKind::Truncated, .. }) => window.damage().or(damage),
            damage => damage,
        }
    }

    /// Bytes of the stored content that are consumed.
    pub(crate) fn position(&self, window: &Window) -> u64 {
        window.position(self.unread)
    }
}

impl LocatedFrame {
    fn new(frame: &Frame<'_>, window: &Window) -> Self {
        let Frame { time, number, link, wire_len, data } = *frame;
        // Empty data may be anywhere.
        let place = if data.is_empty() { 0 } else { window.place(data) };
        Self { time, number, link, wire_len, place, length: data.len() }
    }

    fn frame<'a>(&self, window: &'a Window) -> Frame<'a> {
        let Self { time, number, link, wire_len, place, length } = *self;
        Frame { time, number, link, wire_len, data: window.range(place, length) }
    }
}

impl<'a> Records<'a> {
    /// None if the bytes do not hold the whole file header.
    fn new(format: Format, rest: Rest<'a>) -> Option<Self> {
        Some(match format {
            Format::Pcap => Self::Pcap(pcap::Records::new(rest)?),
            Format::PcapNg => Self::PcapNg(pcapng::Records::new(rest)),
            Format::Erf => Self::Erf(erf::Records::new(rest)),
            Format::Snoop => Self::Snoop(snoop::Records::new(rest)?),
            Format::NetMon => Self::NetMon(netmon::Records::new(rest)?),
        })
    }

    #[inline]
    fn over<'b>(self, rest: Rest<'b>) -> Records<'b> {
        match self {
            Self::Pcap(records) => Records::Pcap(records.over(rest)),
            Self::PcapNg(records) => Records::PcapNg(records.over(rest)),
            Self::Erf(records) => Records::Erf(records.over(rest)),
            Self::Snoop(records) => Records::Snoop(records.over(rest)),
            Self::NetMon(records) => Records::NetMon(records.over(rest)),
        }
    }

    #[inline]
    fn next(&mut self) -> Option<Frame<'a>> {
        match self {
            Self::Pcap(records) => records.next(),
            Self::PcapNg(records) => records.next(),
            Self::Erf(records) => records.next(),
            Self::Snoop(records) => records.next(),
            Self::NetMon(records) => records.next(),
        }
    }

    fn damage(&mut self) -> &mut Option<Damage> {
        match self {
            Self::Pcap(records) => &mut records.damage,
            Self::PcapNg(records) => &mut records.damage,
            Self::Erf(records) => &mut records.damage,
            Self::Snoop(records) => &mut records.damage,
            Self::NetMon(records) => &mut records.damage,
        }
    }

    fn unread(&self) -> usize {
        match self {
            Self::Pcap(records) => records.rest.bytes.len(),
            Self::PcapNg(records) => records.rest.bytes.len(),
            Self::Erf(records) => records.rest.bytes.len(),
            Self::Snoop(records) => records.rest.bytes.len(),
            Self::NetMon(records) => records.rest.bytes.len(),
        }
    }
}

/// Frames for which a batch has room from the beginning.
pub(crate) const MOST_RESERVED: usize = 8192;
