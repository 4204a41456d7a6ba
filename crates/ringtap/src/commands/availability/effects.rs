//! What a failover did, in words.

use ringtap_availability::{Effects, Totals};
use ringtap_model::Nanos;
use ringtap_report::text::{counted, grouped};
use ringtap_report::time;

/// Paragraphs below a failover.
pub(super) fn told(effects: &Effects) -> Vec<String> {
    let mut told = vec![calls(effects)];
    told.extend(delays(effects));
    told.push(gaps(effects));
    told.push(users(effects));
    told
}

/// The last line of all.
pub(super) fn total(totals: &Totals) -> Option<String> {
    let lost = totals.lost_per_million?;
    let calls = counted_of(totals.lost_calls, totals.calls);
    Some(format!("{calls} lost: {} of a million", grouped(lost.round() as u64)))
}

fn calls(effects: &Effects) -> String {
    let Effects { delayed, failed, cut, given_up, unknown, .. } = effects;
    let mut text = format!("calls:   {delayed} delayed, {failed} failed, {cut} cut");
    if *given_up > 0 {
        text.push_str(&format!(", {given_up} given up by the caller"));
    }
    if *unknown > 0 {
        text.push_str(&format!(", {unknown} unknown"));
    }
    text.push_str(&format!("; {} then", counted(effects.calls, "call")));
    if let Some(lost) = effects.lost_per_million {
        text.push_str(&format!(", {} of a million lost", grouped(lost.round() as u64)));
    }
    text
}

fn delays(effects: &Effects) -> Option<String> {
    let spans = [effects.delays.delay_ms_median, effects.delays.delay_ms_p95, effects.delays.delay_ms_max];
    Some(format!("delay:   {}", spread(spans)?))
}

fn gaps(effects: &Effects) -> String {
    let lengths = &effects.gap_lengths;
    match (effects.gaps, spread([lengths.gap_ms_median, lengths.gap_ms_p95, lengths.gap_ms_max])) {
        (None, _) => "media:   not seen".to_owned(),
        (Some(count), Some(spread)) => {
            format!("media:   gaps in {}: {spread}", counted(count, "direction"))
        }
        (Some(_), None) => "media:   no gaps".to_owned(),
    }
}

fn users(effects: &Effects) -> String {
    match effects.registering_users {
        0 => format!("people:  {}", counted(effects.users, "user")),
        registering => {
            format!("people:  {}, {registering} of them registering", counted(effects.users, "user"))
        }
    }
}

fn spread([median, p95, longest]: [Option<f64>; 3]) -> Option<String> {
    let span = |millis: f64| seconds(Nanos((millis * 1e6).round() as u64));
    Some(format!("median {}, 95 % within {}, longest {}", span(median?), span(p95?), span(longest?)))
}

fn counted_of(part: u64, whole: u64) -> String {
    format!("{} of {}", grouped(part), counted(whole, "call"))
}

/// Failovers are compared by their milliseconds.
pub(super) fn seconds(span: Nanos) -> String {
    match span {
        Nanos(..60_000_000_000) => format!("{:.3} s", span.secs_f64()),
        _ => time::span(span.millis_f64()),
    }
}
