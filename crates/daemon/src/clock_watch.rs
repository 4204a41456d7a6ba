//! Watches the system clock for steps. A clock that is wrong by days would let everything expire at once, so
//! nothing is deleted by age until it returns, or somebody confirms it.
//!
//! The time of day is compared with the time since boot, which nobody can set. The last pair of both that was
//! trusted is in a file, for the next start: after a reboot, only the time of day can be compared, so a
//! machine that was off for longer than an hour has to be confirmed as well.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use nix::time::{ClockId, clock_gettime};
use ringtap_model::Nanos;
use serde::{Deserialize, Serialize};

/// The system clock, shared by all threads that delete by age.
#[derive(Debug)]
pub(crate) struct ClockWatch(Mutex<Watch>);

/// The time of day, and whether it may decide what is old.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimeOfDay {
    pub(crate) now: Nanos,
    /// By how many seconds the clock has stepped, forwards if positive; None if it is trusted.
    pub(crate) step: Option<i64>,
}

impl ClockWatch {
    /// Compares the clock with what the file says of it.
    pub(crate) fn open(path: PathBuf) -> Self {
        Self(Mutex::new(Watch::open(path, &reading())))
    }

    /// The time now. Logs when the clock has stepped, and when it has returned.
    pub(crate) fn look(&self) -> TimeOfDay {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).look(&reading())
    }

    /// Trusts the clock as it is. Returns the step that was confirmed.
    pub(crate) fn confirm(&self) -> Option<i64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).confirm(&reading())
    }
}

/// Both clocks at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ClockReading {
    /// The time of day, in nanoseconds since 1970.
    wall: u64,
    /// Nanoseconds since boot, with the time that the machine was suspended.
    boot: u64,
    /// Which boot.
    boot_id: String,
}

fn reading() -> ClockReading {
    // The clock exists in every Linux since 2.6.39.
    let boot = clock_gettime(ClockId::CLOCK_BOOTTIME).map_or(0, |time| {
        let seconds = u64::try_from(time.tv_sec()).unwrap_or(0);
        seconds * SECOND + u64::try_from(time.tv_nsec()).unwrap_or(0)
    });
    let boot_id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    ClockReading { wall: ringtap_report::time::now().0, boot, boot_id: boot_id.trim().to_owned() }
}

#[derive(Debug)]
struct Watch {
    path: PathBuf,
    /// The last reading that was trusted, at most [`RENEWAL`] old.
    trusted: ClockReading,
    /// When it was read, by the clock of this boot.
    since: u64,
    step: Option<i64>,
    has_failed: bool,
}

impl Watch {
    fn open(path: PathBuf, now: &ClockReading) -> Self {
        let trusted = match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                log::error!(
                    target: "clock",
                    "cannot read {}: {error}; the clock is trusted as it is",
                    path.display()
                );
                None
            }
            Ok(bytes) => serde_json::from_slice::<ClockReading>(&bytes)
                .inspect_err(|error| {
                    log::error!(
                        target: "clock",
                        "cannot read {}: {error}; the clock is trusted as it is",
                        path.display()
                    );
                })
                .ok(),
        };
        let is_new = trusted.is_none();
        let trusted = trusted.unwrap_or_else(|| now.clone());
        let since = if trusted.boot_id == now.boot_id { trusted.boot } else { now.boot };
        let mut watch = Self { path, trusted, since, step: None, has_failed: false };
        if is_new {
            watch.save();
        }
        watch.look(now);
        watch
    }

    fn look(&mut self, now: &ClockReading) -> TimeOfDay {
        let expected = i128::from(self.trusted.wall) + i128::from(now.boot.saturating_sub(self.since));
        let away = (i128::from(now.wall) - expected + i128::from(SECOND / 2)).div_euclid(i128::from(SECOND));
        let away = i64::try_from(away).unwrap_or(i64::MAX);
        let step = (away.abs() > LONGEST_STEP).then_some(away);
        match (self.step, step) {
            (None, Some(away)) => log::error!(
                target: "clock",
                "the clock has stepped {}: nothing is deleted by age until it returns; if it is right, run \
                 `ringtap clock --confirm`",
                shown(away),
            ),
            (Some(_), None) => {
                log::info!(target: "clock", "the clock has returned: what is old is deleted again");
            }
            _ => {}
        }
        self.step = step;
        if step.is_none() && now.boot.saturating_sub(self.since) >= RENEWAL {
            self.trust(now);
        }
        TimeOfDay { now: Nanos(now.wall), step }
    }

    fn confirm(&mut self, now: &ClockReading) -> Option<i64> {
        let step = self.look(now).step?;
        log::warn!(target: "clock", "a step {} was confirmed: what is old is deleted again", shown(step));
        self.step = None;
        self.trust(now);
        Some(step)
    }

    fn trust(&mut self, now: &ClockReading) {
        (self.trusted, self.since) = (now.clone(), now.boot);
        self.save();
    }

    /// Logs the first failure alone.
    fn save(&mut self) {
        let result = replace(&self.path, &self.trusted);
        match (&result, self.has_failed) {
            (Err(error), false) => log::error!(
                target: "clock",
                "cannot write {}: {error}; a step of the clock while ringtap is stopped is not noticed",
                self.path.display()
            ),
            (Ok(()), true) => log::info!(target: "clock", "{} is written again", self.path.display()),
            _ => {}
        }
        self.has_failed = result.is_err();
    }
}

