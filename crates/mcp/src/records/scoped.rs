//! Records as one person may see them.

use std::ops::ControlFlow;
use std::sync::Arc;

use ringtap_access::Scope;
use ringtap_kpi::Table;
use ringtap_model::{Call, Id, Nanos, Stream, User};
use ringtap_store::{Coverage, RunningSearch, Search};

use super::{Messages, Records};

/// Other records, without calls outside of a scope and without messages for whoever may not see them.
pub(crate) struct Scoped {
    pub(crate) records: Arc<dyn Records>,
    pub(crate) scope: Scope,
    /// Messages may be seen.
    pub(crate) signalling: bool,
}

impl Records for Scoped {
    fn name(&self) -> String {
        self.records.name()
    }

    fn each_call(
        &self,
        search: &Search,
        with_streams: bool,
        running: &Arc<RunningSearch>,
        each: &mut dyn FnMut(Call, Vec<Stream>) -> ControlFlow<()>,
    ) -> anyhow::Result<Coverage> {
        let mut passed = 0;
        let mut within = |call: Call, streams| {
            if !self.scope.has_call(&call) {
                return ControlFlow::Continue(());
            }
            passed += 1;
            each(call, streams)
        };
        let mut coverage = self.records.each_call(search, with_streams, running, &mut within)?;
        if !self.scope.is_everything() {
            // How many calls others have is not told either.
            coverage.looked_at = passed;
        }
        Ok(coverage)
    }

    fn call(&self, id: &Id) -> anyhow::Result<Option<(Call, Vec<Stream>)>> {
        Ok(self.records.call(id)?.filter(|(call, _)| self.scope.has_call(call)))
    }

    fn legs(&self, conversation: &Id) -> anyhow::Result<Vec<Call>> {
        let mut legs = self.records.legs(conversation)?;
        legs.retain(|leg| self.scope.has_call(leg));
        Ok(legs)
    }

    fn messages(
        &self,
        calls: &[(Call, Vec<Stream>)],
        running: &Arc<RunningSearch>,
    ) -> anyhow::Result<Messages> {
        if self.signalling {
            return self.records.messages(calls, running);
        }
        let reason = "messages need the right `signalling`, which whoever asks does not have".to_owned();
        Ok(Messages { reasons: vec![reason], ..Messages::default() })
    }

    fn figures(&self, span: (Nanos, Nanos), table: Table) -> anyhow::Result<Table> {
        self.records.figures(span, table)
    }

    fn users(&self, span: (Nanos, Nanos), running: &Arc<RunningSearch>) -> anyhow::Result<Option<Vec<User>>> {
        self.records.users(span, running)
    }
}
