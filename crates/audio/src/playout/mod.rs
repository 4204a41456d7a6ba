//! Plays a track: decodes it in order and fills the gaps.
//!
//! | module | produces |
//! |---|---|
//! | `conceal` | sound for lost packets |
//! | `noise` | comfort noise (RFC 3389) |
//! | `tones` | tones of telephone events (RFC 4733), if wanted |
//! | `drift` | corrections of clock drift |
//! | `resample` | another sampling rate |

mod conceal;
mod drift;
mod noise;
pub(crate) mod resample;
mod tones;

use ringtap_model::{Hz, Nanos};

use crate::track::{Format, PlacedPayload, SideInfo};
use crate::{DecodeStep, Decoder, Decoders, Error, Track};
use conceal::conceal;
use drift::DriftCorrection;
use noise::Noise;
use resample::Resampler;
use tones::Tone;

/// How gaps and events are treated.
#[derive(Clone, Copy, Debug)]
pub struct PlayoutRules {
    /// Conceal loss; else it is silence.
    pub conceal: bool,
    /// Play comfort noise where the sender sent it; else silence.
    pub noise: bool,
    /// Play digits as tones; else they are silence. Digits can be secrets.
    pub tones: bool,
    /// Correct the drift of the sender's clock against the capture's.
    pub drift: bool,
    /// Play as a telephone with a jitter buffer of this depth, which drops later packets. By default every
    /// packet is played, however late.
    pub buffer: Option<Nanos>,
}

impl Default for PlayoutRules {
    fn default() -> Self {
        Self { conceal: true, noise: true, tones: false, drift: true, buffer: None }
    }
}

impl PlayoutRules {
    /// Decoded payloads only; gaps are silence.
    pub fn bare() -> Self {
        Self { conceal: false, noise: false, tones: false, drift: false, buffer: None }
    }
}

/// Figures of the play-out.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PlayoutFigures {
    /// Packets too late for the jitter buffer.
    pub late: u64,
    /// Duration of concealed loss.
    pub concealed: Nanos,
    /// By how many millionths the sender's clock is slower than it info, where that was followed; else 0.
    pub drift_ppm: f64,
    /// Spans that are silent because the decoder failed.
    pub failures: u32,
}

/// Plays one track from start to end.
///
/// INVARIANT: it outputs exactly [`Player::frames`] samples, however it is read, and buffers one or two
/// seconds.
pub struct Player<'a> {
    track: &'a Track,
    rules: PlayoutRules,
    decoders: &'a dyn Decoders,
    rate: Hz,
    warp: DriftCorrection,
    tones: Vec<Tone>,
    /// Index of the first tone that is not over.
    tone: usize,
    /// The payload planned next, and the one planned last.
    next: usize,
    last: Option<usize>,
    /// Packets lost between these two, if counted.
    lost: Option<i64>,
    /// The next silent packet: for the numbering, and for its information.
    numbered: usize,
    said: usize,
    noise: Noise,
    noisy: bool,
    /// From here on the codec describes the noise in its pauses itself.
    own_noise: Option<i64>,
    /// End of the planned time line.
    at: i64,
    /// Smallest delay so far, the base of the jitter buffer.
    base: Option<i64>,
    open: Option<(u8, Box<dyn Decoder>)>,
    /// Samples at the codec's rate, and those before them.
    line: Vec<i16>,
    line_rate: Hz,
    past: Vec<i16>,
    resampler: Option<Resampler>,
    /// Samples ready to be read.
    ready: Vec<i16>,
    taken: usize,
    left: u64,
    over: bool,
    figures: PlayoutFigures,
}