/// After a power cut there is the old file or the new one.
fn replace(path: &Path, reading: &ClockReading) -> io::Result<()> {
    let draft = path.with_extension("new");
    let mut file = File::create(&draft)?;
    file.write_all(&serde_json::to_vec(reading)?)?;
    file.sync_all()?;
    fs::rename(&draft, path)
}

/// A step in words: `forwards by 5 h 0 min`.
pub(crate) fn shown(step: i64) -> String {
    let (way, minutes) = (if step < 0 { "backwards" } else { "forwards" }, step.unsigned_abs() / 60);
    match (minutes / 1_440, minutes / 60 % 24, minutes % 60) {
        (0, hours, minutes) => format!("{way} by {hours} h {minutes} min"),
        (days, hours, _) => format!("{way} by {days} d {hours} h"),
    }
}

const SECOND: u64 = 1_000_000_000;
/// Seconds that the clock may be set in an hour.
const LONGEST_STEP: i64 = 3_600;
/// How often a trusted reading replaces the last one: steps within this time add up.
const RENEWAL: u64 = 3_600 * SECOND;

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: u64 = 3_600 * SECOND;
    const START: u64 = 1_795_219_200 * SECOND;

    fn at(wall: u64, boot: u64) -> ClockReading {
        ClockReading { wall, boot, boot_id: "a".to_owned() }
    }

    fn steps(watch: &mut Watch, readings: &[(u64, u64)]) -> Vec<Option<i64>> {
        readings.iter().map(|(wall, boot)| watch.look(&at(*wall, *boot)).step).collect()
    }

    #[test]
    fn a_step_of_more_than_an_hour_is_not_trusted_until_the_clock_returns() {
        let dir = tempfile::tempdir().unwrap();
        let mut watch = Watch::open(dir.path().join("clock"), &at(START, HOUR));
        let day = 24 * HOUR;
        // Days pass, and small corrections are made.
        assert_eq!(
            steps(&mut watch, &[(START + HOUR, 2 * HOUR), (START + day + HOUR / 2, day + HOUR)]),
            [None, None]
        );
        let (now, boot) = (START + day + HOUR / 2, day + HOUR);
        assert_eq!(
            steps(
                &mut watch,
                &[(now + 30 * day, boot + 1), (now + 30 * day, boot + 1), (now - day, boot + 1)]
            ),
            [Some(30 * 86_400), Some(30 * 86_400), Some(-86_400)]
        );
        // Steps of less than an hour add up.
        assert_eq!(steps(&mut watch, &[(now, boot + 2), (now + HOUR * 9 / 10, boot + 3)]), [None, None]);
        assert_eq!(steps(&mut watch, &[(now + HOUR * 3 / 2, boot + 4)]), [Some(5_400)]);
        assert_eq!(steps(&mut watch, &[(now + HOUR / 2, boot + HOUR / 2)]), [None]);
    }

    #[test]
    fn a_step_is_remembered_over_a_restart_until_it_is_confirmed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("clock");
        drop(Watch::open(path.clone(), &at(START, HOUR)));
        // Two hours later, by both clocks: the program was stopped.
        let watch = Watch::open(path.clone(), &at(START + 2 * HOUR, 3 * HOUR));
        assert_eq!(watch.step, None);
        drop(watch);
        for _ in 0..2 {
            let watch = Watch::open(path.clone(), &at(START + 100 * HOUR, 3 * HOUR + 1));
            assert_eq!(watch.step, Some(98 * 3_600));
        }
        let mut watch = Watch::open(path.clone(), &at(START + 100 * HOUR, 3 * HOUR + 1));
        assert_eq!(watch.confirm(&at(START + 100 * HOUR, 3 * HOUR + 2)), Some(98 * 3_600));
        assert_eq!(watch.confirm(&at(START + 100 * HOUR, 3 * HOUR + 3)), None);
        drop(watch);
        assert_eq!(Watch::open(path, &at(START + 101 * HOUR, 4 * HOUR)).step, None);
    }

    #[test]
    fn after_a_reboot_the_time_of_day_is_compared() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("clock");
        drop(Watch::open(path.clone(), &at(START, 500 * HOUR)));
        let other = |wall| ClockReading { wall, boot: SECOND, boot_id: "b".to_owned() };
        assert_eq!(Watch::open(path.clone(), &other(START + HOUR / 2)).step, None);
        assert_eq!(Watch::open(path.clone(), &other(START + 8 * HOUR)).step, Some(8 * 3_600));
        let mut watch = Watch::open(path.clone(), &other(START - 400 * HOUR));
        assert_eq!(watch.step, Some(-400 * 3_600));
        // The time service sets the clock some minutes after the start.
        let later = ClockReading { boot: 300 * SECOND, ..other(START + HOUR / 4) };
        assert_eq!(watch.look(&later).step, None);
        fs::write(&path, "{").unwrap();
        assert_eq!(Watch::open(path, &other(START + 8 * HOUR)).step, None);
    }

    #[test]
    fn steps_in_words() {
        assert_eq!(shown(5 * 3_600), "forwards by 5 h 0 min");
        assert_eq!(shown(-86_400 * 3 - 60), "backwards by 3 d 0 h");
    }
}
