//! Replays capture files as if they came from an interface.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use ringtap_model::{Frame, LinkType, Nanos};

use crate::{Capture, FrameChoice, Merge};

use super::counters::TapCounters;
use super::error::Error;
use super::fanout;
use super::filter::Filter;
use super::interface::ETHERNET;
use super::settings::BATCH;

/// How fast files are replayed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Pace {
    /// As fast as they are processed.
    #[default]
    Unbound,
    /// A multiple of the captured speed: 1.0 is real time.
    Times(f64),
}

/// The shares of all workers, see [`replay`](super::replay()).
pub(super) fn open(
    files: &[PathBuf],
    pace: Pace,
    workers: usize,
    filter: Option<&str>,
) -> Result<Vec<ReplayTap>, Error> {
    let wrong = |name, value: String, right: &str| Error::Setting { name, value, right: right.to_owned() };
    if !(1..=256).contains(&workers) {
        return Err(wrong("workers", workers.to_string(), "1 to 256"));
    }
    if let Pace::Times(times) = pace
        && !(times.is_finite() && times > 0.0)
    {
        return Err(wrong("pace", times.to_string(), "a number above 0; 1 is the captured speed"));
    }
    let captures = files.iter().map(|file| Capture::open(file, None)).collect::<Result<Vec<_>, _>>()?;
    let captures: Arc<[Capture]> = captures.into();
    let filter = filter.map(str::trim).filter(|expression| !expression.is_empty());
    let filter = filter.map(|expression| Filter::new(expression, ETHERNET)).transpose()?;
    let start = Arc::new(OnceLock::new());
    let tap = |worker| {
        let mut frames = Merge::new(&captures);
        let head = frames.peek().map(|head| (head.time, head.link));
        let (first, link) = head.unwrap_or((Nanos::ZERO, ETHERNET));
        ReplayTap {
            captures: captures.clone(),
            frames,
            pace,
            first,
            link,
            start: start.clone(),
            worker: worker as u32,
            workers: workers as u32,
            filter: filter.clone(),
            counters: TapCounters::default(),
            warnings: Vec::new(),
            ended: false,
        }
    };
    Ok((0..workers).map(tap).collect())
}

/// One worker's share of the files.
#[derive(Debug)]
pub(super) struct ReplayTap {
    captures: Arc<[Capture]>,
    frames: Merge,
    pace: Pace,
    /// Time of the first frame of all files.
    first: Nanos,
    pub(super) link: LinkType,
    /// When the first worker started; shared by all.
    start: Arc<OnceLock<Instant>>,
    worker: u32,
    workers: u32,
    filter: Option<Filter>,
    counters: TapCounters,
    warnings: Vec<String>,
    pub(super) ended: bool,
}