/// A span of the time line.
#[derive(Clone, Copy, Debug)]
struct Span {
    kind: SpanKind,
    /// Samples on the time line.
    want: usize,
    /// Samples from the decoder.
    given: usize,
    /// Of these, the number skipped at the start, and the number used.
    skip: usize,
    used: usize,
    /// Start in ticks.
    start: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SpanKind {
    /// The payload of an entry.
    Packet(usize),
    Lost,
    Pause,
}

impl<'a> Player<'a> {
    /// Prepares to play `track` at `rate`.
    pub fn new(track: &'a Track, rules: PlayoutRules, rate: Hz, decoders: &'a dyn Decoders) -> Self {
        let entries = track.entries();
        let warp = if rules.drift {
            DriftCorrection::of(entries, u64::from(track.clock().0))
        } else {
            DriftCorrection::none()
        };
        let at = entries.first().map_or(0, |entry| entry.start);
        let mut player = Self {
            track,
            rules,
            decoders,
            rate,
            warp,
            tones: if rules.tones { tones::tones(track.silent()) } else { Vec::new() },
            tone: 0,
            next: 0,
            last: None,
            lost: None,
            numbered: 0,
            said: 0,
            noise: Noise::new(),
            noisy: false,
            own_noise: None,
            at,
            base: None,
            open: None,
            line: Vec::new(),
            line_rate: rate,
            past: Vec::new(),
            resampler: None,
            ready: Vec::new(),
            taken: 0,
            left: 0,
            over: entries.is_empty(),
            figures: PlayoutFigures { drift_ppm: warp.ppm(), ..PlayoutFigures::default() },
        };
        player.left = player.frames();
        player
    }

    /// Number of samples at the requested rate.
    pub fn frames(&self) -> u64 {
        let (Some(first), Some(last)) = (self.track.entries().first(), self.track.entries().last()) else {
            return 0;
        };
        let ticks = (self.warp.place(last.end()) - self.warp.place(first.start)).max(0) as u64;
        (ticks * u64::from(self.rate.0)).div_ceil(u64::from(self.track.clock().0))
    }

    /// Figures so far.
    pub fn figures(&self) -> PlayoutFigures {
        self.figures
    }

    /// Fills `out` with the next samples; returns their number, which is smaller only at the end.
    ///
    /// [`Error::Missing`] if a decoder is missing, [`Error::Helper`] if it fails repeatedly.
    pub fn read(&mut self, out: &mut [i16]) -> Result<usize, Error> {
        let wanted = usize::try_from(self.left).unwrap_or(usize::MAX).min(out.len());
        let mut filled = 0;
        while filled < wanted {
            if self.taken == self.ready.len() {
                self.ready.clear();
                self.taken = 0;
                if !self.fill()? {
                    // Rounding between the rates.
                    out[filled..wanted].fill(0);
                    filled = wanted;
                    break;
                }
            }
            let count = (wanted - filled).min(self.ready.len() - self.taken);
            out[filled..filled + count].copy_from_slice(&self.ready[self.taken..self.taken + count]);
            self.taken += count;
            filled += count;
        }
        self.left -= filled as u64;
        if self.left == 0 {
            // It may be a process.
            self.open = None;
        }
        Ok(filled)
    }

    /// Prepares the next samples; false at the end.
    fn fill(&mut self) -> Result<bool, Error> {
        if self.over {
            return Ok(false);
        }
        let spans = self.plan()?;
        if spans.is_empty() {
            self.over = true;
            if let Some(resampler) = &mut self.resampler {
                resampler.flush(&mut self.ready);
            }
            return Ok(!self.ready.is_empty());
        }
        self.line.clear();
        self.decode(&spans)?;
        self.adjust(&spans);
        self.fill_gaps(&spans);
        self.add_tones(&spans);
        self.save_history();
        match &mut self.resampler {
            Some(resampler) => resampler.push(&self.line, &mut self.ready),
            None => std::mem::swap(&mut self.line, &mut self.ready),
        }
        Ok(true)
    }

