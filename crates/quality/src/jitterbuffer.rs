//! Three jitter buffers - fixed 50 ms, fixed 200 ms, adaptive up to 500 ms - simulated from one histogram.
//!
//! The engine bins each packet once by its delay beyond the fastest packet's; at the end of an interval the
//! bins show how many packets each buffer would have discarded and how much delay it would have added. A
//! packet costs one multiplication, one table load and one increment, whatever the number of buffers.
//!
//! # What is exact and what is approximate
//!
//! *Fixed buffers.* A receiver that plays the fastest packet after 50 ms of buffering plays every packet 50
//! ms after the earliest time at which it could have arrived. A packet is late if its delay beyond the
//! fastest packet's exceeds 50 ms; exactly 50 is in time. The bins have edges at 50 and 200 ms, so the count
//! is exact if the fastest transit is known when the packet is binned. With a running minimum it is a lower
//! bound: packets binned before a faster one arrived are counted too low by the difference. A real receiver
//! buffers against its first packet rather than its fastest, so its buffer is longer by the first packet's
//! own delay variation.
//!
//! *Adaptive buffer.* It grows when a late packet arrives and shrinks when it can, so it discards only
//! packets later than 500 ms. Time stretching is not rated: the E-model has no term for it. Its delay is the
//! smallest edge of the histogram that at most 1 % of the playable packets exceed: a buffer that follows the
//! 99th percentile settles there. The delay is constant over the interval, while a real buffer grows for a
//! spike and shrinks after it: see the tolerance in `tests/jitterbuffer.rs`. Listening quality does not
//! depend on it.
//!
//! *The base.* Clocks drift, and routes may become longer permanently. A receiver adapts to both within a
//! second or two, and so does the engine: it measures delay against the fastest packet of the running and the
//! last whole second. Packets that are late until then are late for a receiver, too.

use ringtap_model::Nanos;

/// Number of bins.
pub const BINS: usize = 16;

/// Upper edges of the bins in milliseconds, inclusive. The last bin has none.
pub const EDGES: [u64; BINS - 1] = [5, 10, 15, 20, 30, 40, 50, 60, 80, 100, 150, 200, 300, 400, 500];

/// The bin of a packet that arrived `delta` later than the fastest packet would have.
// HOT: once per packet. All edges are multiples of 5 ms: a division by a constant and a table of two cache
// lines.
pub const fn bin(delta: Nanos) -> usize {
    let step = delta.0.saturating_add(STEP - 1) / STEP;
    let step = if step < STEPS as u64 { step as usize } else { STEPS - 1 };
    TABLE[step] as usize
}

/// A histogram of delay variation over one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DelayBins(pub [u16; BINS]);

impl DelayBins {
    /// Counts a packet that arrived `delta` later than the fastest packet would have. Bins saturate.
    pub fn add(&mut self, delta: Nanos) {
        let slot = &mut self.0[bin(delta)];
        *slot = slot.saturating_add(1);
    }

    /// Packets counted.
    pub fn packets(&self) -> u32 {
        late(&self.0, 0)
    }

    /// See [`discards`].
    pub fn discards(&self) -> Discards {
        discards(&self.0)
    }

    /// See [`delay`].
    pub fn delay(&self) -> BufferDelays {
        delay(&self.0)
    }
}

/// Packets that each buffer discards because they are too late.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Discards {
    /// Fixed 50 ms.
    pub fixed50: u32,
    /// Fixed 200 ms.
    pub fixed200: u32,
    /// Adaptive, at most 500 ms.
    pub adaptive500: u32,
}

/// Delay that each buffer adds to every packet's path, beyond the fastest packet's transit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferDelays {
    /// Fixed 50 ms: 50 ms.
    pub fixed50: Nanos,
    /// Fixed 200 ms: 200 ms.
    pub fixed200: Nanos,
    /// Adaptive: its settled delay.
    pub adaptive500: Nanos,
}

/// Counts the packets that each buffer discards because they are too late.
pub fn discards(bins: &[u16; BINS]) -> Discards {
    Discards {
        fixed50: late(bins, BEYOND_50),
        fixed200: late(bins, BEYOND_200),
        adaptive500: late(bins, BEYOND_500),
    }
}

/// The delay that each buffer adds. For the adaptive buffer: the smallest edge that at most 1 % of the
/// packets exceed, or 500 ms.
pub fn delay(bins: &[u16; BINS]) -> BufferDelays {
    let allowed = late(bins, 0) / 100;
    let settled =
        (0..EDGES.len()).find(|&edge| late(bins, edge + 1) <= allowed).map_or(500, |edge| EDGES[edge]);
    BufferDelays {
        fixed50: Nanos::from_millis(50),
        fixed200: Nanos::from_millis(200),
        adaptive500: Nanos::from_millis(settled),
    }
}

/// Packets in the bins from `first` on.
fn late(bins: &[u16; BINS], first: usize) -> u32 {
    bins[first..].iter().map(|&count| u32::from(count)).sum()
}

const STEP: u64 = 5_000_000;
const STEPS: usize = 102;
const BEYOND_50: usize = bin(Nanos(50_000_001));
const BEYOND_200: usize = bin(Nanos(200_000_001));
const BEYOND_500: usize = bin(Nanos(500_000_001));

/// Bin of each 5 ms step.
const TABLE: [u8; STEPS] = {
    let mut table = [0; STEPS];
    let mut step = 0;
    while step < STEPS {
        let mut bin = 0;
        while bin < EDGES.len() && step as u64 * (STEP / 1_000_000) > EDGES[bin] {
            bin += 1;
        }
        table[step] = bin as u8;
        step += 1;
    }
    table
};
