//! Calls that satisfy a search and are in somebody's scope, one by one, the newest first.

use std::ops::ControlFlow;

use ringtap_model::{Call, Nanos, Stream};
use ringtap_search::Expression;
use ringtap_store::{Cursor, Reader, Search, SearchEnd};
use serde::Serialize;
use utoipa::ToSchema;

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
    pub(crate) after: Option<Cursor>,
    /// About so many are wanted.
    pub(crate) limit: usize,
    pub(crate) stop: &'a Stop,
}

/// How far a search went. Nothing was searched where nothing is recorded.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Coverage {
    searched: Option<ringtap_store::Coverage>,
    /// The time that was searched, as far as there are records.
    span: Option<(Nanos, Nanos)>,
}

impl Coverage {
    /// Whether nothing was left out.
    pub(crate) fn is_complete(&self) -> bool {
        self.reason().is_none()
    }

    /// Where the search goes on, as a program sends it back: opaque to it. None where it is complete.
    pub(crate) fn next(&self) -> Option<String> {
        self.searched?.next.map(|next| next.to_string())
    }

    /// Why it ended early.
    fn reason(&self) -> Option<&'static str> {
        match self.searched?.end {
            SearchEnd::Complete => None,
            SearchEnd::Enough => Some("more"),
            SearchEnd::Stopped => Some("time"),
        }
    }

    /// As the API has it.
    pub(crate) fn answer(&self) -> CoverageAnswer {
        let searched = self.searched.as_ref();
        CoverageAnswer {
            complete: self.is_complete(),
            reason: self.reason(),
            days: searched.map_or(0, |searched| searched.days),
            days_searched: searched.map_or(0, |searched| searched.days_searched),
            looked_at: searched.map_or(0, |searched| searched.looked_at),
            from_us: self.span.map(|(from, _)| from.micros()),
            until_us: self.span.map(|(_, until)| until.micros()),
        }
    }
}

/// How far a search went.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Coverage)]
pub(crate) struct CoverageAnswer {
    /// Whether nothing was left out.
    complete: bool,
    /// Why it ended early: `more` where there are further pages, `time` where it took too long.
    reason: Option<&'static str>,
    /// Days that may have such calls.
    days: usize,
    /// Days of them that were searched, the newest first.
    days_searched: usize,
    /// Records that were looked at; for whoever may see some calls only, those of them that were found.
    looked_at: u64,
    /// The time that was searched, as far as there are records.
    from_us: Option<u64>,
    until_us: Option<u64>,
}

/// The place that a program sends back.
pub(crate) fn cursor(text: &str) -> Result<Cursor, Problem> {
    text.parse().map_err(|_| {
        Problem::request("the cursor cannot be read", "send `next` of the page before as it was given")
    })
}

impl Find<'_> {
    /// Passes each call to `each`, with its streams if they were asked for, until it returns false.
    pub(crate) fn run(
        &self,
        mut each: impl FnMut(Call, Vec<Stream>) -> Result<bool, Problem>,
    ) -> Result<Coverage, Problem> {
        let days = self.reader.days()?;
        let recorded = days.first().zip(days.last()).map(|(first, last)| (first.start(), last.end()));
        let search = Search { after: self.after, limit: self.limit, ..Search::new(self.expression.clone()) };
        let (mut failed, mut seen) = (None, 0);
        let mut searched =
            self.reader.each_call(&search, self.with_streams, self.stop, |call, streams| {
                if !self.viewer.sees(&call) {
                    return ControlFlow::Continue(());
                }
                seen += 1;
                match each(call, streams) {
                    Ok(true) => ControlFlow::Continue(()),
                    Ok(false) => ControlFlow::Break(()),
                    Err(problem) => {
                        failed = Some(problem);
                        ControlFlow::Break(())
                    }
                }
            })?;
        if let Some(problem) = failed {
            return Err(problem);
        }
        if self.viewer.is_limited() {
            // How many calls of others there are is not to be seen.
            searched.looked_at = seen;
        }
        let span = recorded.map(|(first, last)| {
            let from = searched.span.from.map_or(first, |from| from.max(first));
            (from, searched.span.to.map_or(last, |to| to.min(last)).max(from))
        });
        Ok(Coverage { searched: Some(searched), span })
    }
}
