//! Sends generated frames on an interface, each at its time.
//!
//! In real time, one thread generates the frames that are due and sends them at once; their delay goes into
//! the truth, which so has the times on the wire. At maximum speed, one thread generates batches in advance
//! and this one sends them. No frame is sent early, and the delay is reported at the end, so that it is not
//! blamed on a monitor under test.

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
use crate::write::write_truth;

/// How fast frames are sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Speed {
    /// This many times faster than real time.
    Times(f64),
    /// As fast as the interface accepts frames.
    Unbound,
}

impl std::str::FromStr for Speed {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse::<f64>() {
            _ if text == "max" => Ok(Self::Unbound),
            Ok(times) if (1e-3..=1e6).contains(&times) => Ok(Self::Times(times)),
            _ => Err("write a factor such as 1, 0.5 or 10, or max".to_owned()),
        }
    }
}

/// The result of sending.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sent {
    pub(crate) frames: u64,
    pub(crate) bytes: u64,
    pub(crate) took: Duration,
    /// Frames that the interface accepted and then dropped, if it reports that.
    pub(crate) dropped: u64,
    /// How often the kernel's queue was full, and sending was retried.
    pub(crate) refused: u64,
    /// Frames that were sent more than a millisecond late.
    pub(crate) late: u64,
    /// The largest delay of a frame.
    pub(crate) latest: Duration,
    /// Ended by Ctrl-C.
    pub(crate) interrupted: bool,
}

/// Sends all traffic; its start is at `began`. Writes records to `truth` as they become complete, and returns
/// the traffic.
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

/// Generates batches until the traffic ends or nobody receives them.
fn generate(
    traffic: &mut Traffic,
    full: &SyncSender<Batch>,
    emptied: &Receiver<Batch>,
    mut truth: Option<&mut BufWriter<Target>>,
) -> anyhow::Result<()> {
    while let Ok(mut batch) = emptied.recv() {
        batch.clear();
        let made = traffic.fill(&mut batch);
        write_truth(traffic, truth.as_deref_mut()).context("cannot write the truth")?;
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
                self.record_delay(Duration::from_nanos((now - due).0).div_f64(times));
            }
            write_truth(traffic, truth.as_deref_mut()).context("cannot write the truth")?;
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
                // INVARIANT: the channel has room for all of them.
                let _ = empty.try_send(Batch::new(BATCH));
            }
            let generator = scope.spawn(move || -> anyhow::Result<Traffic> {
                generate(&mut traffic, &full, &emptied, truth)?;
                Ok(traffic)
            });
            let sent = self.drain(injector, &filled, &empty);
            // This ends a generator that waits for one of the channels.
            drop((filled, empty));
            let traffic = generator
                .join()
                .map_err(|_| anyhow!("the generator panicked: this is a bug in ringtap"))??;
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
            // The generator may have ended.
            let _ = empty.try_send(batch);
        }
        Ok(())
    }

    /// Sends until the kernel has accepted all frames; `false` after Ctrl-C.
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
                    "cannot send: the interface has accepted no frame for {} s; check it with `ip -s link`",
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

    fn record_delay(&mut self, late: Duration) {
        self.sent.late += u64::from(late > LATE);
        self.sent.latest = self.sent.latest.max(late);
    }
}

/// The time that passes in the traffic.
fn scaled(span: Duration, times: f64) -> Nanos {
    Nanos(span.mul_f64(times).as_nanos() as u64)
}

/// Waits until `due`: sleeps, then spins at the end, because a sleep ends late. `false` after Ctrl-C.
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

/// Frames in a batch: half a millisecond at a million per second.
const BATCH: usize = 512;
/// Batches in flight.
const QUEUE: usize = 16;
/// Frames generated and sent at once: few, so that the last one is not late.
const BURST: usize = 64;
const PATIENCE: Duration = Duration::from_secs(5);
const LATE: Duration = Duration::from_millis(1);
/// Longer than most sleeps overrun.
const AWAKE: Duration = Duration::from_micros(80);
/// Interval at which Ctrl-C is checked.
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
    fn time_is_scaled_by_the_speed() {
        assert_eq!(scaled(Duration::from_millis(500), 1.0), Nanos::from_millis(500));
        assert_eq!(scaled(Duration::from_millis(500), 10.0), Nanos::from_secs(5));
    }
}