impl ReplayTap {
    pub(super) fn batch(
        &mut self,
        wait: Duration,
        mut take: impl FnMut(&[Frame<'_>]),
    ) -> Result<usize, Error> {
        let start = *self.start.get_or_init(Instant::now);
        if !self.sleep(start, wait) {
            return Ok(0);
        }
        let due = self.due(start);
        let mut given = 0;
        for _ in 0..SLICES {
            let (worker, workers, counters) = (self.worker, self.workers, &mut self.counters);
            let filter = &mut self.filter;
            let frames = self.frames.select(BATCH, |frame| {
                if frame.time > due {
                    return FrameChoice::Stop;
                }
                if workers > 1 && fanout::source_hash(frame.link.0, frame.data) % workers != worker {
                    return FrameChoice::Skip;
                }
                if filter.as_mut().is_some_and(|filter| !filter.matches(frame)) {
                    counters.filtered += 1;
                    return FrameChoice::Skip;
                }
                counters.bytes += u64::from(frame.wire_len);
                counters.cut += u64::from(frame.wire_len as usize > frame.data.len());
                FrameChoice::Deliver
            });
            if frames.is_empty() {
                // Nothing is due, or nothing of what was read is for this worker.
                break;
            }
            take(&frames);
            given += frames.len();
        }
        self.counters.received += given as u64;
        Ok(given)
    }

    /// Sleeps until the next frame is due or the wait is over; whether one is due.
    fn sleep(&mut self, start: Instant, wait: Duration) -> bool {
        let Some(time) = self.frames.peek().map(|head| head.time) else {
            self.end(wait);
            return false;
        };
        let Pace::Times(times) = self.pace else { return true };
        let due = Duration::from_nanos((time.since(self.first).0 as f64 / times) as u64);
        let ahead = due.saturating_sub(start.elapsed());
        if !ahead.is_zero() {
            thread::sleep(ahead.min(wait));
        }
        ahead <= wait
    }

    /// Capture time up to which frames are due now.
    fn due(&self, start: Instant) -> Nanos {
        match self.pace {
            Pace::Unbound => Nanos::MAX,
            Pace::Times(times) => self.first + Nanos((start.elapsed().as_nanos() as f64 * times) as u64),
        }
    }

    #[cold]
    fn end(&mut self, wait: Duration) {
        if self.ended {
            // Further calls wait, as on an idle interface.
            thread::sleep(wait);
            return;
        }
        self.ended = true;
        let name = |index: usize| self.captures.get(index).map_or("", Capture::name);
        let damages = self.frames.damages().into_iter();
        self.warnings =
            damages.map(|(index, damage)| format!("`{}` is damaged: {damage}", name(index))).collect();
    }

    pub(super) fn counters(&self) -> TapCounters {
        self.counters
    }

    pub(super) fn warnings(&self) -> &[String] {
        &self.warnings
    }
}

/// Most slices per call, so that the caller can check its timers.
const SLICES: usize = 16;

#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    use crate::Writer;
    use crate::live::{Tap, replay};

    use super::*;

    /// Frames of 10.9.0.`n`, a millisecond apart.
    fn files(directory: &tempfile::TempDir) -> Vec<PathBuf> {
        let paths = ["a.pcap", "b.pcap"].map(|name| directory.path().join(name));
        for (odd, path) in paths.iter().enumerate() {
            let mut writer = Writer::new(File::create(path).expect("creates"), &[ETHERNET]).expect("writes");
            for n in (odd as u64..1000).step_by(2) {
                let mut data = [0u8; 60];
                data[12] = 8;
                data[14] = 0x45;
                data[23] = 17;
                data[26..30].copy_from_slice(&[10, 9, 0, n as u8]);
                let time = Nanos::from_millis(1_000_000 + n);
                writer
                    .write(&Frame { time, number: 0, link: ETHERNET, wire_len: 60, data: &data })
                    .expect("writes");
            }
            writer.finish().expect("writes");
        }
        paths.to_vec()
    }

    fn all(tap: &mut Tap) -> Vec<(u64, u64, u8)> {
        let mut got = Vec::new();
        while !tap.ended() {
            let told = tap.batch(Duration::from_millis(1), |frames| {
                got.extend(frames.iter().map(|frame| (frame.time.0, frame.number, frame.data[29])));
            });
            told.expect("replays");
        }
        got
    }

    #[test]
    fn every_frame_comes_to_one_worker_in_order() {
        let directory = tempfile::tempdir().expect("a directory");
        let files = files(&directory);
        let mut one = replay(&files, Pace::Unbound, 1, None).expect("opens");
        let frames = all(&mut one[0]);
        assert_eq!(frames.len(), 1000);
        assert!(frames.iter().zip(1..).all(|(frame, number)| frame.1 == number));
        assert_eq!((one[0].counters().received, one[0].counters().bytes), (1000, 60_000));

        let mut three = replay(&files, Pace::Unbound, 3, None).expect("opens");
        let shares: Vec<_> = three.iter_mut().map(all).collect();
        let mut joined: Vec<_> = shares.concat();
        joined.sort_by_key(|frame| frame.1);
        assert_eq!(joined, frames);
        for source in 0..=255u8 {
            let workers = shares.iter().filter(|share| share.iter().any(|frame| frame.2 == source)).count();
            assert_eq!(workers, 1, "source {source}");
        }
    }

    #[test]
    fn a_pace_is_kept() {
        let directory = tempfile::tempdir().expect("a directory");
        let mut tap = replay(&files(&directory), Pace::Times(10.0), 1, None).expect("opens").remove(0);
        let began = Instant::now();
        assert_eq!(all(&mut tap).len(), 1000);
        // A second of frames takes a tenth of it; a machine that is busy only makes it longer.
        assert!(began.elapsed() >= Duration::from_micros(99_900), "{:?}", began.elapsed());
    }

    #[test]
    fn damage_is_reported_and_nonsense_refused() {
        let directory = tempfile::tempdir().expect("a directory");
        let files = files(&directory);
        let bytes = fs::read(&files[1]).expect("reads");
        fs::write(&files[1], &bytes[..bytes.len() - 10]).expect("writes");
        let mut tap = replay(&files, Pace::Unbound, 1, None).expect("opens").remove(0);
        assert_eq!(all(&mut tap).len(), 999);
        assert!(
            tap.warnings()[0].contains("b.pcap` is damaged: the file ends inside"),
            "{:?}",
            tap.warnings()
        );
        assert!(replay(&files, Pace::Times(0.0), 1, None).is_err());
        assert!(replay(&files, Pace::Unbound, 0, None).is_err());
        let nowhere = [PathBuf::from("/nowhere.pcap")];
        let error = replay(&nowhere, Pace::Unbound, 1, None).expect_err("no such file");
        assert!(error.to_string().contains("`/nowhere.pcap` does not exist"), "{error}");
    }
}