    /// Plans about the next second, all of one codec, which it opens; empty at the end.
    fn plan(&mut self) -> Result<Vec<Span>, Error> {
        let track = self.track;
        let mut spans: Vec<Span> = Vec::new();
        // Samples planned, and those since the last gap: what a gap sounds like must not depend on where a
        // plan ends.
        let (mut planned, mut behind) = (0, usize::MAX);
        while let Some(entry) = track.entries().get(self.next) {
            if behind > 0 && planned >= WINDOW && (behind >= self.context() || planned >= 4 * WINDOW) {
                break;
            }
            if self.open.as_ref().is_none_or(|(format, _)| *format != entry.format) {
                if !spans.is_empty() {
                    break;
                }
                self.open(entry.format)?;
            }
            if self.is_late(entry) {
                self.next += 1;
                self.lost = None;
                self.figures.late += 1;
                continue;
            }
            let span = if entry.start > self.at { self.missing(entry) } else { self.packet(entry) };
            planned += span.want;
            behind = if span.kind == SpanKind::Lost { 0 } else { behind.saturating_add(span.want) };
            spans.push(span);
        }
        Ok(spans)
    }

    fn open(&mut self, format: u8) -> Result<(), Error> {
        let Format { codec, rate } = self.track.formats()[usize::from(format)];
        self.open = Some((format, self.decoders.open(codec, rate)?));
        if rate != self.line_rate || self.last.is_none() {
            if let Some(mut before) = self.resampler.take() {
                before.flush(&mut self.ready);
            }
            self.past.clear();
            self.line_rate = rate;
            self.resampler = if rate == self.rate { None } else { Resampler::new(rate, self.rate) };
        }
        Ok(())
    }

    /// Whether a packet arrives too late for the jitter buffer.
    fn is_late(&mut self, entry: &PlacedPayload) -> bool {
        let Some(depth) = self.rules.buffer else { return false };
        let delay = i64::from(entry.delay) - (self.warp.place(entry.start) - entry.start);
        let base = self.base.map_or(delay, |base| base.min(delay));
        self.base = Some(base);
        let depth = u128::from(depth.0) * u128::from(self.track.clock().0) / 1_000_000_000;
        u128::try_from(delay - base).is_ok_and(|late| late > depth)
    }

    fn packet(&mut self, entry: &PlacedPayload) -> Span {
        let format = self.track.formats()[usize::from(entry.format)];
        let payload = self.track.payload(entry);
        let given = format.codec.samples(payload).unwrap_or(0);
        let span = Span {
            kind: SpanKind::Packet(self.next),
            want: self.samples(entry.start, entry.end()),
            given,
            skip: self.unwarped(entry.skip.into()).min(given),
            used: self.unwarped(entry.ticks.into()),
            start: entry.start,
        };
        self.own_noise = format.codec.announces_noise(payload).then(|| entry.end());
        // Sound ends comfort noise.
        self.noisy = false;
        self.at = entry.end();
        self.last = Some(self.next);
        self.next += 1;
        self.lost = None;
        span
    }

    /// The first span of the gap before a payload.
    fn missing(&mut self, entry: &PlacedPayload) -> Span {
        let (start, second) = (self.at, i64::from(self.track.clock().0));
        let since = self.last.map_or(start, |last| self.track.entries()[last].end());
        let concealed = since + self.lost_before(entry).min(2 * second);
        let (kind, end) = if start < concealed {
            (SpanKind::Lost, entry.start.min(concealed))
        } else {
            let said = self.apply_noise_updates(entry.start);
            (SpanKind::Pause, entry.start.min(start + second).min(said))
        };
        self.at = end;
        let want = self.samples(start, end);
        let given = if self.decoder_fills(kind, start) { want } else { 0 };
        if kind == SpanKind::Lost && self.rules.conceal {
            let made = Nanos(want as u64 * 1_000_000_000 / u64::from(self.line_rate.0));
            self.figures.concealed += made.min(MAX_CONCEALED);
        }
        Span { kind, want, given, skip: 0, used: given, start }
    }

