//! Somebody who listens to a call in progress: may he still, what is heard, and when it ends.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use anyhow::anyhow;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use ringtap_access::{Action, NewEntry, What};
use ringtap_audio::{Codec, Track};
use ringtap_export::collect::{guess_direction, track};
use ringtap_model::{Call, Direction, Hz, Stream};
use ringtap_report::time;
use ringtap_spool::of_stream;
use serde::Serialize;
use tokio::sync::mpsc::Sender;
use tokio::sync::mpsc::error::TrySendError;
use utoipa::ToSchema;

use super::found::find;
use crate::listen::{EarPlace, LiveSound, Piece, Subscription, Told};
use crate::problem::Problem;
use crate::sources::Refused;
use crate::state::App;
use crate::viewer::Viewer;
use crate::work::Stop;

/// A piece of the sound of a call in progress; the last one has `end`.
#[derive(Debug, Default, Serialize, ToSchema)]
pub(crate) struct Heard {
    /// `recorded`; `paused`: the recording of its media is paused, so there is silence; `pending`: no rule
    /// has decided yet whether it is recorded.
    #[schema(example = "recorded")]
    state: String,
    /// When its first sample was on the wire, in microseconds since 1970; null without samples.
    at_us: Option<u64>,
    /// How long ago its last sample was on the wire, by the console's clock; null where the capture is not of
    /// today.
    delay_ms: Option<u64>,
    /// Samples of each side a second.
    #[schema(example = 8000)]
    rate: u32,
    /// 16 bits each, the lower byte first, the caller's and the callee's in turn; base64.
    samples: String,
    /// Why a side is not heard.
    lacking: Vec<String>,
    /// Why nothing follows; null while something does.
    end: Option<HeardEnd>,
}

/// Why listening has ended.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct HeardEnd {
    /// `ended`, `refused`, `logged_out`, `slow` or `failed`.
    #[schema(example = "ended")]
    reason: &'static str,
    detail: Option<String>,
}

/// Somebody who listens.
pub(crate) struct Ear {
    app: App,
    viewer: Viewer,
    call: Call,
    /// As records have them so far.
    known: Vec<Stream>,
    told: Told,
    subscription: Subscription,
    sound: LiveSound,
    /// Streams that are heard, or cannot be.
    seen: BTreeSet<u64>,
    /// Since when the codec of a stream is not known.
    unknown: BTreeMap<u64, Instant>,
    refreshed: Instant,
    sides: Vec<(Direction, u32)>,
    lacking: Vec<String>,
    events: Sender<Heard>,
    /// When they could not be sent.
    full: Option<Instant>,
    asked: Instant,
    said: Instant,
    /// Since when the daemon has not answered.
    failing: Option<Instant>,
    /// When the daemon did not know the call any more.
    over: Option<Instant>,
    _place: EarPlace,
}

impl Ear {
    /// Asks the daemon to write the call's packets soon.
    ///
    /// # Errors
    ///
    /// The call is not recorded, too many are listened to, or daemon or spool do not answer.
    pub(crate) fn open(
        app: &App,
        viewer: &Viewer,
        (call, known): (Call, Vec<Stream>),
        place: EarPlace,
        events: Sender<Heard>,
    ) -> Result<Self, Problem> {
        let Some(open) = &app.sources.spool else {
            return Err(Problem::conflict(
                "the console was started without `--spool`, so it cannot read recorded packets",
            ));
        };
        let told = ask(app, &call).map_err(|error| Problem::of_daemon(&error))?;
        let Some(told) = told else { return Err(Problem::conflict("the call has ended")) };
        let subscription = app.tail.subscribe(open)?;
        let now = Instant::now();
        Ok(Self {
            app: app.clone(),
            viewer: viewer.clone(),
            call,
            known,
            told,
            subscription,
            sound: LiveSound::new(now),
            seen: BTreeSet::new(),
            unknown: BTreeMap::new(),
            refreshed: now,
            sides: Vec::new(),
            lacking: Vec::new(),
            events,
            full: None,
            asked: now,
            said: now,
            failing: None,
            over: None,
            _place: place,
        })
    }

