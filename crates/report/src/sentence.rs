//! What happened to a call, in the words of an engineer.

use ringtap_model::{Call, CallState, Direction, Nanos, Party, Stream};

use crate::calls::{figure, loss_pct, percent, worst};
use crate::time;

/// `Answered after 4.2 s, 12:03 long, the callee hung up. The caller was heard well (MOS 4.30).` Reason
/// phrases are as they came from the network.
pub fn of_call(call: &Call, streams: &[Stream]) -> String {
    let mut sentences = vec![outcome(call)];
    for (direction, who) in
        [(Direction::CallerToCallee, "The caller"), (Direction::CalleeToCaller, "The callee")]
    {
        let stream = worst(streams.iter().filter(|stream| stream.direction == Some(direction)));
        sentences.extend(stream.and_then(|stream| heard(who, stream)));
    }
    sentences.join(" ")
}

fn outcome(call: &Call) -> String {
    let since = |until: Option<Nanos>| Some(time::span(until?.since(call.invite?).millis_f64()));
    let after = |until| since(until).map_or_else(String::new, |span| format!(" after {span}"));
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
        CallState::Cancelled => format!("Given up by the caller{}.", after(call.end)),
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

fn code(call: &Call) -> String {
    match (call.final_code, call.final_reason.as_deref()) {
        (0, _) => "no final answer".to_string(),
        (code, Some(reason)) if !reason.is_empty() => format!("{code} {reason}"),
        (code, _) => code.to_string(),
    }
}

/// By the bounds of G.107 Annex B; `None` where nothing rates the stream.
fn heard(who: &str, stream: &Stream) -> Option<String> {
    let mos = stream.mos?;
    let how = match mos {
        4.03.. => "well",
        3.6.. => "fairly well",
        3.1.. => "with difficulty",
        _ => "badly",
    };
    let loss = loss_pct(stream);
    let lost = if stream.lost > 0 { format!(", {} lost", percent(Some(loss))) } else { String::new() };
    Some(format!("{who} was heard {how} (MOS {}{lost}).", figure(Some(mos), 2)))
}

#[cfg(test)]
mod tests {
    use ringtap_testing::samples;

    use super::*;

    #[test]
    fn outcomes_are_said_as_one_would() {
        let call = samples::call();
        assert_eq!(of_call(&call, &[]), "Answered after 4.0 s, 1:02 long, the callee hung up.");
        let with = |state| Call { state, duration_ms: None, ..samples::call() };
        let busy = Call {
            final_code: 486,
            final_reason: Some("Busy Here".into()),
            answer: None,
            ..with(CallState::Failed)
        };
        assert_eq!(of_call(&busy, &[]), "Failed after 1:06 with 486 Busy Here.");
        let lost = Call { duration_ms: Some(9_000.0), ..with(CallState::Timeout) };
        assert_eq!(
            of_call(&lost, &[]),
            "Answered after 4.0 s, 9.0 s long, then nothing more was seen: its BYE is missing."
        );
        assert_eq!(of_call(&Call { answer: None, ..lost }, &[]), "Never answered after 1:06.");
        for state in CallState::ALL {
            let said = of_call(&with(*state), &[]);
            assert!(said.ends_with('.') && !said.contains("  "), "{said}");
        }
    }

    #[test]
    fn each_direction_is_said_with_its_worst_stream() {
        let stream = |direction, mos, lost| Stream {
            direction: Some(direction),
            mos: Some(mos),
            lost,
            unique: 900,
            ..samples::stream()
        };
        let streams = [
            stream(Direction::CallerToCallee, 4.3, 0),
            stream(Direction::CalleeToCaller, 4.3, 0),
            stream(Direction::CalleeToCaller, 1.83, 100),
        ];
        let said = of_call(&samples::call(), &streams);
        assert!(said.contains("The caller was heard well (MOS 4.30)."), "{said}");
        assert!(said.contains("The callee was heard badly (MOS 1.83, 10.0 % lost)."), "{said}");
    }
}
