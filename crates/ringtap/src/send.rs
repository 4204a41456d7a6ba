//! Generated frames onto an interface, each at its time.
//!
//! At its own pace one thread makes what is due and sends it at once: how late that is goes into the truth,
//! which so has the times of the wire. As fast as possible, one thread makes batches ahead and this one sends
//! them. Nothing goes early, and at the end it is said how late things went: a monitor that is measured with
//! it must not be blamed for that.

use std::io::BufWriter;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use ringtap_capture::live::Injector;
use ringtap_model::Nanos;
use ringtap_report::file::Target;
use ringtap_traffic::{Batch, Traffic};

use crate::interrupt;
use crate::write::tell;

/// How fast time goes by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Speed {
    /// So many times as fast as the traffic was made for.
    Times(f64),
    /// As fast as frames are taken.
    Unbound,
}

impl std::str::FromStr for Speed {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse::<f64>() {
            _ if text == "max" => Ok(Self::Unbound),
            Ok(times) if (1e-3..=1e6).contains(&times) => Ok(Self::Times(times)),
            _ => Err("write how many times as fast, as 1 or 0.5 or 10, or max".to_owned()),
        }
    }
}

/// How the sending went.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sent {
    pub(crate) frames: u64,
    pub(crate) bytes: u64,
    pub(crate) took: Duration,
    /// Frames that the interface dropped after it took them, where it says so.
    pub(crate) dropped: u64,
    /// Times that the kernel had no room, and was asked again.
    pub(crate) refused: u64,
    /// Frames that went more than a millisecond after their time.
    pub(crate) late: u64,
    /// The most that one was late.
    pub(crate) latest: Duration,
    /// Ended by Ctrl-C.
    pub(crate) interrupted: bool,
}

/// Sends all of it, the frame of the traffic's start at `began`. Records go to `truth` as they become
/// complete. Gives the traffic back.
pub(crate) fn all(
    mut traffic: Traffic,
    injector: &mut Injector,
    speed: Speed,
    began: Instant,
    truth: Option<&mut BufWriter<Target>>,
) -> anyhow::Result<(Traffic, Sent)> {
    let mut sender = Sender { began, sent: Sent::default() };
    let traffic = match speed {
        Speed::Times(times) => {
            sender.paced(&mut traffic, injector, times, truth)?;
            traffic
        }
        Speed::Unbound => sender.unbound(traffic, injector, truth)?,
    };
    injector.flush()?;
    sender.sent.took = began.elapsed();
    sender.sent.dropped = injector.sent().dropped;
    Ok((traffic, sender.sent))
}

/// Makes batches until there is no more, or nobody wants them.
fn make(
    traffic: &mut Traffic,
    full: &SyncSender<Batch>,
    emptied: &Receiver<Batch>,
    mut truth: Option<&mut BufWriter<Target>>,
) -> anyhow::Result<()> {
    while let Ok(mut batch) = emptied.recv() {
        batch.clear();
        let made = traffic.fill(&mut batch);
        tell(traffic, truth.as_deref_mut()).context("cannot write the truth")?;
        if made == 0 || full.send(batch).is_err() {
            break;
        }
    }
    Ok(())
}

struct Sender {
    began: Instant,
    sent: Sent,
}

impl Sender {
    fn paced(
        &mut self,
        traffic: &mut Traffic,
        injector: &mut Injector,
        times: f64,
        mut truth: Option<&mut BufWriter<Target>>,
    ) -> anyhow::Result<()> {
        let begin = traffic.start();
        let mut batch = Batch::new(BURST);
        loop {
            batch.clear();
            let now = begin + scaled(self.began.elapsed(), times);
            let next = traffic.fill_due(now, &mut batch);
            let burst: Vec<&[u8]> = batch.frames().map(|(_, frame)| frame).collect();
            let whole = self.offer(injector, &burst)?;
            for (due, _) in batch.frames() {
                self.note(Duration::from_nanos((now - due).0).div_f64(times));
            }
            tell(traffic, truth.as_deref_mut()).context("cannot write the truth")?;
            let Some(next) = next else { return Ok(()) };
            let due = Duration::from_nanos((next - begin).0).div_f64(times);
            if !whole || !wait(self.began, due) {
                self.sent.interrupted = true;
                return Ok(());
            }
        }
    }

