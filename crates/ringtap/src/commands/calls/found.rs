//! Calls that satisfy a search, of the database while they are found, and of captures.

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;
use std::{mem, thread};

use anyhow::Context;
use ringtap_conversation::{Joiner, Settings};
use ringtap_engine::{Sink, StreamEnd};
use ringtap_kpi::Trunks;
use ringtap_model::{Call, Filter, Id, Message, Nanos, Registration, Stream};
use ringtap_report::calls;
use ringtap_report::text::counted;
use ringtap_search::Expression;
use ringtap_store::{Coverage, Reader, RunningSearch, Search, SearchEnd, SearchOrder};

use super::{Calls, WRITING};
use crate::call_lines::Lines;
use crate::exit::Exit;
use crate::input::{Input, Listener, Workers};
use crate::interrupt;
use crate::page::{RecordFormat, Shown};
use crate::query::Asked;
use crate::screen::Screen;

impl Calls {
    /// Shows the calls of the database that satisfy a search. Lines are printed while it goes on.
    pub(super) fn show_found(
        &self,
        expression: Expression,
        shown: Shown,
        screen: &mut Screen,
    ) -> anyhow::Result<Exit> {
        let reader = self.store.open()?;
        let order = match self.limit.is_of_newest() {
            true => SearchOrder::NewestFirst,
            false => SearchOrder::OldestFirst,
        };
        let (limit, is_newest) = (self.limit.most(), self.limit.is_of_newest());
        let search = Search { filter: self.filter.filter(), order, limit, ..Search::new(expression) };
        let (format, is_table) = (self.format, self.format == RecordFormat::Table);
        if is_table {
            screen.page();
        }
        let mut collected = Vec::new();
        let mut rows: Vec<calls::Row> = Vec::new();
        let mut lines = Lines::begin(format, &mut *screen.out).context(WRITING)?;
        let mut count = 0;
        let mut failed = None;
        let coverage = walk(&reader, &search, is_table, |call, streams| {
            if count == limit {
                return ControlFlow::Break(());
            }
            count += 1;
            match (is_table, is_newest) {
                (true, _) => rows.push(shown.row(&call, &streams)),
                // The newest come first and are printed last.
                (false, true) => collected.push(call),
                (false, false) => failed = lines.print(&call).err(),
            }
            if failed.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        if let Some(error) = failed {
            return Err(error).context(WRITING);
        }
        collected.iter().rev().try_for_each(|call| lines.print(call)).context(WRITING)?;
        lines.end().context(WRITING)?;
        if is_table {
            if is_newest {
                rows.reverse();
            }
            let days = counted(coverage.days_searched as u64, "day");
            let line = format!("{} found; {days} searched", counted(count as u64, "call"));
            super::table(rows, (&line, shown.order), screen)?;
        }
        Ok(self.tell(coverage, count, screen))
    }

    /// Says what was not searched, and returns the exit status.
    fn tell(&self, coverage: Coverage, count: usize, screen: &mut Screen) -> Exit {
        match coverage.end {
            SearchEnd::Stopped => {
                screen.remark(format!(
                    "interrupted when {} of {} had been searched: more calls may match",
                    coverage.days_searched,
                    counted(coverage.days as u64, "day")
                ));
                return Exit::Interrupted;
            }
            SearchEnd::Enough if self.limit.tells_of_more() => self.tell_of_more(count, screen),
            SearchEnd::Enough | SearchEnd::Complete => {}
        }
        if coverage.days == 0 {
            screen.remark(super::NO_DAY);
        }
        Exit::Done
    }

    /// Shows the calls of captures that satisfy the filters, and a search if there is one.
    pub(super) fn show_captured(
        &self,
        asked: Asked,
        shown: Shown,
        screen: &mut Screen,
    ) -> anyhow::Result<Exit> {
        let trunks = self.config.read(screen)?.unwrap_or_default().trunks;
        let input = Input::open(&asked.files, self.query.unpacking)?;
        let bar = input.progress(screen, "searching");
        let mut matching = Matching {
            expression: asked.expression.unwrap_or_default(),
            filter: self.filter.filter(),
            limit: self.limit.most(),
            is_newest: self.limit.is_of_newest(),
            trunks,
            joiner: Joiner::new(Settings::default()),
            found: BTreeMap::new(),
            amended: HashMap::new(),
            total: 0,
            matching: 0,
        };
        let pass = input.pass_records(Workers::default(), &mut matching, &bar)?;
        let (total, all) = (matching.total, matching.matching);
        let found = matching.into_found();
        if self.format == RecordFormat::Table {
            screen.page();
        }
        let count = counted(found.len() as u64, "call");
        let line = format!("{count} found; {} searched", counted(total, "call"));
        let rows = |rows: &mut Vec<calls::Row>| {
            rows.extend(found.iter().map(|(call, streams)| shown.row(call, streams)));
            Ok(())
        };
        self.print(found.iter().map(|(call, _)| call), rows, (&line, shown.order), screen)?;
        if all > found.len() as u64 && self.limit.tells_of_more() {
            self.tell_of_more(found.len(), screen);
        }
        Ok(pass.exit(screen))
    }

    pub(super) fn tell_of_more(&self, count: usize, screen: &mut Screen) {
        let count = counted(count as u64, "call");
        screen
            .remark(format!("more calls match than the {count} shown: raise `--limit` or narrow the search"));
    }
}

/// Passes each call of a search, until Ctrl-C.
pub(in crate::commands) fn walk(
    reader: &Reader,
    search: &Search,
    with_streams: bool,
    each: impl FnMut(Call, Vec<Stream>) -> ControlFlow<()>,
) -> anyhow::Result<Coverage> {
    let running = Arc::new(RunningSearch::new());
    let watched = Arc::downgrade(&running);
    // It ends with the search.
    thread::Builder::new().name("interrupt".into()).spawn(move || {
        while let Some(running) = watched.upgrade() {
            if interrupt::asked() {
                running.stop();
            }
            drop(running);
            thread::sleep(ASK);
        }
    })?;
    Ok(reader.each_call(search, with_streams, &running, each)?)
}

/// Collects the calls of captures that satisfy a search, the earliest or the newest.
struct Matching {
    expression: Expression,
    filter: Filter,
    limit: usize,
    is_newest: bool,
    trunks: Trunks,
    joiner: Joiner,
    found: BTreeMap<(Option<Nanos>, Id), (Call, Vec<Stream>)>,
    /// Conversations that were found to be others later.
    amended: HashMap<Id, Id>,
    total: u64,
    matching: u64,
}

impl Matching {
    /// The calls in order of time.
    fn into_found(mut self) -> Vec<(Call, Vec<Stream>)> {
        let mut found: Vec<_> = mem::take(&mut self.found).into_values().collect();
        for (call, _) in &mut found {
            if let Some(conversation) = self.amended.get(&call.id) {
                call.conversation = Some(*conversation);
            }
        }
        found
    }
}

impl Sink for Matching {
    fn call(&mut self, mut call: Call, streams: Vec<StreamEnd>) {
        self.total += 1;
        self.trunks.annotate(&mut call);
        for amendment in self.joiner.add(&mut call) {
            self.amended.insert(amendment.call, amendment.conversation);
        }
        let streams: Vec<Stream> = streams.into_iter().map(|stream| stream.record).collect();
        if !self.filter.selects_call(&call, &streams) || !self.expression.matches(&call, &streams) {
            return;
        }
        self.matching += 1;
        self.found.insert((call.start(), call.id), (call, streams));
        if self.found.len() > self.limit {
            match self.is_newest {
                true => self.found.pop_first(),
                false => self.found.pop_last(),
            };
        }
    }

    fn stream(&mut self, _: StreamEnd) {}
    fn registration(&mut self, _: Registration) {}
    fn message(&mut self, _: Message) {}
}

impl Listener for Matching {}

/// How often Ctrl-C is asked for.
const ASK: Duration = Duration::from_millis(50);
