//! Notes of a call: what its streams show together.

use std::fmt::{self, Display};
use std::net::IpAddr;

use ringtap_model::{Call, Direction, Hz, Nanos, Note, NoteCode, Stream};

use super::thresholds::{
    DURATION_MS, DURATION_PCT, LATE_MEDIA_MS, NO_ACK, NO_AUDIO_MS, ONE_WAY_END_MS, ONE_WAY_MS, SET_UP_MS,
    SHORT_MS,
};
use super::{MediaFacts, TapSees, is_steady};
use crate::Texts;

/// Streams of a call that are compared with one another; a call has two, or four where a relay is seen on
/// both sides.
const MOST: usize = 16;
/// A week: what seems to take longer is a clock that was set.
const CLOCK_JUMP_MS: f64 = 7.0 * 86_400_000.0;
const DIRECTIONS: [Direction; 2] = [Direction::CallerToCallee, Direction::CalleeToCaller];

/// Adds what is to be remarked of a call as a whole to its notes. `sees` says what this tap sees of other
/// media between two addresses.
pub fn of_call<'a>(
    (call, notes): (&Call, &mut Vec<Note>),
    streams: impl Iterator<Item = &'a Stream>,
    facts: &MediaFacts,
    sees: impl Fn(IpAddr, IpAddr) -> TapSees,
    texts: Texts<'_>,
) {
    static NONE: Stream = Stream::UNKNOWN;
    let mut sound = [&NONE; MOST];
    let of_sound = streams.filter(|stream| !is_video(stream));
    let mut count = 0;
    for (place, stream) in sound.iter_mut().zip(of_sound) {
        *place = stream;
        count += 1;
    }
    let streams = &sound[..count];
    set_up(call, notes, texts);
    if let Some(offered) = facts.fax {
        let evidence = texts(format_args!("T.38 was offered: the E-model rates no fax"));
        notes.push(Note { since: Some(offered), ..Note::new(NoteCode::Fax, evidence) });
    }
    if facts.encrypted && !streams.is_empty() {
        let evidence =
            texts(format_args!("the last SDP announced encrypted media: its sound cannot be judged"));
        notes.push(Note::new(NoteCode::Encrypted, evidence));
    }
    let Some(answer) = call.answer else { return };
    // What the tap missed, or hold and T.38 took away, says nothing of the call.
    if facts.fax.is_some() || facts.restricted || call.capture_drops > 0 || call.unmonitored_ms.is_some() {
        return;
    }
    if streams.is_empty() && facts.is_at_twin {
        notes.push(shared(facts, texts));
        return;
    }
    let judged = Answered { call, streams, facts, answer, texts };
    let no_ack = judged.no_ack();
    let missing = if streams.is_empty() { judged.without_media(&sees) } else { judged.one_way(&sees) };
    if missing.is_none() {
        notes.extend(judged.late_media());
        judged.differences(notes);
    }
    notes.extend(judged.nat(no_ack.is_some(), missing.is_some()));
    notes.extend(no_ack);
    notes.extend(missing);
}

/// Video has this clock (RFC 3551 section 5), sound has another.
fn is_video(stream: &Stream) -> bool {
    stream.clock == Some(Hz(90_000))
}

/// A proxy that hides topology gives a call another Call-ID, and leaves its media alone.
fn shared(facts: &MediaFacts, texts: Texts<'_>) -> Note {
    let places = fmt::from_fn(|f| match facts.announced {
        [Some(one), Some(two)] => write!(f, "{one} and {two}"),
        [one, two] => one.or(two).map_or(Ok(()), |address| address.fmt(f)),
    });
    Note::new(
        NoteCode::SharedMedia,
        texts(format_args!("another call announced the same endpoints, of {places}, and has the streams")),
    )
}

fn set_up(call: &Call, notes: &mut Vec<Note>, texts: Texts<'_>) {
    if let Some(pdd) = call.pdd_ms.filter(|pdd| (SET_UP_MS..CLOCK_JUMP_MS).contains(pdd)) {
        let evidence =
            texts(format_args!("{:.1} s from the INVITE to the first ringing or answer", pdd / 1e3));
        notes.push(numbered(NoteCode::SlowSetUp, None, (pdd, SET_UP_MS), evidence));
    }
    if let Some(length) = call.duration_ms.filter(|length| *length <= SHORT_MS) {
        let evidence = texts(format_args!("released {:.1} s after the answer", length / 1e3));
        notes.push(numbered(NoteCode::ShortCall, None, (length, SHORT_MS), evidence));
    }
}

fn numbered(
    code: NoteCode,
    direction: Option<Direction>,
    (value, threshold): (f64, f64),
    evidence: String,
) -> Note {
    Note { direction, value: Some(value), threshold: Some(threshold), ..Note::new(code, evidence) }
}