    fn unbound(
        &mut self,
        mut traffic: Traffic,
        injector: &mut Injector,
        truth: Option<&mut BufWriter<Target>>,
    ) -> anyhow::Result<Traffic> {
        thread::scope(|scope| {
            let (full, filled) = sync_channel(QUEUE);
            let (empty, emptied) = sync_channel(QUEUE);
            for _ in 0..QUEUE {
                // INVARIANT: it has room for all of them.
                let _ = empty.try_send(Batch::new(BATCH));
            }
            let maker = scope.spawn(move || -> anyhow::Result<Traffic> {
                make(&mut traffic, &full, &emptied, truth)?;
                Ok(traffic)
            });
            let sent = self.drain(injector, &filled, &empty);
            // A maker that waits for room, or for something to fill, goes on and ends.
            drop((filled, empty));
            let traffic = maker.join().map_err(|_| anyhow!("the generator ended by a panic"))??;
            sent.map(|()| traffic)
        })
    }

    fn drain(
        &mut self,
        injector: &mut Injector,
        filled: &Receiver<Batch>,
        empty: &SyncSender<Batch>,
    ) -> anyhow::Result<()> {
        while let Ok(batch) = filled.recv() {
            let burst: Vec<&[u8]> = batch.frames().map(|(_, frame)| frame).collect();
            if !self.offer(injector, &burst)? || interrupt::asked() {
                self.sent.interrupted = true;
                break;
            }
            // The maker may have ended.
            let _ = empty.try_send(batch);
        }
        Ok(())
    }

    /// Until the kernel has taken all of them.
    fn offer(&mut self, injector: &mut Injector, mut burst: &[&[u8]]) -> anyhow::Result<bool> {
        let mut stuck: Option<Instant> = None;
        while !burst.is_empty() {
            let taken = injector.send(burst)?;
            self.sent.frames += taken as u64;
            self.sent.bytes += burst[..taken].iter().map(|frame| frame.len() as u64).sum::<u64>();
            burst = &burst[taken..];
            if taken > 0 {
                stuck = None;
            } else if stuck.get_or_insert_with(Instant::now).elapsed() > PATIENCE {
                bail!(
                    "the interface has taken no frame for {} s: look at it with `ip -s link`",
                    PATIENCE.as_secs()
                );
            }
            if !burst.is_empty() {
                self.sent.refused += 1;
                if interrupt::asked() {
                    return Ok(false);
                }
                thread::yield_now();
            }
        }
        Ok(true)
    }

    fn note(&mut self, late: Duration) {
        self.sent.late += u64::from(late > LATE);
        self.sent.latest = self.sent.latest.max(late);
    }
}

/// So much time passes in the traffic.
fn scaled(span: Duration, times: f64) -> Nanos {
    Nanos(span.mul_f64(times).as_nanos() as u64)
}

/// Sleeps, and waits awake at the end: a sleep ends when the kernel comes to it. False when Ctrl-C ended it.
fn wait(began: Instant, due: Duration) -> bool {
    loop {
        let left = due.saturating_sub(began.elapsed());
        if interrupt::asked() {
            return false;
        }
        if left.is_zero() {
            return true;
        }
        if left > AWAKE {
            thread::sleep((left - AWAKE).min(NAP));
        } else {
            std::hint::spin_loop();
        }
    }
}

/// Frames of a batch: at a million a second it lasts for half a millisecond.
const BATCH: usize = 512;
/// Batches under way.
const QUEUE: usize = 16;
/// Frames made and offered to the kernel at once: few, so that the last is not later than its time says.
const BURST: usize = 64;
const PATIENCE: Duration = Duration::from_secs(5);
const LATE: Duration = Duration::from_millis(1);
/// Longer than the kernel is late in ending a sleep, mostly.
const AWAKE: Duration = Duration::from_micros(80);
/// Ctrl-C is looked for as often.
const NAP: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speeds_are_numbers_or_max() {
        assert_eq!("1".parse(), Ok(Speed::Times(1.0)));
        assert_eq!("max".parse(), Ok(Speed::Unbound));
        for wrong in ["0", "-1", "fast", "NaN", ""] {
            assert!(wrong.parse::<Speed>().unwrap_err().contains("max"), "{wrong}");
        }
    }

    #[test]
    fn time_goes_by_as_fast_as_asked() {
        assert_eq!(scaled(Duration::from_millis(500), 1.0), Nanos::from_millis(500));
        assert_eq!(scaled(Duration::from_millis(500), 10.0), Nanos::from_secs(5));
    }
}
