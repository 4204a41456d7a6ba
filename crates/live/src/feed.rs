//! Sources of frames: interfaces, or capture files at a chosen speed.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use ringtap_capture::live::{self, Filter, Settings, Tap};
use ringtap_capture::{FrameChoice, Merge};
use ringtap_model::{Frame, LinkType, Nanos};

/// Frames in a batch.
const BATCH: usize = 128;

/// Result of reading the next batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeedStatus {
    /// Frames were read, or more may follow at once.
    Frames,
    /// No frame has arrived yet.
    Nothing,
    /// The input has ended.
    End,
}

/// A source of frames.
pub trait Feed {
    /// Passes the next frames to `on_batch`, waiting at most `wait` for them.
    fn next_batch(
        &mut self,
        wait: Duration,
        on_batch: &mut dyn FnMut(&[Frame<'_>]),
    ) -> anyhow::Result<FeedStatus>;

    /// Packets lost before this source, by place of the loss, as running totals.
    fn lost(&mut self) -> Vec<(String, u64)> {
        Vec::new()
    }

    /// Whether time advances without frames.
    fn is_live(&self) -> bool {
        false
    }
}

/// Capture files, read at once or at a multiple of the speed at which they were captured.
pub struct Files {
    frames: Merge,
    filter: Option<Filter>,
    speed: Option<f64>,
    /// When reading began, and the capture time of the first frame.
    begin: Option<(Instant, Nanos)>,
}

impl Files {
    /// Reads the frames that pass `filter`, or all if there is none.
    pub fn new(frames: Merge, filter: Option<Filter>, speed: Option<f64>) -> Self {
        Self { frames, filter, speed, begin: None }
    }

    /// Time until the next frame is due; `None` if it is due now.
    fn early(&mut self) -> Option<Duration> {
        let (speed, next) = (self.speed?, self.frames.peek()?.time);
        let begin = *self.begin.get_or_insert_with(|| (Instant::now(), next));
        early(begin, speed, next)
    }
}

/// Time until a frame of that capture time is due.
fn early((since, first): (Instant, Nanos), speed: f64, time: Nanos) -> Option<Duration> {
    let due = Duration::from_secs_f64((time.since(first).secs_f64() / speed).min(FOREVER));
    due.checked_sub(since.elapsed()).filter(|early| !early.is_zero())
}

impl Feed for Files {
    fn next_batch(
        &mut self,
        wait: Duration,
        on_batch: &mut dyn FnMut(&[Frame<'_>]),
    ) -> anyhow::Result<FeedStatus> {
        if let Some(early) = self.early() {
            thread::sleep(early.min(wait));
            return Ok(FeedStatus::Nothing);
        }
        let Self { frames, filter, speed, begin } = self;
        let pace = begin.zip(*speed);
        let batch = frames.select(BATCH, |frame| {
            if pace.is_some_and(|(begin, speed)| early(begin, speed, frame.time).is_some()) {
                FrameChoice::Stop
            } else if filter.as_mut().is_none_or(|filter| filter.matches(frame)) {
                FrameChoice::Deliver
            } else {
                FrameChoice::Skip
            }
        });
        if batch.is_empty() {
            // The filter rejected the whole batch; later frames may pass.
            return Ok(if self.frames.peek().is_some() { FeedStatus::Frames } else { FeedStatus::End });
        }
        on_batch(&batch);
        Ok(FeedStatus::Frames)
    }
}

/// A filter for frames of files, whose link types are not known in advance.
pub fn filter(expression: &str) -> Result<Filter, live::Error> {
    const ETHERNET: LinkType = LinkType(1);
    Filter::new(expression, ETHERNET)
}

/// Captures on interfaces.
pub struct Taps {
    taps: Vec<(String, Tap)>,
    /// Interfaces that could not be captured, and why.
    left_out: Vec<String>,
    /// Frames so far: their number, over all interfaces.
    count: u64,
}

impl Taps {
    /// Opens each interface and starts capturing. [`ANY`] is every interface that is up now; those that
    /// cannot be captured are left out with a warning, unless there is no other.
    pub fn open(interfaces: &[String], filter: Option<&str>) -> Result<Self, live::Error> {
        let mut all = Self { taps: Vec::new(), left_out: Vec::new(), count: 0 };
        if !interfaces.iter().any(|interface| interface == ANY) {
            interfaces.iter().try_for_each(|interface| all.add(interface, filter, None))?;
            return Ok(all);
        }
        let there = there();
        let share = Settings::default().ring / there.len().max(1);
        let mut failed = None;
        for interface in &there {
            match all.add(interface, filter, Some(share.max(SMALLEST))) {
                Ok(()) => {}
                Err(error @ live::Error::Down { .. }) => failed = failed.or(Some(error)),
                Err(error) => {
                    all.left_out.push(format!("not captured: {error}"));
                    failed = Some(error);
                }
            }
        }
        match failed {
            Some(error) if all.taps.is_empty() => Err(error),
            _ => Ok(all),
        }
    }

    fn add(&mut self, interface: &str, filter: Option<&str>, ring: Option<usize>) -> Result<(), live::Error> {
        let usual = Settings::default();
        let settings = Settings {
            interface: interface.to_owned(),
            filter: filter.map(str::to_owned),
            ring: ring.unwrap_or(usual.ring),
            ..usual
        };
        self.taps.extend(live::open(&settings)?.into_iter().map(|tap| (interface.to_owned(), tap)));
        Ok(())
    }

    /// Warnings about settings that could not be applied, and interfaces left out.
    pub fn warnings(&self) -> Vec<String> {
        let of = |(name, tap): &(String, Tap)| -> Vec<String> {
            tap.warnings().iter().map(|note| format!("{name}: {note}")).collect()
        };
        self.taps.iter().flat_map(of).chain(self.left_out.iter().cloned()).collect()
    }

    /// `eth0, eth1`.
    pub fn names(&self) -> String {
        let names: Vec<&str> = self.taps.iter().map(|(name, _)| name.as_str()).collect();
        names.join(", ")
    }
}

impl Feed for Taps {
    fn next_batch(
        &mut self,
        wait: Duration,
        on_batch: &mut dyn FnMut(&[Frame<'_>]),
    ) -> anyhow::Result<FeedStatus> {
        let Self { taps, count, .. } = self;
        // Each tap numbers its own frames; here they must differ.
        let mut numbered = |frames: &[Frame<'_>]| {
            let mut batch = [EMPTY; BATCH];
            for chunk in frames.chunks(BATCH) {
                for (to, from) in batch.iter_mut().zip(chunk) {
                    *count += 1;
                    *to = Frame { number: *count, ..*from };
                }
                on_batch(&batch[..chunk.len()]);
            }
        };
        let mut got = 0;
        for (_, tap) in &mut *taps {
            got += tap.batch(Duration::ZERO, &mut numbered)?;
        }
        if got == 0 {
            // No interface has frames: divide the waiting time among them.
            let each = wait / taps.len().max(1) as u32;
            for (_, tap) in taps {
                got += tap.batch(each, &mut numbered)?;
            }
        }
        Ok(if got > 0 { FeedStatus::Frames } else { FeedStatus::Nothing })
    }

    fn lost(&mut self) -> Vec<(String, u64)> {
        let mut lost = Vec::new();
        for (name, tap) in &mut self.taps {
            let counts = tap.counters();
            lost.push((format!("{name}: ring full"), counts.ring_drops));
            lost.push((format!("{name}: interface"), counts.interface_drops));
        }
        lost
    }

    fn is_live(&self) -> bool {
        true
    }
}

/// Interfaces of this thread's network namespace, by name; `/sys/class/net` can show those of another.
fn there() -> Vec<String> {
    named(&fs::read_to_string("/proc/thread-self/net/dev").unwrap_or_default())
}

/// The names in two lines of headings and a line for each interface.
fn named(devices: &str) -> Vec<String> {
    let rows = devices.lines().skip(2).filter_map(|line| line.split_once(':'));
    let mut names: Vec<String> = rows.map(|(name, _)| name.trim().to_owned()).collect();
    names.sort();
    names
}

/// The name that stands for every interface.
pub const ANY: &str = "any";
/// Bytes of the ring of an interface at least.
const SMALLEST: usize = 1 << 20;
const EMPTY: Frame<'static> =
    Frame { time: Nanos::ZERO, number: 0, link: LinkType(0), wire_len: 0, data: &[] };
/// A year in seconds: a forged time in a file must not overflow a duration.
const FOREVER: f64 = 31_536_000.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interfaces_are_named_by_the_kernel() {
        let text =
            "Inter-|   Receive\n face |bytes    packets\n  eth0: 1 2 3\n    lo:12 0 0\nveth1@if2: 0 0\n";
        assert_eq!(named(text), ["eth0", "lo", "veth1@if2"]);
        assert!(named("").is_empty());
    }
}
