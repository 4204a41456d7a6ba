//! What happened to a call, in the words of an engineer.
//!
//! One text for the terminal, pages, exports and alarms: how the call went, how each side was heard, what
//! else is worth a remark, and what makes all that uncertain. It is made of the record alone, so a stored
//! call says the same as one just seen.

mod heard;
mod remarks;

use ringtap_model::{Call, CallState, Nanos, Party, Stream};

use crate::text::counted;
use crate::time;

/// `Answered after 4.2 s, 12:03 long, the callee hung up. The caller was heard well (MOS 4.30).` Reason
/// phrases, numbers and what notes quote are as they came from the network: a caller makes them safe to show.
pub fn of_call(call: &Call, streams: &[Stream]) -> String {
    whole(outcome(call), call, streams)
}

/// The same of a call in progress, as far as it has come. [`of_call`] takes it for one that goes on when the
/// capture ended.
pub fn of_call_so_far(call: &Call, streams: &[Stream]) -> String {
    let so_far = match call.state {
        CallState::Active => format!("Answered{}, and goes on.", after(call, call.answer)),
        CallState::Ringing => "It is ringing.".to_owned(),
        CallState::Trying => "Neither ringing nor answered yet.".to_owned(),
        _ => outcome(call),
    };
    whole(so_far, call, streams)
}

fn whole(outcome: String, call: &Call, streams: &[Stream]) -> String {
    let mut sentences = vec![outcome];
    sentences.extend(routed_on(call));
    sentences.extend(heard::both_sides(call, streams));
    sentences.extend(remarks::of_call(call));
    sentences.extend(digits(call));
    sentences.extend(doubts(call, streams));
    sentences.join(" ")
}

/// What makes the sentences before uncertain, each with its reason; nothing where the whole call was seen.
pub fn doubts(call: &Call, streams: &[Stream]) -> Vec<String> {
    let mut doubts = Vec::new();
    if call.invite.is_none() {
        doubts.push("Its beginning was not seen.".to_owned());
    }
    if let Some(gap) = call.unmonitored_ms {
        doubts.push(format!("For {} of it this monitor did not run.", time::span(gap)));
    }
    if call.capture_drops > 0 {
        let lost = counted(call.capture_drops, "packet");
        doubts.push(format!(
            "This monitor itself lost {lost} meanwhile: what is missing may be missing here only."
        ));
    }
    let nowhere = streams.iter().filter(|stream| stream.direction.is_none()).count();
    if nowhere > 0 {
        let streams = counted(nowhere as u64, "stream");
        let whose =
            if nowhere == 1 { "it is not known whose it is" } else { "it is not known whose they are" };
        doubts.push(format!("Of {streams} {whose}."));
    }
    doubts
}

/// ` after 4.2 s`, since the INVITE.
fn after(call: &Call, until: Option<Nanos>) -> String {
    let span = || Some(time::span(until?.since(call.invite?).millis_f64()));
    span().map_or_else(String::new, |span| format!(" after {span}"))
}

fn outcome(call: &Call) -> String {
    let after = |until| after(call, until);
    let answered = format!("Answered{}", after(call.answer));
    let length = call.duration_ms.map_or_else(String::new, |length| format!(", {} long", time::span(length)));
    match call.state {
        CallState::Completed => format!("{answered}{length}{}.", released(call)),
        CallState::Active => format!("{answered}, and not over when the capture ended."),
        CallState::Timeout if call.answer.is_some() => {
            format!("{answered}{length}, then nothing more was seen: its BYE is missing.")
        }
        CallState::Timeout => format!("Never answered{}.", after(call.end)),
        CallState::Failed => format!("Failed{} with {}.", after(call.end), code(call)),
        CallState::Redirected => format!("Redirected{} with {}.", after(call.end), code(call)),
        CallState::Cancelled => format!("Given up by the caller{}{}.", after(call.end), rang(call)),
        CallState::Ringing => "Still ringing when the capture ended.".to_string(),
        CallState::Trying => "Neither ringing nor answered when the capture ended.".to_string(),
        CallState::Interrupted => "Under way when the monitor was stopped.".to_string(),
    }
}

fn released(call: &Call) -> &'static str {
    match call.released_by {
        Some(Party::Caller) => ", the caller hung up",
        Some(Party::Callee) => ", the callee hung up",
        Some(Party::Network) => ", released by the network",
        None => "",
    }
}

/// A caller who gives up has heard it ring, or nothing.
fn rang(call: &Call) -> String {
    match (call.ringing, call.end) {
        (Some(ringing), Some(end)) if end >= ringing => {
            format!(", having rung for {}", time::span(end.since(ringing).millis_f64()))
        }
        (None, _) => ", before it rang".to_owned(),
        _ => String::new(),
    }
}

fn code(call: &Call) -> String {
    let cause = call.cause.map_or_else(String::new, |cause| format!(" (Q.850 cause {cause})"));
    match (call.final_code, call.final_reason.as_deref()) {
        (0, _) => format!("no final answer{cause}"),
        (code, Some(reason)) if !reason.is_empty() => format!("{code} {reason}{cause}"),
        (code, _) => format!("{code}{cause}"),
    }
}

fn routed_on(call: &Call) -> Option<String> {
    const SHOWN: usize = 3;
    let (shown, rest) = call.diverted_to.split_at(call.diverted_to.len().min(SHOWN));
    let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
    (!shown.is_empty()).then(|| format!("It was routed on to {}{more}.", shown.join(", ")))
}

