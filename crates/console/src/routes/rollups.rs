//! What KPIs are added up from: the stored figures, and for whoever may see some calls only the records of
//! these calls, from which figures are computed as the stored ones are from all.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use ringtap_kpi::rollup::minute_of;
use ringtap_kpi::{Rollup, Table};
use ringtap_model::{Call, Condition, Filter, Nanos, Stream};
use ringtap_report::time;
use ringtap_search::Expression;
use ringtap_store::{Cursor, FoldMinute, FoldedMinute, MakeRollup, Reader, Search, SearchEnd, SearchOrder};

use super::TimeSpan;
use crate::problem::Problem;
use crate::state::Shared;
use crate::viewer::Viewer;
use crate::work::Stop;

/// Figures of the calls that somebody may see. Whoever may see all of them has the stored ones; so has a
/// scope of trunks where the groups are trunks (`by_trunk`), and the caller leaves out those that it has not.
pub(super) fn table(
    app: &Shared,
    viewer: &Viewer,
    span: TimeSpan,
    (table, by_trunk): (Table, bool),
    stop: &Stop,
) -> Result<Table, Problem> {
    if !viewer.is_limited() || by_trunk && viewer.identity.scope.is_of_trunks() {
        return stored(app, viewer, span, table, stop);
    }
    let Some(reader) = app.records(stop)? else { return Ok(table) };
    let table = observed(&reader, span, table)?;
    let from = span.from_us.map_or(Nanos::ZERO, |from| minute_of(Nanos::from_micros(from)));
    let until = span.until_us.map_or(Nanos::MAX, Nanos::from_micros);
    let search = Search {
        filter: Filter(vec![Condition::Since(from - EARLIER), Condition::Until(until)]),
        order: SearchOrder::OldestFirst,
        ..Search::new(Expression::default())
    };
    let mut minutes = Minutes { make: &*app.sources.kpis, from, table, open: None, pairs: VecDeque::new() };
    let mut unread = false;
    let coverage = reader.each_call(&search, true, stop, |call, streams| {
        if viewer.sees(&call) {
            unread |= !minutes.add(&call, &streams);
        }
        ControlFlow::Continue(())
    })?;
    unread |= !minutes.close();
    match (unread, coverage.end) {
        (true, _) => Err(Problem::unavailable(UNREAD)),
        (false, SearchEnd::Complete) => Ok(minutes.table),
        // A part of the calls has other figures than all of them.
        (false, _) => Err(Problem::too_long()),
    }
}

/// Says which time of the one that was asked for was observed: from the first day of which there are records,
/// and until now. It is the same whatever others' calls there were.
fn observed(reader: &Reader, span: TimeSpan, table: Table) -> Result<Table, Problem> {
    let first = reader.days()?.first().map_or(Nanos::ZERO, |day| day.start());
    let from = span.from_us.map(|from| minute_of(Nanos::from_micros(from)).max(first));
    let until = span.until_us.map(|until| Nanos::from_micros(until).min(time::now()));
    Ok(table.observed(from, until))
}

/// Adds up the rollups of a time: those of the trunks that somebody may see.
fn stored(
    app: &Shared,
    viewer: &Viewer,
    span: TimeSpan,
    table: Table,
    stop: &Stop,
) -> Result<Table, Problem> {
    let Some(reader) = app.records(stop)? else { return Ok(table) };
    let mut table = observed(&reader, span, table)?;
    let from = span.from_us.map_or(Nanos::ZERO, |from| minute_of(Nanos::from_micros(from)));
    let until = span.until_us.map_or(Nanos::MAX, Nanos::from_micros);
    let dimensions = table.dimensions().to_vec();
    let mut unread = false;
    reader.rollups((from - EARLIER, until), &*app.sources.kpis, |minute, bytes| {
        match Rollup::from_bytes(bytes, &dimensions) {
            Some(mut rollup) => {
                if viewer.is_limited() {
                    rollup.retain(|key| viewer.sees_trunk(key));
                }
                match rollup.is_empty() {
                    true => {}
                    false if minute < from => table.add_before(&rollup),
                    false => table.add(minute, &rollup),
                }
            }
            None => unread = true,
        }
        Ok(())
    })?;
    match unread {
        true => Err(Problem::unavailable(UNREAD)),
        false => Ok(table),
    }
}

/// Calls in order of time, minute by minute.
struct Minutes<'m> {
    make: &'m dyn MakeRollup,
    from: Nanos,
    table: Table,
    /// The minute of the last call.
    open: Option<(Nanos, Box<dyn FoldMinute + 'm>)>,
    /// What the next minutes need of those before.
    pairs: VecDeque<(Nanos, Vec<u8>)>,
}

impl Minutes<'_> {
    /// Adds a call; false where figures cannot be read.
    fn add(&mut self, call: &Call, streams: &[Stream]) -> bool {
        let minute = minute_of(Cursor::of(call).start);
        let is_another = self.open.as_ref().is_none_or(|(open, _)| *open != minute);
        let is_read = !is_another || self.close();
        let (make, pairs) = (self.make, &mut self.pairs);
        let (_, fold) = self.open.get_or_insert_with(|| {
            pairs.retain(|(before, _)| *before + BEFORE >= minute);
            let before: Vec<Vec<u8>> = pairs.iter().map(|(_, pairs)| pairs.clone()).collect();
            (minute, make.begin(minute, &before))
        });
        fold.call(call, streams);
        is_read
    }

    /// Adds up the minute that is open; false where its figures cannot be read.
    fn close(&mut self) -> bool {
        let Some((minute, fold)) = self.open.take() else { return true };
        let FoldedMinute { pairs, rollup } = fold.finish();
        if !pairs.is_empty() {
            self.pairs.push_back((minute, pairs));
        }
        match Rollup::from_bytes(&rollup, self.table.dimensions()) {
            Some(rollup) if rollup.is_empty() => {}
            Some(rollup) if minute < self.from => self.table.add_before(&rollup),
            Some(rollup) => self.table.add(minute, &rollup),
            None => return false,
        }
        true
    }
}

/// Minutes whose calls a minute may depend on.
const BEFORE: Nanos = Nanos::from_secs(5 * 60);
/// Calls that began so long before are looked at as well: those still in progress count as such.
const EARLIER: Nanos = Nanos::from_secs(3_600);
/// What is said of figures that cannot be read.
const UNREAD: &str = "stored figures cannot be read: restore the day file from a backup";
