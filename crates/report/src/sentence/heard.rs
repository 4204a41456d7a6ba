//! How each side of a call was heard.

use ringtap_model::{Call, Direction, LostAt, Note, NoteCode, Stream};

use crate::calls::{figure, loss_pct, percent, worst};
use crate::time;

/// A sentence for each direction of which something is known, or one for both where there was no media.
pub(super) fn both_sides(call: &Call, streams: &[Stream]) -> Vec<String> {
    let is_explained = call.notes.iter().any(|note| {
        matches!(
            note.code,
            NoteCode::NoAudio
                | NoteCode::SignallingOnly
                | NoteCode::MediaElsewhere
                | NoteCode::SharedMedia
                | NoteCode::Fax
        )
    });
    if streams.is_empty() && call.answer.is_some() && !is_explained {
        return vec!["No media of it was seen.".to_owned()];
    }
    [Direction::CallerToCallee, Direction::CalleeToCaller]
        .into_iter()
        .filter_map(|direction| Side::new(call, streams, direction).sentence())
        .collect()
}

/// One side of a call, who speaks in one direction.
struct Side<'a> {
    who: &'static str,
    stream: Option<&'a Stream>,
    notes: Vec<&'a Note>,
}

impl<'a> Side<'a> {
    fn new(call: &'a Call, streams: &'a [Stream], direction: Direction) -> Self {
        let who = match direction {
            Direction::CallerToCallee => "caller",
            Direction::CalleeToCaller => "callee",
        };
        let stream = worst(streams.iter().filter(|stream| stream.direction == Some(direction)));
        let notes = call.notes.iter().filter(|note| note.direction == Some(direction)).collect();
        Self { who, stream, notes }
    }