/// How many, never which: they may be a card's.
fn digits(call: &Call) -> Option<String> {
    let mut sources: Vec<&str> = Vec::new();
    for digit in &call.dtmf {
        if !sources.contains(&digit.source.name()) {
            sources.push(digit.source.name());
        }
    }
    let pressed = counted(call.dtmf.len() as u64, "digit");
    let verb = if call.dtmf.len() == 1 { "was" } else { "were" };
    (!sources.is_empty()).then(|| format!("{pressed} {verb} pressed ({}).", sources.join(", ")))
}

#[cfg(test)]
mod tests {
    use ringtap_model::{Direction, Dtmf, DtmfSource, Note, NoteCode};
    use ringtap_testing::samples;

    use super::*;

    /// A call of which there is nothing more to say than its outcome.
    fn call() -> Call {
        Call { diverted_to: vec![], dtmf: vec![], notes: vec![], capture_drops: 0, ..samples::call() }
    }

    #[test]
    fn outcomes_are_said_as_one_would() {
        assert_eq!(
            of_call(&call(), &[]),
            "Answered after 4.0 s, 1:02 long, the callee hung up. No media of it was seen."
        );
        let with = |state| Call { state, duration_ms: None, ..call() };
        let busy = Call {
            final_code: 486,
            final_reason: Some("Busy Here".into()),
            cause: Some(17),
            answer: None,
            ..with(CallState::Failed)
        };
        assert_eq!(of_call(&busy, &[]), "Failed after 1:06 with 486 Busy Here (Q.850 cause 17).");
        let lost = Call { duration_ms: Some(9_000.0), ..with(CallState::Timeout) };
        assert_eq!(
            of_call(&lost, &[]),
            "Answered after 4.0 s, 9.0 s long, then nothing more was seen: its BYE is missing. No media of \
             it was seen."
        );
        assert_eq!(of_call(&Call { answer: None, ..lost }, &[]), "Never answered after 1:06.");
        let given_up = Call { answer: None, ..with(CallState::Cancelled) };
        assert!(of_call(&given_up, &[]).starts_with("Given up by the caller after 1:06, having rung for 1:"));
        assert!(of_call(&Call { ringing: None, ..given_up }, &[]).ends_with(", before it rang."));
        for state in CallState::ALL {
            let said = of_call(&with(*state), &[]);
            assert!(said.ends_with('.') && !said.contains("  "), "{said}");
        }
    }

    #[test]
    fn routes_and_digits_are_told_without_the_digits() {
        let digit = |source| Dtmf { digit: "9".into(), source, time: samples::START };
        let routed = Call {
            diverted_to: ["1", "2", "3", "4"].map(String::from).to_vec(),
            dtmf: vec![digit(DtmfSource::Rfc4733), digit(DtmfSource::Info), digit(DtmfSource::Info)],
            ..call()
        };
        let said = of_call(&routed, &[]);
        assert!(said.contains(" It was routed on to 1, 2, 3 and 1 more. "), "{said}");
        assert!(said.ends_with(" 3 digits were pressed (rfc4733, info)."), "{said}");
        assert!(!said.contains('9'), "{said}");
    }

    #[test]
    fn what_makes_it_uncertain_comes_last() {
        let blind = Call { capture_drops: 1, unmonitored_ms: Some(2_000.0), invite: None, ..call() };
        let stream = Stream { direction: None, ..samples::stream() };
        let said = of_call(&blind, &[stream]);
        let doubts = "Its beginning was not seen. For 2.0 s of it this monitor did not run. This monitor \
            itself lost 1 packet meanwhile: what is missing may be missing here only. Of 1 stream it is not \
            known whose it is.";
        assert!(said.ends_with(doubts), "{said}");
        assert!(super::doubts(&call(), &[]).is_empty());
    }

    #[test]
    fn every_note_is_said_or_known_to_be_said_elsewhere() {
        for code in NoteCode::ALL {
            let note = Note {
                direction: Some(Direction::CalleeToCaller),
                ..Note::new(*code, "the evidence".into())
            };
            let noted = Call { notes: vec![note], ..call() };
            let stream = Stream { direction: Some(Direction::CalleeToCaller), ..samples::stream() };
            let (plain, said) = (of_call(&call(), std::slice::from_ref(&stream)), of_call(&noted, &[stream]));
            let is_in_the_figures = matches!(code, NoteCode::ShortCall | NoteCode::Loss | NoteCode::LowMos);
            assert_eq!(said == plain, is_in_the_figures, "{}: {said}", code.name());
            assert!(said.ends_with('.') && !said.contains("..") && !said.contains("  "), "{said}");
        }
    }

    #[test]
    fn a_call_in_progress_goes_on() {
        let of = |state| {
            let call = Call { state, end: None, duration_ms: None, ..samples::call() };
            (of_call_so_far(&call, &[]), of_call(&call, &[]))
        };
        let (so_far, whole) = of(CallState::Active);
        assert!(so_far.starts_with("Answered after ") && so_far.contains(", and goes on."), "{so_far}");
        assert!(whole.contains("not over when the capture ended"), "{whole}");
        assert!(of(CallState::Ringing).0.starts_with("It is ringing."));
        let (so_far, whole) = of(CallState::Completed);
        assert_eq!(so_far, whole);
    }
}
