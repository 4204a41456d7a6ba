//! Records of captures, in memory under ceilings.

use std::collections::HashMap;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use ringtap_engine::{Sink, StreamEnd};
use ringtap_export::find::Listener;
use ringtap_kpi::{Fold, Settings as KpiSettings, Table};
use ringtap_model::{
    Amendment, Call, Condition, Filter, Id, Message, Nanos, Registration, Stream, Transaction, User,
};
use ringtap_report::text::counted;
use ringtap_store::{Coverage, Cursor, RunningSearch, Search, SearchEnd, SearchOrder};
use ringtap_users::Users;

use super::{MOST_USERS, Messages, Records};
use crate::messages::MessageCollector;

/// Reads the captures again, for the messages of some calls.
pub type ReadMessages = Box<dyn Fn(&mut MessageCollector) -> anyhow::Result<()> + Send + Sync>;

/// What is done to each call before it is held, such as naming its trunks; returns what that changes of
/// earlier ones.
type Prepare = Box<dyn FnMut(&mut Call) -> Vec<Amendment> + Send + Sync>;

/// How many records of captures are in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ceilings {
    /// Calls.
    pub calls: usize,
    /// Their streams.
    pub streams: usize,
    /// Registrations, SIP MESSAGEs and transactions together.
    pub others: usize,
}

impl Default for Ceilings {
    /// About 1 GB where every call has two streams of three minutes.
    fn default() -> Self {
        Self { calls: 200_000, streams: 400_000, others: 500_000 }
    }
}

/// The records of captures: a sink that holds what it is given, up to its ceilings.
pub struct Captured {
    name: String,
    ceilings: Ceilings,
    prepare: Prepare,
    read: Option<ReadMessages>,
    kpis: KpiSettings,
    /// In order of time once they are all there.
    calls: Vec<(Call, Vec<Stream>)>,
    streams: usize,
    registrations: Vec<Registration>,
    messages: Vec<Message>,
    transactions: Vec<Transaction>,
    amended: HashMap<Id, Id>,
    left_out: u64,
}

impl fmt::Debug for Captured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Captured").field("name", &self.name).field("calls", &self.calls.len()).finish()
    }
}

impl Captured {
    /// Holds the records of captures of that name. `prepare` sees each call first.
    pub fn new(
        name: String,
        ceilings: Ceilings,
        kpis: KpiSettings,
        prepare: impl FnMut(&mut Call) -> Vec<Amendment> + Send + Sync + 'static,
    ) -> Self {
        Self {
            name,
            ceilings,
            prepare: Box::new(prepare),
            read: None,
            kpis,
            calls: Vec::new(),
            streams: 0,
            registrations: Vec::new(),
            messages: Vec::new(),
            transactions: Vec::new(),
            amended: HashMap::new(),
            left_out: 0,
        }
    }

    /// All records are there; `read` reads the captures again where messages are wanted.
    #[must_use]
    pub fn read_whole(mut self, read: ReadMessages) -> Self {
        for (call, _) in &mut self.calls {
            if let Some(conversation) = self.amended.remove(&call.id) {
                call.conversation = Some(conversation);
            }
        }
        self.calls.sort_by_key(|(call, _)| place(call));
        self.read = Some(read);
        self
    }

    /// Records that were left out at the ceilings.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Calls in memory.
    pub fn calls(&self) -> usize {
        self.calls.len()
    }

    fn has_room(&self) -> bool {
        self.registrations.len() + self.messages.len() + self.transactions.len() < self.ceilings.others
    }
}

impl Sink for Captured {
    fn call(&mut self, mut call: Call, streams: Vec<StreamEnd>) {
        for amendment in (self.prepare)(&mut call) {
            self.amended.insert(amendment.call, amendment.conversation);
        }
        if self.calls.len() >= self.ceilings.calls || self.streams + streams.len() > self.ceilings.streams {
            self.left_out += 1;
            return;
        }
        self.streams += streams.len();
        self.calls.push((call, streams.into_iter().map(|stream| stream.record).collect()));
    }

    fn stream(&mut self, _: StreamEnd) {}

    fn registration(&mut self, registration: Registration) {
        match self.has_room() {
            true => self.registrations.push(registration),
            false => self.left_out += 1,
        }
    }

    fn message(&mut self, message: Message) {
        match self.has_room() {
            true => self.messages.push(message),
            false => self.left_out += 1,
        }
    }

    fn transaction(&mut self, transaction: Transaction) {
        match self.has_room() {
            true => self.transactions.push(transaction),
            false => self.left_out += 1,
        }
    }
}

impl Listener for Captured {}

/// The order of calls, as that of a database.
fn place(call: &Call) -> (Nanos, Id) {
    let Cursor { start, id } = Cursor::of(call);
    (start, id)
}

