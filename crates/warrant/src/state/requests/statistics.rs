//! Figures of requests, as Article 10 of Directive 2006/24/EC asks for them. They name no subject.

use std::collections::BTreeMap;

use ringtap_model::Nanos;
use serde::Serialize;

use super::ages::{MONTHS, month_of};
use super::request::{RefusalReason, Request, RequestStatus};

/// The least, the middle and the greatest of several spans.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Spread {
    /// The shortest.
    #[serde(rename = "least_us")]
    pub least: Nanos,
    /// The one in the middle; of an even number, the mean of the two there.
    #[serde(rename = "median_us")]
    pub median: Nanos,
    /// The longest.
    #[serde(rename = "most_us")]
    pub most: Nanos,
}

impl Spread {
    /// None of no span.
    fn of(mut spans: Vec<Nanos>) -> Option<Self> {
        spans.sort_unstable();
        let (least, most) = (*spans.first()?, *spans.last()?);
        let (low, high) = (spans[(spans.len() - 1) / 2], spans[spans.len() / 2]);
        Some(Self { least, median: Nanos(low.0.midpoint(high.0)), most })
    }
}

/// Figures of the requests that were received in some time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RequestStatistics {
    /// Requests that were received.
    pub received: u64,
    /// Those of which data was given.
    pub answered: u64,
    /// Those that were searched for, and there was no data.
    pub no_data: u64,
    /// Those that were refused or could not be met, by the reason.
    pub refused: BTreeMap<RefusalReason, u64>,
    /// Those that wait for an approval or an answer.
    pub waiting: u64,
    /// Calls that were given.
    pub calls: u64,
    /// Sessions of access that were given.
    pub accesses: u64,
    /// Of each answered request, how old its earliest communication was when the request was received.
    pub age: Option<Spread>,
    /// Answered requests by that age, in completed months; the last is for 24 and more.
    pub requests_by_month: Vec<u64>,
    /// Communications that were given, by their age when the request was received.
    pub communications_by_month: Vec<u64>,
    /// From the receipt of a request to its first answer, or to its refusal.
    pub response: Option<Spread>,
}

impl RequestStatistics {
    /// Of these requests.
    pub(crate) fn of<'a>(requests: impl IntoIterator<Item = &'a Request>) -> Self {
        let (mut ages, mut responses) = (Vec::new(), Vec::new());
        let mut counts = Self {
            requests_by_month: vec![0; MONTHS],
            communications_by_month: vec![0; MONTHS],
            ..Self::default()
        };
        for request in requests {
            counts.received += 1;
            match request.status() {
                RequestStatus::Received | RequestStatus::Approved => counts.waiting += 1,
                RequestStatus::Answered => counts.answered += 1,
                RequestStatus::NoData => counts.no_data += 1,
                RequestStatus::Refused => {}
            }
            let received = request.entered.received;
            if let Some(refusal) = &request.refused {
                *counts.refused.entry(refusal.reason).or_default() += 1;
                responses.push(refusal.at.since(received));
            }
            responses.extend(request.answers.first().map(|given| given.at.since(received)));
            // One that was given again counts once, by the newest.
            let Some(answer) = request.answers.last().map(|given| &given.answer) else { continue };
            counts.calls = counts.calls.saturating_add(answer.calls);
            counts.accesses = counts.accesses.saturating_add(answer.accesses);
            for (all, own) in counts.communications_by_month.iter_mut().zip(&answer.by_month) {
                *all = all.saturating_add(*own);
            }
            if let Some(earliest) = answer.earliest {
                let age = received.since(earliest);
                counts.requests_by_month[month_of(age)] += 1;
                ages.push(age);
            }
        }
        Self { age: Spread::of(ages), response: Spread::of(responses), ..counts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_an_even_number_is_between_two() {
        let of = |spans: &[u64]| Spread::of(spans.iter().map(|span| Nanos(*span)).collect());
        assert_eq!(of(&[]), None);
        let spread = |least, median, most| {
            Some(Spread { least: Nanos(least), median: Nanos(median), most: Nanos(most) })
        };
        assert_eq!(of(&[7]), spread(7, 7, 7));
        assert_eq!(of(&[9, 1, 5]), spread(1, 5, 9));
        assert_eq!(of(&[9, 1, 5, 6]), spread(1, 5, 9));
        assert_eq!(of(&[u64::MAX, u64::MAX - 2]), spread(u64::MAX - 2, u64::MAX - 1, u64::MAX));
    }
}
