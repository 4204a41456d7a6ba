//! Calls that satisfy a search and are in somebody's scope, one by one, the newest first.

use std::time::{Duration, Instant};

use ringtap_model::{Call, Condition, Filter, Id, Nanos, Stream};
use ringtap_search::Expression;
use ringtap_store::{Day, Query, Reader};
use serde_json::{Value, json};

use crate::problem::Problem;
use crate::viewer::Viewer;
use crate::work::Stop;

/// A search, and how far it may go.
pub(crate) struct Find<'a> {
    pub(crate) reader: &'a Reader,
    pub(crate) expression: &'a Expression,
    pub(crate) viewer: &'a Viewer,
    /// Streams are wanted beside each call.
    pub(crate) with_streams: bool,
    /// Only calls behind this one, in the order of the search.
    pub(crate) after: Option<Place>,
    pub(crate) stop: &'a Stop,
    pub(crate) longest: Duration,
}

/// The place of a call in the order of time: nothing that arrives later moves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    start: u64,
    id: [u8; 16],
}

impl Place {
    pub(crate) fn of(call: &Call) -> Self {
        Self { start: call.start().unwrap_or_default().micros(), id: call.id.0 }
    }

    /// As a program sends it back: opaque to it.
    pub(crate) fn to_text(self) -> String {
        format!("{:x}.{}", self.start, Id(self.id))
    }

    pub(crate) fn from_text(text: &str) -> Result<Self, Problem> {
        let parsed = text.split_once('.').and_then(|(start, id)| {
            Some(Self { start: u64::from_str_radix(start, 16).ok()?, id: id.parse::<Id>().ok()?.0 })
        });
        parsed.ok_or_else(|| {
            Problem::request("the cursor cannot be read", "send `next` of the page before as it was given")
        })
    }
}

/// How far a search went.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Coverage {
    days: usize,
    searched: usize,
    looked_at: u64,
    /// Why it ended early.
    reason: Option<&'static str>,
    span: Option<(Nanos, Nanos)>,
}

impl Coverage {
    /// Whether nothing was left out.
    pub(crate) fn is_complete(&self) -> bool {
        self.reason.is_none()
    }

    /// As the API has it.
    pub(crate) fn json(self) -> Value {
        json!({
            "complete": self.reason.is_none(),
            "reason": self.reason,
            "days": self.days,
            "days_searched": self.searched,
            "looked_at": self.looked_at,
            "from_us": self.span.map(|(from, _)| from.micros()),
            "until_us": self.span.map(|(_, until)| until.micros()),
        })
    }
}

impl Find<'_> {
    /// Passes each call to `each`, with its streams if they were asked for, until it returns false.
    pub(crate) fn run(
        &self,
        mut each: impl FnMut(Call, Vec<Stream>) -> Result<bool, Problem>,
    ) -> Result<Coverage, Problem> {
        let begun = Instant::now();
        let filter = self.expression.prefilter();
        let all = self.reader.days()?;
        let span = all.first().zip(all.last()).map(|(first, last)| (first.start(), last.end()));
        let days: Vec<Day> = all.into_iter().filter(|day| self.is_of(*day, &filter)).collect();
        let mut coverage = Coverage { days: days.len(), span, ..Coverage::default() };
        for day in days.into_iter().rev() {
            coverage.searched += 1;
            let mut until = day.end();
            let mut last = self.after;
            let mut limit = CHUNK;
            loop {
                if self.stop.is_set() || begun.elapsed() > self.longest {
                    coverage.reason = Some("time");
                    return Ok(coverage);
                }
                let mut conditions = filter.0.clone();
                conditions.extend([Condition::Since(day.start()), Condition::Until(until)]);
                let found = self.reader.calls(&Query { filter: Filter(conditions), limit, newest: true })?;
                let before = last;
                for call in found.records.into_iter().rev() {
                    let place = Place::of(&call);
                    if last.is_some_and(|last| place >= last) {
                        continue;
                    }
                    last = Some(place);
                    coverage.looked_at += 1;
                    if !self.viewer.sees(&call) {
                        continue;
                    }
                    let streams = match self.with_streams || self.expression.needs_streams() {
                        true => self.reader.streams_of(&call.id)?,
                        false => Vec::new(),
                    };
                    if self.expression.matches(&call, &streams) && !each(call, streams)? {
                        coverage.reason = Some("more");
                        return Ok(coverage);
                    }
                }
                if !found.cut {
                    break;
                }
                // Calls of one microsecond may be more than a chunk.
                limit = if last == before { limit * 2 } else { CHUNK };
                until = last.map_or(until, |last| Nanos::from_micros(last.start + 1));
            }
        }
        Ok(coverage)
    }

    fn is_of(&self, day: Day, filter: &Filter) -> bool {
        let after = self.after.is_none_or(|after| day.start().micros() <= after.start);
        after
            && filter.0.iter().all(|condition| match condition {
                Condition::Since(since) => day.end() > *since,
                Condition::Until(until) => day.start() < *until,
                _ => true,
            })
    }
}

/// Calls that are read at a time.
const CHUNK: usize = 2_000;