fn filter((from, until): (Nanos, Nanos)) -> Filter {
    Filter(vec![Condition::Since(from), Condition::Until(until)])
}

impl Records for Captured {
    fn name(&self) -> String {
        let calls = counted(self.calls.len() as u64, "call");
        match self.left_out {
            0 => format!("{}: {calls}", self.name),
            left_out => format!("{}: {calls}; {left_out} records did not fit into memory", self.name),
        }
    }

    fn each_call(
        &self,
        search: &Search,
        _: bool,
        running: &Arc<RunningSearch>,
        each: &mut dyn FnMut(Call, Vec<Stream>) -> ControlFlow<()>,
    ) -> anyhow::Result<Coverage> {
        let is_newest = search.order == SearchOrder::NewestFirst;
        let after = search.after.map(|after| (after.start, after.id));
        let mut end = SearchEnd::Complete;
        let (mut looked_at, mut reached) = (0, search.after);
        let mut one = |(call, streams): &(Call, Vec<Stream>)| {
            let is_before = after.is_some_and(|after| match is_newest {
                true => place(call) >= after,
                false => place(call) <= after,
            });
            if is_before {
                return ControlFlow::Continue(());
            }
            if running.is_over() {
                end = SearchEnd::Stopped;
                return ControlFlow::Break(());
            }
            looked_at += 1;
            let here = Some(Cursor::of(call));
            if !search.filter.selects_call(call, streams) || !search.expression.matches(call, streams) {
                reached = here;
                return ControlFlow::Continue(());
            }
            let flow = each(call.clone(), streams.clone());
            match flow {
                ControlFlow::Continue(()) => reached = here,
                ControlFlow::Break(()) => end = SearchEnd::Enough,
            }
            flow
        };
        let _ = match is_newest {
            true => self.calls.iter().rev().try_for_each(&mut one),
            false => self.calls.iter().try_for_each(&mut one),
        };
        let next = reached.filter(|_| end != SearchEnd::Complete);
        Ok(Coverage { end, days: 0, days_searched: 0, looked_at, span: search.time_span(), next })
    }

    fn call(&self, id: &Id) -> anyhow::Result<Option<(Call, Vec<Stream>)>> {
        Ok(self.calls.iter().find(|(call, _)| call.id == *id).cloned())
    }

    fn legs(&self, conversation: &Id) -> anyhow::Result<Vec<Call>> {
        let legs = self.calls.iter().filter(|(call, _)| call.conversation == Some(*conversation));
        Ok(legs.map(|(call, _)| call.clone()).collect())
    }

    fn messages(
        &self,
        calls: &[(Call, Vec<Stream>)],
        running: &Arc<RunningSearch>,
    ) -> anyhow::Result<Messages> {
        let call_ids = calls.iter().map(|(call, _)| call.call_id.as_str().into()).collect();
        let mut collector = MessageCollector::new(call_ids, Arc::clone(running));
        if let Some(read) = &self.read {
            read(&mut collector)?;
        }
        let MessageCollector { seen, left_out, .. } = collector;
        let mut messages = Messages { seen, reasons: Vec::new() };
        if left_out > 0 {
            messages.reasons.push(format!("{left_out} further messages are left out: there are too many"));
        }
        if running.is_over() {
            messages.reasons.push("the captures were not read to their end: time is over".to_owned());
        }
        Ok(messages.sorted())
    }

    fn figures(&self, span: (Nanos, Nanos), mut table: Table) -> anyhow::Result<Table> {
        let (mut fold, filter) = (Fold::new(self.kpis), filter(span));
        for (call, streams) in self.calls.iter().filter(|(call, streams)| filter.selects_call(call, streams))
        {
            fold.call(call, streams);
        }
        let registrations = self.registrations.iter();
        registrations
            .filter(|registration| filter.selects_registration(registration))
            .for_each(|registration| fold.registration(registration));
        fold.finish().iter().for_each(|(minute, rollup)| table.add(*minute, rollup));
        Ok(table)
    }

    fn users(&self, span: (Nanos, Nanos), _: &Arc<RunningSearch>) -> anyhow::Result<Option<Vec<User>>> {
        let (mut users, filter) = (Users::new(MOST_USERS), filter(span));
        let calls = self.calls.iter().filter(|(call, streams)| filter.selects_call(call, streams));
        calls.for_each(|(call, _)| users.call(call));
        let registrations = self.registrations.iter().filter(|found| filter.selects_registration(found));
        registrations.for_each(|registration| users.registration(registration));
        let messages = self.messages.iter().filter(|found| filter.selects_message(found));
        messages.for_each(|message| users.message(message));
        let transactions = self.transactions.iter().filter(|found| filter.selects_transaction(found));
        transactions.for_each(|transaction| users.transaction(transaction));
        Ok(Some(users.into_records()))
    }
}