    /// Listens until the call or the session ends, or nobody is there any more. Blocks.
    pub(crate) fn run(mut self) {
        let begun = Instant::now();
        self.add_streams(begun);
        let ended = loop {
            if let Err(ended) = self.step() {
                break ended;
            }
        };
        let what = format!("call {} in progress, for {} s", self.call.id, begun.elapsed().as_secs());
        let actor = self.viewer.actor();
        let entry = NewEntry {
            time: time::now(),
            actor,
            action: Action::Listen,
            what: What::from(what),
            reason: None,
        };
        if let Err(error) = self.app.audit.append(&entry) {
            log::error!(target: "console", "the end of listening is not in the audit log: {error}");
        }
        let last = Heard { state: self.told.state, end: Some(ended), ..Heard::default() };
        // Who is gone need not know, and who does not read shall not keep this thread.
        let _ = self.events.try_send(last);
    }

    /// Waits for packets, and sends what is heard.
    fn step(&mut self) -> Result<(), HeardEnd> {
        let until = Instant::now() + STEP;
        while let Some(left) = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
            if let Some(chunk) = self.subscription.next(left) {
                self.sound.push(&chunk, Instant::now());
            }
        }
        let now = Instant::now();
        let is_quick = self.seen.is_empty();
        if now.saturating_duration_since(self.asked) >= if is_quick { STEP } else { ASK } {
            self.asked = now;
            self.look(now)?;
        }
        let piece = self.sound.piece(now, &*self.app.sources.decoders);
        match piece.map_err(|error| failed(error.to_string()))? {
            Some(piece) => self.say(Some(&piece), now),
            None if now.saturating_duration_since(self.said) >= ASK => self.say(None, now),
            None => Ok(()),
        }
    }

    /// Whether it may go on, and which streams there are now.
    fn look(&mut self, now: Instant) -> Result<(), HeardEnd> {
        if !self.viewer.may_go_on(&self.app) || !self.viewer.sees(&self.call) {
            let detail = "the session has ended, or its rights have changed".to_owned();
            return Err(HeardEnd { reason: "logged_out", detail: Some(detail) });
        }
        match ask(&self.app, &self.call) {
            Ok(Some(told)) => (self.told, self.failing) = (told, None),
            Ok(None) => {
                // What was said last is still on its way.
                let over = *self.over.get_or_insert(now);
                if now.saturating_duration_since(over) >= LAST_WORDS {
                    return Err(HeardEnd { reason: "ended", detail: None });
                }
            }
            Err(error) => {
                // What is asked for lasts 15 s: the daemon may be busy for a moment.
                let since = *self.failing.get_or_insert(now);
                if now.saturating_duration_since(since) >= AWAY {
                    let reason = if error.is::<Refused>() { "refused" } else { "failed" };
                    return Err(HeardEnd { reason, detail: Some(format!("{error:#}")) });
                }
            }
        }
        self.add_streams(now);
        Ok(())
    }

    fn add_streams(&mut self, now: Instant) {
        for told in self.told.streams.clone() {
            let owner = of_stream(told.src, told.dst, told.ssrc);
            if self.seen.contains(&owner) {
                continue;
            }
            let is_told =
                |stream: &&Stream| (stream.src, stream.dst, stream.ssrc) == (told.src, told.dst, told.ssrc);
            if told.payload_type >= FIRST_DYNAMIC && !self.known.iter().any(|stream| is_told(&stream)) {
                // Its codec is in the messages: the daemon lists it with the call, sooner or later.
                let since = *self.unknown.entry(owner).or_insert(now);
                self.refresh(now);
                let is_late = now.saturating_duration_since(since) >= UNKNOWN;
                if !is_late && !self.known.iter().any(|stream| is_told(&stream)) {
                    continue;
                }
            }
            let known = self.known.iter().find(is_told);
            let side = known.and_then(|stream| stream.direction);
            let side = side.unwrap_or_else(|| guess_direction(&self.call, told.src, told.dst));
            let track = match known {
                Some(stream) => track(stream, &*self.app.sources.decoders).map_err(|lacking| lacking.why),
                None => self.of_type(told.payload_type),
            };
            self.seen.insert(owner);
            match track {
                // The same stream on both sides of a relay is heard once.
                Ok(_) if self.sides.contains(&(side, told.ssrc)) => {}
                Ok(track) => {
                    self.sides.push((side, told.ssrc));
                    self.sound.add(owner, side, track, now);
                    self.subscription.add(owner);
                }
                Err(why) if self.lacking.contains(&why) => {}
                Err(why) => self.lacking.push(why),
            }
        }
    }

    /// Asks again for the streams of the call, with their codecs.
    fn refresh(&mut self, now: Instant) {
        if now.saturating_duration_since(self.refreshed) >= REFRESH {
            self.refreshed = now;
            if let Ok(found) = find(&self.app, &self.viewer, &self.call.id, false, &Stop::default()) {
                self.known.clone_from(&found.call().1);
            }
        }
    }

    /// A track for a stream whose codec the daemon does not tell: another worker has its signalling.
    fn of_type(&self, payload_type: u8) -> Result<Track, String> {
        let codec = Codec::from_payload_type(payload_type).ok_or_else(|| {
            format!("the codec of payload type {payload_type} is not known while the call is in progress")
        })?;
        let clock = codec.clock(Hz(8_000));
        self.app.sources.decoders.open(codec, codec.rate(clock)).map_err(|error| error.to_string())?;
        Ok(Track::new(codec, clock))
    }

    fn say(&mut self, piece: Option<&Piece>, now: Instant) -> Result<(), HeardEnd> {
        self.said = now;
        let heard = Heard::of(&self.told.state, piece, &self.lacking);
        match self.events.try_send(heard) {
            Ok(()) => self.full = None,
            Err(TrySendError::Closed(_)) => return Err(HeardEnd { reason: "ended", detail: None }),
            Err(TrySendError::Full(_)) => {
                let since = *self.full.get_or_insert(now);
                if now.saturating_duration_since(since) >= SLOWEST {
                    let detail = "the sound was not read for 10 s".to_owned();
                    return Err(HeardEnd { reason: "slow", detail: Some(detail) });
                }
            }
        }
        Ok(())
    }
}

