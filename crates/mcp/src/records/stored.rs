//! Records of a database, and messages of a spool.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use anyhow::bail;
use ringtap_engine::Engine;
use ringtap_export::call_packets::CallPackets;
use ringtap_export::engine::small_config;
use ringtap_kpi::{Rollup, Table};
use ringtap_model::{Call, Condition, Filter, Id, Nanos, Recorded, Stream, User};
use ringtap_spool::Reader as Spool;
use ringtap_store::{Coverage, MakeRollup, Query, Reader, RunningSearch, Search};
use ringtap_users::Users;

use super::{MOST_USERS, Messages, Records};
use crate::messages::MessageCollector;

/// Opens the recorded packets.
pub type OpenSpool = Box<dyn Fn() -> anyhow::Result<Spool> + Send + Sync>;

/// A database, and the packets that were recorded of its calls.
pub struct Stored {
    /// The database.
    pub reader: Reader,
    /// Opens the recorded packets; `None` if no spool was named.
    pub spool: Option<OpenSpool>,
    /// How KPIs are computed, as the daemon computes them.
    pub kpis: Box<dyn MakeRollup + Send + Sync>,
}

impl fmt::Debug for Stored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stored").field("reader", &self.reader).finish_non_exhaustive()
    }
}

impl Stored {
    /// The messages of a call that the spool has.
    fn messages_of(
        &self,
        spool: &mut Spool,
        (call, streams): &(Call, Vec<Stream>),
        running: &Arc<RunningSearch>,
        found: &mut Messages,
    ) -> anyhow::Result<()> {
        let mut packets = CallPackets::find(spool, call, streams, false)?;
        let mut collector = MessageCollector::new(vec![call.call_id.as_str().into()], Arc::clone(running));
        let mut engine = Engine::new(small_config(packets.packet_limit()));
        packets.first_pass(spool, &mut |frames| {
            if running.is_over() {
                bail!("reading the packets of call {} took too long", call.id);
            }
            engine.batch(frames, &mut collector);
            Ok(())
        })?;
        engine.close(&mut collector);
        if packets.packets == 0 {
            found.reasons.push(packets.why_empty("the spool"));
        } else if packets.is_incomplete() {
            found.reasons.extend(packets.descriptions());
        }
        if collector.left_out > 0 {
            found.reasons.push(format!("{} further messages are left out", collector.left_out));
        }
        found.seen.append(&mut collector.seen);
        Ok(())
    }
}

impl Records for Stored {
    fn name(&self) -> String {
        "the database".to_owned()
    }

    fn each_call(
        &self,
        search: &Search,
        with_streams: bool,
        running: &Arc<RunningSearch>,
        each: &mut dyn FnMut(Call, Vec<Stream>) -> ControlFlow<()>,
    ) -> anyhow::Result<Coverage> {
        Ok(self.reader.each_call(search, with_streams, running, each)?)
    }

    fn call(&self, id: &Id) -> anyhow::Result<Option<(Call, Vec<Stream>)>> {
        let Some(call) = self.reader.call(id)? else { return Ok(None) };
        let streams = self.reader.streams_of(id)?;
        Ok(Some((call, streams)))
    }

    fn legs(&self, conversation: &Id) -> anyhow::Result<Vec<Call>> {
        Ok(self.reader.conversation(conversation)?)
    }

    fn messages(
        &self,
        calls: &[(Call, Vec<Stream>)],
        running: &Arc<RunningSearch>,
    ) -> anyhow::Result<Messages> {
        let mut found = Messages::default();
        let mut spool = self.spool.as_ref().map(|open| open()).transpose()?;
        for of in calls {
            match (&mut spool, of.0.recorded) {
                (Some(spool), _) => self.messages_of(spool, of, running, &mut found)?,
                (None, Recorded::None) => {
                    found.reasons.push("no packets of this call were recorded".to_owned());
                }
                (None, _) => found.reasons.push(
                    "its messages are in the spool: ringtap mcp was started without `--spool`".to_owned(),
                ),
            }
        }
        Ok(found.sorted())
    }

    fn figures(&self, (from, until): (Nanos, Nanos), mut table: Table) -> anyhow::Result<Table> {
        let dimensions = table.dimensions().to_vec();
        let mut unread = false;
        self.reader.rollups((from - EARLIER, until), &*self.kpis, |minute, bytes| {
            match Rollup::from_bytes(bytes, &dimensions) {
                Some(rollup) if rollup.is_empty() => {}
                Some(rollup) if minute < from => table.add_before(&rollup),
                Some(rollup) => table.add(minute, &rollup),
                None => unread = true,
            }
            Ok(())
        })?;
        match unread {
            true => bail!("stored figures cannot be read: restore the day file from a backup"),
            false => Ok(table),
        }
    }

    fn users(
        &self,
        (from, until): (Nanos, Nanos),
        running: &Arc<RunningSearch>,
    ) -> anyhow::Result<Option<Vec<User>>> {
        let mut users = Users::new(MOST_USERS);
        for day in self.reader.days()? {
            let mut hour = day.start().max(from);
            while hour < day.end().min(until) {
                if running.is_over() {
                    return Ok(None);
                }
                let end = (hour + HOUR).min(day.end()).min(until);
                let filter = Filter(vec![Condition::Since(hour), Condition::Until(end)]);
                let query = Query::from(filter);
                self.reader.calls(&query)?.records.iter().for_each(|call| users.call(call));
                let found = self.reader.registrations(&query)?;
                found.records.iter().for_each(|registration| users.registration(registration));
                self.reader.messages(&query)?.records.iter().for_each(|message| users.message(message));
                let found = self.reader.transactions(&query)?;
                found.records.iter().for_each(|transaction| users.transaction(transaction));
                hour = end;
            }
        }
        Ok(Some(users.into_records()))
    }
}

/// Calls that began so long before are looked at as well: those still in progress count as such.
const EARLIER: Nanos = Nanos::from_secs(3_600);
/// What of the database is in memory at once.
const HOUR: Nanos = Nanos::from_secs(3_600);