    /// Ticks of the gap before a payload that are due to lost packets.
    fn lost_before(&mut self, entry: &PlacedPayload) -> i64 {
        if let Some(lost) = self.lost {
            return lost;
        }
        let lost = self.last.map_or(0, |last| {
            let before = self.track.entries()[last];
            let between = entry.sequence.wrapping_sub(before.sequence).wrapping_sub(1);
            if before.run != entry.run || between > i16::MAX as u16 {
                return 0;
            }
            let silent = self.track.silent();
            let mut seen = 0;
            // A second back, for reordered packets.
            while let Some(other) = silent.get(self.numbered).filter(|other| other.start <= entry.start) {
                let place = other.sequence.wrapping_sub(before.sequence).wrapping_sub(1);
                seen += i64::from(other.run == entry.run && place < between);
                self.numbered += 1;
            }
            let length = before.ticks.max(entry.ticks);
            (i64::from(between) - seen).max(0) * i64::from(length)
        });
        self.lost = Some(lost);
        lost
    }

    /// Applies the comfort noise packets up to `until`; returns the position of the next one.
    fn apply_noise_updates(&mut self, until: i64) -> i64 {
        let silent = self.track.silent();
        while let Some(other) = silent.get(self.said) {
            let SideInfo::Noise { level, filter } = other.info else {
                self.said += 1;
                continue;
            };
            if other.start > self.at {
                return other.start;
            }
            let since = self.last.map_or(i64::MIN, |last| self.track.entries()[last].start);
            if other.start >= since {
                self.noise.set(level, &filter);
                self.noisy = true;
            }
            self.said += 1;
        }
        until
    }

    /// Whether the codec's decoder fills the gap itself.
    fn decoder_fills(&self, kind: SpanKind, start: i64) -> bool {
        let conceals = self.open.as_ref().is_some_and(|(_, decoder)| decoder.conceals());
        let pause = self.own_noise.is_some_and(|from| start - from < NOISE * i64::from(self.track.clock().0));
        conceals
            && match kind {
                SpanKind::Packet(_) => true,
                SpanKind::Lost => self.rules.conceal,
                SpanKind::Pause => self.rules.noise && pause,
            }
    }

    fn decode(&mut self, spans: &[Span]) -> Result<(), Error> {
        let Some((_, decoder)) = &mut self.open else { return Ok(()) };
        let track = self.track;
        let payload = |span: &Span| match span.kind {
            SpanKind::Packet(index) => Some(track.payload(&track.entries()[index])),
            _ => None,
        };
        let mut steps = Vec::with_capacity(spans.len());
        for (index, span) in spans.iter().enumerate().filter(|(_, span)| span.given > 0) {
            steps.push(match payload(span) {
                Some(payload) => DecodeStep::Packet { payload, samples: span.given },
                None => {
                    DecodeStep::Lost { samples: span.given, next: spans.get(index + 1).and_then(payload) }
                }
            });
        }
        let given: usize = spans.iter().map(|span| span.given).sum();
        match decoder.run(&steps, &mut self.line) {
            Ok(()) => {}
            Err(error) => {
                self.figures.failures += 1;
                if self.figures.failures > FAILURES {
                    return Err(error);
                }
                self.line.clear();
                // The next span starts with another decoder.
                self.open = None;
            }
        }
        self.line.resize(given, 0);
        Ok(())
    }

    /// Adjusts every span to its length on the time line.
    fn adjust(&mut self, spans: &[Span]) {
        if spans.iter().all(|span| span.skip == 0 && span.given == span.want && span.used == span.want) {
            return;
        }
        let mut line = Vec::with_capacity(spans.iter().map(|span| span.want).sum());
        let mut from = 0;
        for span in spans {
            let given = &self.line[from..from + span.given];
            from += span.given;
            let used = &given[span.skip..(span.skip + span.used).min(span.given).max(span.skip)];
            stretch(used, span.want, &mut line);
        }
        self.line = line;
    }