fn sender(direction: Direction) -> &'static str {
    match direction {
        Direction::CallerToCallee => "caller",
        Direction::CalleeToCaller => "callee",
    }
}

fn other(direction: Direction) -> Direction {
    match direction {
        Direction::CallerToCallee => Direction::CalleeToCaller,
        Direction::CalleeToCaller => Direction::CallerToCallee,
    }
}

/// An answered call that was not held, of which the tap is not known to have missed anything.
struct Answered<'a> {
    call: &'a Call,
    streams: &'a [&'a Stream],
    facts: &'a MediaFacts,
    answer: Nanos,
    texts: Texts<'a>,
}

impl<'a> Answered<'a> {
    fn of(&self, direction: Direction) -> impl Iterator<Item = &'a Stream> {
        self.streams.iter().copied().filter(move |stream| stream.direction == Some(direction))
    }

    /// The part of a stream after the answer, in ms.
    fn answered_ms(&self, stream: &Stream) -> f64 {
        stream.last.since(stream.first.max(self.answer)).millis_f64()
    }

    /// Both sides said where they want audio, and none came.
    fn without_media(&self, sees: impl Fn(IpAddr, IpAddr) -> TapSees) -> Option<Note> {
        let [Some(caller), Some(callee)] = self.facts.announced else { return None };
        let answered =
            self.call.duration_ms.filter(|length| (NO_AUDIO_MS..CLOCK_JUMP_MS).contains(length))?;
        let (code, why) = match sees(caller, callee) {
            TapSees::BothDirections => (NoteCode::NoAudio, "media of other calls between these places is"),
            TapSees::OtherMedia => (NoteCode::MediaElsewhere, "media of other places is"),
            TapSees::Nothing => (NoteCode::SignallingOnly, "no media of any call was"),
        };
        let evidence = (self.texts)(format_args!(
            "no packet of media between {caller} and {callee} in {:.1} s; {why} seen here",
            answered / 1e3
        ));
        let numbers = (answered, NO_AUDIO_MS);
        Some(Note { since: Some(self.answer), ..numbered(code, None, numbers, evidence) })
    }

    /// One direction never had a packet, or ended long before the other.
    fn one_way(&self, sees: impl Fn(IpAddr, IpAddr) -> TapSees) -> Option<Note> {
        DIRECTIONS.into_iter().find_map(|heard| match self.of(other(heard)).next() {
            None => self.never_heard(heard, &sees),
            Some(_) => self.fell_silent(heard),
        })
    }

    fn never_heard(&self, heard: Direction, sees: impl Fn(IpAddr, IpAddr) -> TapSees) -> Option<Note> {
        // What belongs to no direction may be the one that is missing.
        if self.streams.iter().any(|stream| stream.direction.is_none()) {
            return None;
        }
        let stream = self.of(heard).max_by_key(|stream| stream.packets)?;
        let length = self.answered_ms(stream);
        if length < ONE_WAY_MS {
            return None;
        }
        let silent = other(heard);
        let (code, why) = match sees(stream.src.ip, stream.dst.ip) {
            TapSees::BothDirections => (NoteCode::OneWay, "both directions of other calls there are seen"),
            _ => (NoteCode::DirectionNotCaptured, "this tap was not seen to see that direction"),
        };
        let evidence = (self.texts)(format_args!(
            "{} packets from the {}, none from the {}; {why}",
            stream.packets,
            sender(heard),
            sender(silent)
        ));
        let note = numbered(code, Some(silent), (length, ONE_WAY_MS), evidence);
        Some(Note { since: Some(self.answer), ..note })
    }

    fn fell_silent(&self, heard: Direction) -> Option<Note> {
        let silent = other(heard);
        // A sender that suppresses silence may have nothing to say, and one that moved was not followed.
        if self.streams.iter().any(|stream| !is_steady(stream)) {
            return None;
        }
        let goes_on = self.of(heard).map(|stream| stream.last).max()?;
        let last = self.of(silent).map(|stream| stream.last).max()?;
        let between = goes_on.since(last).millis_f64();
        let mirrored =
            self.of(heard).any(|one| self.of(silent).any(|two| (one.src, one.dst) == (two.dst, two.src)));
        if between < ONE_WAY_END_MS || goes_on <= self.answer || !mirrored {
            return None;
        }
        let evidence = (self.texts)(format_args!(
            "the {} sent nothing more, the {} for another {:.1} s",
            sender(silent),
            sender(heard),
            between / 1e3
        ));
        let note = numbered(NoteCode::OneWay, Some(silent), (between, ONE_WAY_END_MS), evidence);
        Some(Note { since: Some(last.max(self.answer)), ..note })
    }

    /// The callee gives up on an answer that nobody confirms.
    fn no_ack(&self) -> Option<Note> {
        let repeated = f64::from(self.facts.answers_repeated);
        if repeated < NO_ACK || self.facts.acknowledged {
            return None;
        }
        let evidence =
            (self.texts)(format_args!("the answer was repeated {repeated} times, no ACK was seen"));
        let note = numbered(NoteCode::NoAck, None, (repeated, NO_ACK), evidence);
        Some(Note { since: Some(self.answer), ..note })
    }

    /// A private address where the packets have a public one: nobody outside can answer to it.
    fn nat(&self, no_ack: bool, no_media: bool) -> Option<Note> {
        let MediaFacts { private, private_contact, ice, .. } = *self.facts;
        let media = private.into_iter().flatten().next().filter(|_| no_media && !ice);
        let (of, (announced, seen)) = match private_contact.filter(|_| no_ack) {
            Some(contact) => ("as the Contact for the ACK", contact),
            None => ("for media", media?),
        };
        let evidence = (self.texts)(format_args!("{announced} was announced {of} in messages from {seen}"));
        Some(Note::new(NoteCode::Nat, evidence))
    }

    fn late_media(&self) -> Option<Note> {
        DIRECTIONS.into_iter().find_map(|direction| {
            let first = self.of(direction).min_by_key(|stream| stream.first)?;
            let wait = first.first.since(self.answer).millis_f64();
            if wait < LATE_MEDIA_MS || !self.of(direction).all(is_steady) {
                return None;
            }
            let evidence = (self.texts)(format_args!(
                "the first packet from the {} came {:.1} s after the answer",
                sender(direction),
                wait / 1e3
            ));
            let note = numbered(NoteCode::LateMedia, Some(direction), (wait, LATE_MEDIA_MS), evidence);
            Some(Note { since: Some(self.answer), ..note })
        })
    }

    /// The two directions of one path, compared.
    fn differences(&self, notes: &mut Vec<Note>) {
        let Some((there, back)) = self.both_ways() else { return };
        if let (Some(one), Some(two)) = (&there.codec, &back.codec) {
            if !one.eq_ignore_ascii_case(two) {
                let evidence = (self.texts)(format_args!("the caller sent {one}, the callee {two}"));
                notes.push(Note::new(NoteCode::CodecsDiffer, evidence));
            } else if there.payload_type != back.payload_type {
                let (one_type, two_type) = (there.payload_type, back.payload_type);
                let evidence = (self.texts)(format_args!(
                    "{one} was type {one_type} from the caller, {two_type} from the callee"
                ));
                notes.push(Note::new(NoteCode::PayloadTypesDiffer, evidence));
            }
        }
        if let (Some(one), Some(two)) = (there.ptime_ms, back.ptime_ms)
            && (one - two).abs() >= 1.0
        {
            let evidence = (self.texts)(format_args!(
                "the caller sent packets of {one:.0} ms, the callee of {two:.0} ms"
            ));
            notes.push(Note::new(NoteCode::PacketTimesDiffer, evidence));
        }
        let lengths = [self.answered_ms(there), self.answered_ms(back)];
        let (difference, longer) = ((lengths[0] - lengths[1]).abs(), lengths[0].max(lengths[1]));
        if difference >= DURATION_MS && difference * 100.0 >= longer * DURATION_PCT {
            let seconds = lengths.map(|length| length / 1e3);
            let evidence = (self.texts)(format_args!(
                "{:.1} s from the caller, {:.1} s from the callee",
                seconds[0], seconds[1]
            ));
            notes.push(numbered(NoteCode::DurationsDiffer, None, (difference, DURATION_MS), evidence));
        }
    }

    /// The longest stream of the caller that has one against it between the same ports, where each direction
    /// has one stream on that path and sends all the time.
    fn both_ways(&self) -> Option<(&'a Stream, &'a Stream)> {
        let there = self.of(Direction::CallerToCallee).max_by_key(|stream| stream.packets)?;
        let against = |stream: &&Stream| (stream.src, stream.dst) == (there.dst, there.src);
        let along = |stream: &&Stream| (stream.src, stream.dst) == (there.src, there.dst);
        let mut back = self.of(Direction::CalleeToCaller).filter(against);
        let (back, more) = (back.next()?, back.next());
        let alone = more.is_none() && self.of(Direction::CallerToCallee).filter(along).count() == 1;
        let steady = [there, back].iter().all(|stream| is_steady(stream) && stream.packets >= 50);
        (alone && steady).then_some((there, back))
    }
}
