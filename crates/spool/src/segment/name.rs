//! Names of segments.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use ringtap_model::Nanos;

/// What a segment holds packets of. Each category is kept for its own time, so that no segment holds both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Category {
    /// Signalling of calls.
    Signalling,
    /// Streams, and what is said about them (RTCP).
    Media,
    /// Both, of calls that are intercepted: a copy of its own, whatever else is kept of them.
    Product,
}

impl Category {
    /// All of them: each at the place that it has as a number.
    pub const ALL: [Self; 3] = [Self::Signalling, Self::Media, Self::Product];

    /// In the configuration, on pages and in logs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Signalling => "signalling",
            Self::Media => "media",
            Self::Product => "product",
        }
    }

    /// Those of what the operator keeps for himself.
    pub const ORDINARY: [Self; 2] = [Self::Signalling, Self::Media];

    /// Those that a reader looks into: of what the operator keeps, or of interception product, which is a copy of its own.
    pub const fn of(product: bool) -> &'static [Self] {
        if product { &[Self::Product] } else { &Self::ORDINARY }
    }

    /// In the names of its segments and chains.
    pub(crate) const fn letter(self) -> &'static str {
        match self {
            Self::Signalling => "s",
            Self::Media => "m",
            Self::Product => "p",
        }
    }

    fn of_letter(letter: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|category| category.letter() == letter)
    }
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A number for each category.
pub type Sizes = [u64; Category::ALL.len()];

/// A segment: `2026-11-21/134600.250-w0-m-17.pcap` below the spool's directory, by the time of its first packet (UTC), the
/// worker that wrote it, its category (`s` signalling, `m` media, `p` interception product) and the count of such segments. In order of time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Segment(String);

impl Segment {
    /// The name of a worker's segment that begins at `at`.
    pub(crate) fn new(at: Nanos, worker: u16, category: Category, number: u64) -> Self {
        // u64 nanoseconds end in 2554: always a timestamp that jiff knows.
        let timestamp = Timestamp::from_nanosecond(i128::from(at.0)).unwrap_or(Timestamp::UNIX_EPOCH);
        let time = timestamp.to_zoned(TimeZone::UTC);
        Self(format!(
            "{:04}-{:02}-{:02}/{:02}{:02}{:02}.{:03}-w{worker}-{}-{number}.pcap",
            time.year(),
            time.month(),
            time.day(),
            time.hour(),
            time.minute(),
            time.second(),
            time.millisecond(),
            category.letter(),
        ))
    }

    /// The segment of a file in a day's directory: of the segment itself, or of its stub in `far/`.
    pub(crate) fn of_file(day: &str, file: &str) -> Option<Self> {
        match file.strip_suffix(".far") {
            Some(stem) => format!("{day}/{stem}.pcap").parse().ok(),
            None => format!("{day}/{file}").parse().ok(),
        }
    }

    /// The file below the spool's directory.
    pub fn path(&self, dir: &Path) -> PathBuf {
        dir.join(&self.0)
    }

    /// The index beside it.
    pub fn index_path(&self, dir: &Path) -> PathBuf {
        self.path(dir).with_extension("idx")
    }

    /// Its wrapped keys beside it, where it is sealed.
    pub fn keys_path(&self, dir: &Path) -> PathBuf {
        self.path(dir).with_extension("keys")
    }

    /// Its signed seal beside it, where segments are signed.
    pub fn seal_path(&self, dir: &Path) -> PathBuf {
        self.path(dir).with_extension("seal")
    }

    /// Everything that may belong to it, itself last: who deletes in this order and is stopped finds it again. For a lawful
    /// gap in the chain, [`Deletions`](crate::Deletions) is told first.
    pub fn files(&self, dir: &Path) -> [PathBuf; 4] {
        [self.keys_path(dir), self.index_path(dir), self.seal_path(dir), self.path(dir)]
    }

