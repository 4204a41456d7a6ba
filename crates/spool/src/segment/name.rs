//! Names of segments.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use ringtap_model::Nanos;

/// What a segment holds packets of. Each category has its own retention time, so that no segment holds two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Category {
    /// Signalling of calls.
    Signalling,
    /// Streams and their RTCP.
    Media,
    /// Signalling and media of intercepted calls: a copy of its own, whatever else is recorded of them.
    Product,
}

impl Category {
    /// All categories, in the order of their numbers.
    pub const ALL: [Self; 3] = [Self::Signalling, Self::Media, Self::Product];

    /// In the configuration, metrics and logs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Signalling => "signalling",
            Self::Media => "media",
            Self::Product => "product",
        }
    }

    /// The categories of ordinary recordings.
    pub const ORDINARY: [Self; 2] = [Self::Signalling, Self::Media];

    /// The categories of interception product, or of ordinary recordings.
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

    pub(crate) fn of_letter(letter: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|category| category.letter() == letter)
    }
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A number for each category.
pub type ByCategory = [u64; Category::ALL.len()];

/// The name of a segment: `2026-11-21/134600.250-w0-m-17.pcap` below the spool's directory. It consists of
/// the time of the first packet (UTC), the worker, the category (`s` signalling, `m` media, `p` interception
/// product) and a number. Names sort by time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Segment(String);

impl Segment {
    /// The name of a worker's segment that begins at `at`.
    pub(crate) fn new(at: Nanos, worker: u16, category: Category, number: u64) -> Self {
        // u64 nanoseconds end in 2554: always a timestamp that jiff accepts.
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

    /// Its wrapped keys beside it, if it is sealed.
    pub fn keys_path(&self, dir: &Path) -> PathBuf {
        self.path(dir).with_extension("keys")
    }

    /// Its signed seal beside it, if segments are signed.
    pub fn seal_path(&self, dir: &Path) -> PathBuf {
        self.path(dir).with_extension("seal")
    }

    /// All files that may belong to it, its own last: who is interrupted while deleting them in this order
    /// finds the segment again. Write to the [`DeletionLog`](crate::DeletionLog) before, so that the gap in
    /// the chain is explained.
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

    /// The day that it begins on: the name of its directory.
    pub(crate) fn day(&self) -> Option<&str> {
        self.0.split_once('/').map(|(day, _)| day)
    }

    /// What it holds packets of.
    pub fn category(&self) -> Category {
        // INVARIANT: made by `new` or `from_str`, which accept no name without a category.
        let letter = self.0.rsplit('-').nth(1).and_then(Category::of_letter);
        letter.unwrap_or(Category::Media)
    }

    /// How many segments of its worker and category came before it, since the worker began.
    pub fn number(&self) -> u64 {
        let digits = self.0.strip_suffix(".pcap").and_then(|stem| stem.rsplit('-').next());
        // No segment was ever written whose number needs more than 64 bits.
        digits.and_then(|digits| digits.parse().ok()).unwrap_or(u64::MAX)
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// When a day begins; None if the text is no day.
pub(crate) fn day_start(day: &str) -> Option<Nanos> {
    let written_out = day.len() == 10 && day.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    let at: Timestamp = written_out.then(|| format!("{day}T00:00:00Z").parse().ok())??;
    u64::try_from(at.as_nanosecond()).ok().map(Nanos)
}

/// The text is no name of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotASegment;

impl FromStr for Segment {
    type Err = NotASegment;

    /// Accepts only what [`Segment::new`] can make: a name from a record must not lead out of the directory.
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