impl Heard {
    fn of(state: &str, piece: Option<&Piece>, lacking: &[String]) -> Self {
        let delay = |piece: &Piece| time::now().0.checked_sub(piece.to.0).map(|nanos| nanos / 1_000_000);
        let mut bytes = Vec::new();
        if let Some(Piece { sides: [left, right], .. }) = piece {
            for (left, right) in left.iter().zip(right) {
                bytes.extend(left.to_le_bytes());
                bytes.extend(right.to_le_bytes());
            }
        }
        Self {
            state: state.to_owned(),
            at_us: piece.map(|piece| piece.from.micros()),
            delay_ms: piece.and_then(delay).filter(|delay| *delay < STRANGE),
            rate: piece.map_or(0, |piece| piece.rate.0),
            samples: BASE64_STANDARD.encode(bytes),
            lacking: lacking.to_vec(),
            end: None,
        }
    }
}

/// Has the daemon write a call's packets soon; None if it has ended.
fn ask(app: &App, call: &Call) -> anyhow::Result<Option<Told>> {
    let daemon = app.sources.daemon.as_ref().ok_or_else(|| anyhow!("no running ringtap is known"))?;
    app.ears.ask(&call.call_id, |call_ids| daemon.listen(call_ids))
}

fn failed(detail: String) -> HeardEnd {
    HeardEnd { reason: "failed", detail: Some(detail) }
}

/// How long packets are waited for before a piece is played.
const STEP: Duration = Duration::from_millis(150);
/// How often the daemon and the session are asked.
const ASK: Duration = Duration::from_secs(1);
/// Whoever does not read for so long is not there any more.
const SLOWEST: Duration = Duration::from_secs(10);
/// Payload types from here on are announced (RFC 3551 section 3).
const FIRST_DYNAMIC: u8 = 96;
/// How often the streams of the call are asked for while a codec is not known, and for how long.
const REFRESH: Duration = Duration::from_secs(2);
const UNKNOWN: Duration = Duration::from_secs(6);
/// The daemon may be away for so long.
const AWAY: Duration = Duration::from_secs(5);
/// How long after the end of a call its last packets may come.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// Milliseconds: what is older than a day was not captured now.
const STRANGE: u64 = 24 * 3_600_000;