    /// Fills the gaps that the decoder left.
    fn fill_gaps(&mut self, spans: &[Span]) {
        let mut from = 0;
        for (index, span) in spans.iter().enumerate() {
            let to = from + span.want;
            match span.kind {
                SpanKind::Lost if span.given == 0 && self.rules.conceal => {
                    let behind: usize = spans[index + 1..]
                        .iter()
                        .take_while(|span| matches!(span.kind, SpanKind::Packet(_)))
                        .map(|span| span.want)
                        .sum();
                    let past = match from >= self.context() || self.past.is_empty() {
                        true => self.line[..from].to_vec(),
                        false => [&self.past[..], &self.line[..from]].concat(),
                    };
                    let (before, after) = self.line.split_at_mut(to);
                    conceal(&past, &after[..behind], &mut before[from..], self.line_rate.0);
                }
                SpanKind::Pause if span.given == 0 && self.noisy && self.rules.noise => {
                    self.noise.fill(&mut self.line[from..to]);
                }
                _ => {}
            }
            from = to;
        }
    }

    fn add_tones(&mut self, spans: &[Span]) {
        let clock = f64::from(self.track.clock().0);
        let Some(first) = spans.first() else { return };
        while self.tones.get(self.tone).is_some_and(|tone| tone.start + tone.ticks <= first.start) {
            self.tone += 1;
        }
        let begin = self.warp.place(first.start);
        let end = self.warp.place(self.at);
        let rate = f64::from(self.line_rate.0);
        for tone in self.tones[self.tone..].iter().take_while(|tone| tone.start < self.at) {
            let at = self.warp.place(tone.start);
            let index = |ticks: i64| ((ticks.clamp(begin, end) - begin) as f64 * rate / clock) as usize;
            let (from, to) = (index(at), index(at + tone.ticks).min(self.line.len()));
            for (offset, sample) in self.line.iter_mut().enumerate().take(to).skip(from) {
                tone.add((begin - at) as f64 / clock + offset as f64 / rate, sample);
            }
        }
    }

    /// Samples on each side of a gap from which its sound is made.
    fn context(&self) -> usize {
        conceal::CONTEXT * (self.line_rate.0 as usize / 8_000).max(1)
    }

    /// Keeps the last samples for a gap at the start of the next part.
    fn save_history(&mut self) {
        let keep = self.context();
        if self.line.len() < keep {
            self.past.extend_from_slice(&self.line);
            let surplus = self.past.len().saturating_sub(keep);
            self.past.drain(..surplus);
        } else {
            self.past.clear();
            self.past.extend_from_slice(&self.line[self.line.len() - keep..]);
        }
    }

    /// Samples between two positions, without accumulated rounding.
    fn samples(&self, start: i64, end: i64) -> usize {
        let sample = |ticks: i64| {
            let (rate, clock) = (i64::from(self.line_rate.0), i64::from(self.track.clock().0));
            if rate == clock { ticks } else { (ticks * rate).div_euclid(clock) }
        };
        (sample(self.warp.place(end)) - sample(self.warp.place(start))).max(0) as usize
    }

    /// Samples of the decoder for that many ticks.
    fn unwarped(&self, ticks: i64) -> usize {
        (ticks * i64::from(self.line_rate.0) / i64::from(self.track.clock().0)) as usize
    }
}

/// Stretches `samples` to the length `want` by linear interpolation.
fn stretch(samples: &[i16], want: usize, to: &mut Vec<i16>) {
    if samples.len() == want {
        to.extend_from_slice(samples);
        return;
    }
    let (Some(last), true) = (samples.len().checked_sub(1), want > 1) else {
        to.resize(to.len() + want, samples.first().copied().unwrap_or(0));
        return;
    };
    for at in 0..want {
        let place = at as f64 * last as f64 / (want - 1) as f64;
        let (index, span) = (place as usize, place.fract());
        let (this, next) = (f64::from(samples[index]), f64::from(samples[(index + 1).min(last)]));
        to.push((this + (next - this) * span).round() as i16);
    }
}

/// Minimum number of samples decoded at a time.
const WINDOW: usize = 8_000;
/// Seconds for which a codec continues its own noise.
const NOISE: i64 = 30;
/// Longest concealment in a gap: 60 ms from each side.
const MAX_CONCEALED: Nanos = Nanos::from_millis(120);
/// Failures after which a decoder is abandoned.
const FAILURES: u32 = 3;
