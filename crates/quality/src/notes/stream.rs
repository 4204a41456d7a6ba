//! Notes of one stream.

use ringtap_model::{Direction, Note, NoteCode, Stream};

use super::thresholds::{
    CLIPPED_PCT, GAP_MS, LATE_PCT, LOSS_MIN, LOSS_PCT, LOW_MOS, PTIME_MS, SILENT_MS, SILENT_PCT,
};
use super::{MediaFacts, is_steady, length_ms};
use crate::Texts;

/// A stream of fewer packets says nothing of gaps and packet times.
const FEW: u64 = 50;
/// What the time between two packets may be that is still their packet time.
const LONGEST_PTIME_MS: f64 = 200.0;

/// What is to be remarked of a stream; `facts` of its call, if it has one.
pub fn of_stream(stream: &Stream, facts: &MediaFacts, texts: Texts<'_>) -> impl Iterator<Item = Note> {
    let all = [
        low_mos(stream, facts, texts),
        loss(stream, texts),
        late(stream, texts),
        gap(stream, facts, texts),
        clipped(stream, texts),
        silent(stream, texts),
        packet_time(stream, facts, texts),
    ];
    all.into_iter().flatten()
}

fn note(stream: &Stream, code: NoteCode, (value, threshold): (f64, f64), evidence: String) -> Note {
    let direction = stream.direction;
    Note { code, direction, since: None, value: Some(value), threshold: Some(threshold), evidence }
}

fn low_mos(stream: &Stream, facts: &MediaFacts, texts: Texts<'_>) -> Option<Note> {
    let mos = stream.mos.filter(|mos| *mos < LOW_MOS && expected(stream) >= FEW && facts.fax.is_none())?;
    let codec = stream.codec.as_deref().unwrap_or("its codec");
    let (_, late) = too_late(stream);
    let evidence = match (lost_pct(stream), late) {
        (0.0, 0.0) => texts(format_args!("{mos:.2} for {codec}, without any loss")),
        (lost, 0.0) => texts(format_args!("{mos:.2} for {codec} with {lost:.1} % of the packets lost")),
        (lost, late) => texts(format_args!(
            "{mos:.2} for {codec} with {lost:.1} % of the packets lost, {late:.1} % too late"
        )),
    };
    Some(note(stream, NoteCode::LowMos, (mos, LOW_MOS), evidence))
}

fn loss(stream: &Stream, texts: Texts<'_>) -> Option<Note> {
    let share = lost_pct(stream);
    if share < LOSS_PCT || (stream.lost as f64) < LOSS_MIN || expected(stream) < FEW {
        return None;
    }
    let evidence = texts(format_args!("{} of {} packets were lost", stream.lost, expected(stream)));
    Some(note(stream, NoteCode::Loss, (rounded(share), LOSS_PCT), evidence))
}

fn expected(stream: &Stream) -> u64 {
    stream.unique.saturating_add(stream.lost)
}

fn lost_pct(stream: &Stream) -> f64 {
    100.0 * stream.lost as f64 / expected(stream).max(1) as f64
}

/// Packets too late for the adaptive buffer, and their share in % of those that came.
fn too_late(stream: &Stream) -> (u64, f64) {
    let late: u64 = stream.intervals.iter().map(|interval| u64::from(interval.discarded)).sum();
    (late, 100.0 * late as f64 / stream.unique.max(1) as f64)
}

/// A MOS that loss does not explain.
fn late(stream: &Stream, texts: Texts<'_>) -> Option<Note> {
    let (late, share) = too_late(stream);
    stream.mos.filter(|_| share >= LATE_PCT)?;
    let since =
        stream.intervals.iter().find(|interval| interval.discarded > 0).map(|interval| interval.start);
    let evidence = texts(format_args!(
        "{late} of {} packets came more than 500 ms late: the MOS counts them as lost, `lost` does not",
        stream.unique
    ));
    Some(Note { since, ..note(stream, NoteCode::LatePackets, (rounded(share), LATE_PCT), evidence) })
}

/// Only what is not silence: numbers that are missing, or packets that came all at once after a pause that
/// their timestamps do not have.
fn gap(stream: &Stream, facts: &MediaFacts, texts: Texts<'_>) -> Option<Note> {
    if facts.fax.is_some() || facts.restricted || stream.unique < FEW || stream.lost > stream.unique {
        return None;
    }
    let ptime = stream.ptime_ms.filter(|ptime| *ptime <= LONGEST_PTIME_MS)?;
    if !is_steady(stream) {
        return None;
    }
    let burst = stream.burst_len_max.unwrap_or_default();
    let lost = burst as f64 * ptime;
    if lost >= GAP_MS {
        let evidence = texts(format_args!("{burst} packets in a row were lost: {lost:.0} ms"));
        return Some(note(stream, NoteCode::LongGap, (rounded(lost), GAP_MS), evidence));
    }
    // The longest pause may be where those were lost.
    let pause = stream.delta_ms_max.unwrap_or_default();
    let missing = length_ms(stream) - expected(stream) as f64 * ptime;
    if pause - lost < GAP_MS || missing >= pause / 4.0 {
        return None;
    }
    let evidence = texts(format_args!("nothing came for {pause:.0} ms, then all that was sent meanwhile"));
    Some(note(stream, NoteCode::LongGap, (pause, GAP_MS), evidence))
}

fn clipped(stream: &Stream, texts: Texts<'_>) -> Option<Note> {
    let share = stream.clipped_pct.filter(|share| *share >= CLIPPED_PCT)?;
    let evidence = texts(format_args!("{share:.1} % of the samples are at the end of the scale"));
    Some(note(stream, NoteCode::Clipped, (share, CLIPPED_PCT), evidence))
}

fn silent(stream: &Stream, texts: Texts<'_>) -> Option<Note> {
    let share = stream.silence_pct.filter(|share| *share >= SILENT_PCT)?;
    let length = length_ms(stream);
    let evidence = || texts(format_args!("{share:.1} % of {:.1} s is silence", length / 1e3));
    (length >= SILENT_MS).then(|| note(stream, NoteCode::Silent, (share, SILENT_PCT), evidence()))
}

/// Against what the receiver asked for.
fn packet_time(stream: &Stream, facts: &MediaFacts, texts: Texts<'_>) -> Option<Note> {
    let receiver = match stream.direction? {
        Direction::CallerToCallee => 1,
        Direction::CalleeToCaller => 0,
    };
    let (sent, asked) = (stream.ptime_ms?, f64::from(facts.ptime[receiver]?));
    let differs = (sent - asked).abs() >= PTIME_MS && stream.unique >= FEW;
    let evidence = || texts(format_args!("packets of {sent:.0} ms, the receiver asked for {asked:.0} ms"));
    differs.then(|| note(stream, NoteCode::PacketTime, (sent, asked), evidence()))
}

fn rounded(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}
