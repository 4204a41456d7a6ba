//! Datagrams that a worker keeps for the media stage.

use ringtap_model::{Endpoint, Nanos};

use crate::context::Datagram;
use crate::table::timers::TimerOwner;

/// Datagrams that wait for the announcements of their batch, their bytes one after another.
#[derive(Default)]
pub(crate) struct HeldDatagrams {
    headers: Vec<HeldHeader>,
    bytes: Vec<u8>,
    frames: Vec<u64>,
}

struct HeldHeader {
    owner: TimerOwner,
    number: u64,
    is_original: bool,
    src: Endpoint,
    dst: Endpoint,
    time: Nanos,
    ip_len: u32,
    len: usize,
    /// Offsets in `bytes` and `frames`.
    bytes: (usize, usize),
    frames: (usize, usize),
}

/// One of [`HeldDatagrams`].
pub(crate) struct HeldDatagram<'a> {
    pub(crate) owner: TimerOwner,
    pub(crate) number: u64,
    /// Captured by this worker, not a copy that another one sent.
    pub(crate) is_original: bool,
    pub(crate) datagram: Datagram<'a>,
}

impl HeldDatagrams {
    pub(crate) fn push(
        &mut self,
        owner: TimerOwner,
        number: u64,
        datagram: &Datagram<'_>,
        is_original: bool,
    ) {
        let Datagram { src, dst, time, ip_len, data, len, frames } = *datagram;
        let (bytes_start, frames_start) = (self.bytes.len(), self.frames.len());
        self.bytes.extend_from_slice(data);
        self.frames.extend_from_slice(frames);
        let (bytes, frames) = ((bytes_start, self.bytes.len()), (frames_start, self.frames.len()));
        self.headers.push(HeldHeader {
            owner,
            number,
            is_original,
            src,
            dst,
            time,
            ip_len,
            len,
            bytes,
            frames,
        });
    }

    /// Puts them in frame order: copies from other workers were appended at the end.
    pub(crate) fn sort(&mut self) {
        if !self.headers.is_sorted_by_key(|header| header.number) {
            self.headers.sort_by_key(|header| header.number);
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = HeldDatagram<'_>> {
        self.headers.iter().map(|header| {
            let HeldHeader { owner, number, is_original, src, dst, time, ip_len, len, bytes, frames } =
                *header;
            let (data, frames) = (&self.bytes[bytes.0..bytes.1], &self.frames[frames.0..frames.1]);
            let datagram = Datagram { time, src, dst, ip_len, data, len, frames };
            HeldDatagram { owner, number, is_original, datagram }
        })
    }

    pub(crate) fn clear(&mut self) {
        self.headers.clear();
        self.bytes.clear();
        self.frames.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{CALLEE, CALLER, at, end};

    #[test]
    fn held_datagrams_come_in_frame_order_with_their_own_bytes() {
        let mut held = HeldDatagrams::default();
        for (number, bytes, is_original) in
            [(5, &b"five"[..], true), (9, b"nine", true), (7, b"seven", false)]
        {
            let (src, dst) = (end(CALLER), end(CALLEE));
            let frames = [number, number + 100];
            let datagram =
                Datagram { time: at(number), src, dst, ip_len: 60, data: bytes, len: 99, frames: &frames };
            held.push(TimerOwner::Rtcp, number, &datagram, is_original);
        }
        held.sort();
        let all: Vec<_> =
            held.iter().map(|one| (one.number, one.datagram.data.to_vec(), one.is_original)).collect();
        let wanted =
            [(5, b"five".to_vec(), true), (7, b"seven".to_vec(), false), (9, b"nine".to_vec(), true)];
        assert_eq!(all, wanted);
        assert!(
            held.iter()
                .all(|one| one.datagram.frames == [one.number, one.number + 100] && one.datagram.len == 99)
        );
        held.clear();
        assert_eq!(held.iter().count(), 0);
    }
}
