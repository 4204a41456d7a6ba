//! What is asked of captures and of a database alike.

pub(crate) mod captured;
pub(crate) mod scoped;
pub(crate) mod stored;

use std::ops::ControlFlow;
use std::sync::Arc;

use ringtap_kpi::Table;
use ringtap_model::{Call, Id, Nanos, Stream, User};
use ringtap_store::{Coverage, RunningSearch, Search};

use crate::messages::SeenMessage;

/// Records that can be asked. Each question blocks until it is answered, or until `running` is over.
pub(crate) trait Records: Send + Sync {
    /// What they are of: `2 capture files`, `the database`.
    fn name(&self) -> String;

    /// Passes each call of a search, with its streams if they are wanted, until `each` breaks.
    fn each_call(
        &self,
        search: &Search,
        with_streams: bool,
        running: &Arc<RunningSearch>,
        each: &mut dyn FnMut(Call, Vec<Stream>) -> ControlFlow<()>,
    ) -> anyhow::Result<Coverage>;

    /// A call with its streams.
    fn call(&self, id: &Id) -> anyhow::Result<Option<(Call, Vec<Stream>)>>;

    /// The legs of a conversation, in order of their beginning.
    fn legs(&self, conversation: &Id) -> anyhow::Result<Vec<Call>>;

    /// The messages of calls, in order of time.
    fn messages(
        &self,
        calls: &[(Call, Vec<Stream>)],
        running: &Arc<RunningSearch>,
    ) -> anyhow::Result<Messages>;

    /// Adds up the figures of the calls that began in a time.
    fn figures(&self, span: (Nanos, Nanos), table: Table) -> anyhow::Result<Table>;

    /// What each address of record did in a time; `None` if it was stopped before.
    fn users(&self, span: (Nanos, Nanos), running: &Arc<RunningSearch>) -> anyhow::Result<Option<Vec<User>>>;
}

/// Messages, and why there are none or not all.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    pub(crate) seen: Vec<SeenMessage>,
    pub(crate) reasons: Vec<String>,
}

impl Messages {
    /// In order of time, each reason once.
    fn sorted(mut self) -> Self {
        self.seen.sort_by_key(|message| message.time);
        self.reasons.dedup();
        self
    }
}

/// Users that are counted at once.
const MOST_USERS: usize = 100_000;