    /// The worker that wrote it, and when its first packet came (to the millisecond).
    pub fn origin(&self) -> Option<(u16, Nanos)> {
        let (day, file) = self.0.split_once('/')?;
        let (time, rest) = file.split_once("-w")?;
        let worker = rest.split_once('-')?.0.parse().ok()?;
        let (hour, minute, second) = (time.get(..2)?, time.get(2..4)?, time.get(4..)?);
        let at: Timestamp = format!("{day}T{hour}:{minute}:{second}Z").parse().ok()?;
        Some((worker, Nanos(u64::try_from(at.as_nanosecond()).ok()?)))
    }

    /// The day that it begins on, which names its directory.
    pub(crate) fn day(&self) -> Option<&str> {
        self.0.split_once('/').map(|(day, _)| day)
    }

    /// What it holds packets of.
    pub fn category(&self) -> Category {
        // INVARIANT: made by `new` or read by `from_str`, which take no name without one.
        let letter = self.0.rsplit('-').nth(1).and_then(Category::of_letter);
        letter.unwrap_or(Category::Media)
    }

    /// How many of its worker and category came before it, since the worker began.
    pub fn number(&self) -> u64 {
        let digits = self.0.strip_suffix(".pcap").and_then(|stem| stem.rsplit('-').next());
        // More than 64 bits of digits name no segment that was ever written.
        digits.and_then(|digits| digits.parse().ok()).unwrap_or(u64::MAX)
    }

    /// As it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// When a day begins; None for what names no day.
pub(crate) fn day_start(day: &str) -> Option<Nanos> {
    let written_out = day.len() == 10 && day.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    let at: Timestamp = written_out.then(|| format!("{day}T00:00:00Z").parse().ok())??;
    u64::try_from(at.as_nanosecond()).ok().map(Nanos)
}

/// The text does not name a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotASegment;

impl FromStr for Segment {
    type Err = NotASegment;

    /// Only what [`Segment::new`] could have made: a name out of a record must not lead out of the directory.
    fn from_str(text: &str) -> Result<Self, NotASegment> {
        let (day, file) = text.split_once('/').ok_or(NotASegment)?;
        let stem = file.strip_suffix(".pcap").ok_or(NotASegment)?;
        let parts: Vec<&str> = stem.split('-').collect();
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let sound = day.len() == 10
            && day.bytes().enumerate().all(|(at, byte)| match at {
                4 | 7 => byte == b'-',
                _ => byte.is_ascii_digit(),
            })
            && matches!(parts[..], [time, worker, category, number]
                if time.len() == 10
                    && time.split_once('.').is_some_and(|(secs, millis)| digits(secs) && digits(millis))
                    && worker.strip_prefix('w').is_some_and(digits)
                    && Category::of_letter(category).is_some()
                    && digits(number));
        if sound { Ok(Self(text.to_owned())) } else { Err(NotASegment) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        // 2026-11-21 00:00:00 UTC, and 61.25 s.
        let name = Segment::new(Nanos(1_795_219_261_250_999_999), 3, Category::Media, 17);
        assert_eq!(name.as_str(), "2026-11-21/000101.250-w3-m-17.pcap");
        assert_eq!((name.category(), name.number()), (Category::Media, 17));
        for category in Category::ALL {
            assert_eq!(Segment::new(Nanos::ZERO, 0, category, 0).category(), category);
        }
        assert_eq!(name.as_str().parse(), Ok(name.clone()));
        assert_eq!(name.origin(), Some((3, Nanos(1_795_219_261_250_000_000))));
        assert_eq!(name.index_path(Path::new("/s")), Path::new("/s/2026-11-21/000101.250-w3-m-17.idx"));
        assert_eq!(name.files(Path::new("/s"))[3], name.path(Path::new("/s")));
        for wrong in [
            "",
            "../passwd",
            "2026-11-21/../../x.pcap",
            "2026-11-21/000101.250-w3.pcap",
            "2026-11-21/000101.250-w3-17.pcap",
            "2026-11-21/000101.250-w3-x-17.pcap",
            "2026-11-21/000101.250-w3-m-17.idx",
            "2026/11/21/000101.250-w3-m-17.pcap",
        ] {
            assert_eq!(wrong.parse::<Segment>(), Err(NotASegment), "{wrong}");
        }
    }
}