    fn note(&self, code: NoteCode) -> Option<&'a Note> {
        self.notes.iter().copied().find(|note| note.code == code)
    }

    fn sentence(&self) -> Option<String> {
        let who = self.who;
        let missing = self.note(NoteCode::OneWay);
        let Some(stream) = self.stream else {
            let elsewhere = self.note(NoteCode::DirectionNotCaptured);
            return missing
                .map(|note| format!("The {who} was not heard at all: {}.", note.evidence))
                .or(elsewhere
                    .map(|note| format!("What the {who} sent did not pass here: {}.", note.evidence)));
        };
        let heard = format!("The {who} was heard{}", rated(stream));
        let until = missing.map(|note| {
            let since = note.since.map_or_else(String::new, |since| format!(" after {}", time::clock(since)));
            format!("not at all{since}: {}", note.evidence)
        });
        let elsewhere = self
            .note(NoteCode::DirectionNotCaptured)
            .map(|note| format!("not all passed here: {}", note.evidence));
        let behind = stream.lost_at.filter(|at| *at == LostAt::BehindTap).map(|_| {
            let evidence = stream.lost_at_evidence.as_deref().unwrap_or("by the reports of the receiver");
            format!("the receiver lost more behind this tap: {evidence}")
        });
        let troubles = self.troubles().into_iter().chain(behind);
        let clauses: Vec<String> = troubles.chain(until).chain(elsewhere).collect();
        let with = if clauses.is_empty() { String::new() } else { format!("; {}", clauses.join("; ")) };
        Some(format!("{heard}{with}."))
    }

    /// What a listener would have complained about beside loss.
    fn troubles(&self) -> Vec<String> {
        let told = |code, words: &str| {
            self.note(code).map(|note| {
                if words.is_empty() { note.evidence.clone() } else { format!("{words}: {}", note.evidence) }
            })
        };
        [
            told(NoteCode::LatePackets, "packets came late"),
            told(NoteCode::LongGap, "with a gap"),
            told(NoteCode::Clipped, "too loud"),
            told(NoteCode::Silent, ""),
            told(NoteCode::LateMedia, "late"),
            told(NoteCode::PacketTime, "packet time"),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// By the bounds of G.107 Annex B; a stream that nothing rates is told without.
fn rated(stream: &Stream) -> String {
    let loss = loss_pct(stream);
    let lost = (stream.lost > 0).then(|| format!("{} lost{}", percent(Some(loss)), place(stream)));
    let Some(mos) = stream.mos else {
        let why = match stream.codec.as_deref() {
            Some(codec) => format!("no MOS for {codec}"),
            None => "its codec is not known".to_owned(),
        };
        let facts: Vec<String> = [Some(why), lost].into_iter().flatten().collect();
        return format!(" ({})", facts.join(", "));
    };
    let how = match mos {
        4.03.. => "well",
        3.6.. => "fairly well",
        3.1.. => "with difficulty",
        _ => "badly",
    };
    let facts: Vec<String> = [Some(format!("MOS {}", figure(Some(mos), 2))), lost, worst_time(stream, mos)]
        .into_iter()
        .flatten()
        .collect();
    format!(" {how} ({})", facts.join(", "))
}

/// Where most of it was lost, if that is known.
fn place(stream: &Stream) -> &'static str {
    match stream.lost_at {
        Some(LostAt::Sender) => " at the sender",
        Some(LostAt::BeforeTap) => " before this tap",
        Some(LostAt::Capture) => " in this capture alone",
        // What is lost behind this tap is not missing here: it is told by itself.
        Some(LostAt::BehindTap | LostAt::Unknown) | None => "",
    }
}

/// When it was clearly worse than on the whole.
fn worst_time(stream: &Stream, mos: f64) -> Option<String> {
    const CLEARLY: f64 = 0.5;
    let rated = stream.intervals.iter().filter_map(|interval| Some((interval.mos?, interval.start)));
    let (lowest, start) = rated.min_by(|one, other| one.0.total_cmp(&other.0))?;
    (mos - lowest >= CLEARLY)
        .then(|| format!("{} from {} on for 10 s", figure(Some(lowest), 2), time::clock(start)))
}

#[cfg(test)]
mod tests {
    use ringtap_model::Nanos;
    use ringtap_testing::samples;

    use super::*;

    fn stream(direction: Direction, mos: Option<f64>, lost: u64) -> Stream {
        let intervals = vec![];
        Stream {
            direction: Some(direction),
            mos,
            lost,
            unique: 900,
            lost_at: None,
            intervals,
            ..samples::stream()
        }
    }

    #[test]
    fn a_call_without_media_says_so_unless_a_note_does() {
        assert_eq!(said(vec![], &[]), "No media of it was seen.");
        assert_eq!(said(vec![Note::new(NoteCode::SignallingOnly, "x".into())], &[]), "");
        assert!(both_sides(&Call { answer: None, notes: vec![], ..samples::call() }, &[]).is_empty());
    }

    fn said(notes: Vec<Note>, streams: &[Stream]) -> String {
        both_sides(&Call { notes, ..samples::call() }, streams).join(" ")
    }

    #[test]
    fn each_direction_is_said_with_its_worst_stream() {
        let streams = [
            stream(Direction::CallerToCallee, Some(4.3), 0),
            stream(Direction::CalleeToCaller, Some(4.3), 0),
            stream(Direction::CalleeToCaller, Some(1.83), 100),
        ];
        assert_eq!(
            said(vec![], &streams),
            "The caller was heard well (MOS 4.30). The callee was heard badly (MOS 1.83, 10.0 % lost)."
        );
    }

    #[test]
    fn who_was_not_heard_is_said_with_the_evidence() {
        let silent = |code, since| Note {
            direction: Some(Direction::CalleeToCaller),
            since,
            ..Note::new(code, "none from the callee".into())
        };
        let caller = stream(Direction::CallerToCallee, Some(4.3), 0);
        let only = std::slice::from_ref(&caller);
        let heard = "The caller was heard well (MOS 4.30). ";
        let never = said(vec![silent(NoteCode::OneWay, None)], only);
        assert_eq!(never, format!("{heard}The callee was not heard at all: none from the callee."));
        let elsewhere = said(vec![silent(NoteCode::DirectionNotCaptured, None)], only);
        assert_eq!(
            elsewhere,
            format!("{heard}What the callee sent did not pass here: none from the callee.")
        );
        let both = [caller.clone(), stream(Direction::CalleeToCaller, Some(4.1), 0)];
        let ended = said(vec![silent(NoteCode::OneWay, Some(samples::START))], &both);
        let clock = time::clock(samples::START);
        assert_eq!(
            ended,
            format!(
                "{heard}The callee was heard well (MOS 4.10); not at all after {clock}: none from the callee."
            )
        );
    }

    #[test]
    fn where_it_was_lost_is_said_where_it_is_known() {
        let lost = |lost_at, evidence: &str| Stream {
            lost_at: Some(lost_at),
            lost_at_evidence: Some(evidence.into()),
            ..stream(Direction::CallerToCallee, Some(1.83), 100)
        };
        assert_eq!(
            said(vec![], &[lost(LostAt::BeforeTap, "x")]),
            "The caller was heard badly (MOS 1.83, 10.0 % lost before this tap)."
        );
        let unknown = said(vec![], &[lost(LostAt::Unknown, "x")]);
        assert_eq!(unknown, "The caller was heard badly (MOS 1.83, 10.0 % lost).");
        let behind = Stream { lost: 0, mos: Some(4.3), ..lost(LostAt::BehindTap, "20 lost behind here") };
        assert_eq!(
            said(vec![], &[behind]),
            "The caller was heard well (MOS 4.30); the receiver lost more behind this tap: 20 lost behind \
             here."
        );
    }

    #[test]
    fn the_worst_moment_and_what_is_not_known_are_said() {
        let mut bad = stream(Direction::CallerToCallee, Some(4.1), 9);
        bad.intervals = samples::stream().intervals;
        let lowest = bad.intervals.iter().filter_map(|interval| interval.mos).fold(5.0, f64::min);
        assert!(lowest < 3.6, "the sample has a bad moment");
        let text = said(vec![], &[bad]);
        assert!(text.contains(&format!(", {lowest:.2} from ")) && text.ends_with(" on for 10 s)."), "{text}");
        let unknown = Stream { codec: None, ..stream(Direction::CallerToCallee, None, 0) };
        assert_eq!(said(vec![], &[unknown]), "The caller was heard (its codec is not known).");
        let video = Stream { codec: Some("H264".into()), ..stream(Direction::CallerToCallee, None, 9) };
        assert_eq!(said(vec![], &[video]), "The caller was heard (no MOS for H264, 0.99 % lost).");
        assert_eq!(
            said(vec![], &[Stream { first: Nanos::ZERO, ..samples::stream() }]).matches("heard").count(),
            1
        );
    }
}
