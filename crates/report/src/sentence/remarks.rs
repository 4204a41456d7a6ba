//! What else is worth a remark: the notes that are about the whole call.

use ringtap_model::{Call, Note, NoteCode};

/// A sentence for each note that neither the outcome nor the sides have said.
pub(super) fn of_call(call: &Call) -> impl Iterator<Item = String> {
    call.notes.iter().filter_map(sentence)
}

fn sentence(note: &Note) -> Option<String> {
    let begin = match note.code {
        // Said with the side, or by the figures.
        NoteCode::OneWay
        | NoteCode::DirectionNotCaptured
        | NoteCode::Loss
        | NoteCode::LowMos
        | NoteCode::LatePackets
        | NoteCode::LongGap
        | NoteCode::Clipped
        | NoteCode::Silent
        | NoteCode::LateMedia
        | NoteCode::PacketTime
        | NoteCode::ShortCall => return None,
        NoteCode::NoAudio => "Nobody was heard",
        NoteCode::SignallingOnly | NoteCode::MediaElsewhere => "Its media did not pass here",
        NoteCode::SharedMedia => "Its media is judged with another call",
        NoteCode::Fax => "It was a fax",
        NoteCode::Encrypted => "Its media was encrypted",
        NoteCode::SlowSetUp => "It rang late",
        NoteCode::NoAck => "The answer was not acknowledged",
        NoteCode::Nat => "Probably a matter of NAT",
        NoteCode::CodecsDiffer => "The codecs differ",
        NoteCode::PayloadTypesDiffer => "The payload types differ",
        NoteCode::PacketTimesDiffer => "The packet times differ",
        NoteCode::SessionExpired => "Its session timer ran out",
        NoteCode::Hold => "It was on hold",
        NoteCode::Transfer => "It was transferred",
        NoteCode::NoIdentity => "Nobody vouches for the caller",
        NoteCode::BadIdentity => "Do not trust the caller's number",
        NoteCode::DurationsDiffer => "One side was there longer",
    };
    Some(format!("{begin}: {}.", note.evidence))
}
