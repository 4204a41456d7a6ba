//! Brings the console and the tools for AI assistants together: neither knows the other.

use std::sync::Arc;
use std::time::Duration;

use ringtap_console::{AssistantAnswer, Assistants, AssistedPerson};
use ringtap_daemon::KpiRollups;
use ringtap_mcp::{Person, RemoteServer, Stored};
use serde_json::Value;

use crate::spool_args::SpoolArgs;
use crate::store_args::StoreArgs;

/// Answers the assistants of a console from the database and the spool.
pub(super) struct RecordAssistants(Arc<RemoteServer>);

impl RecordAssistants {
    /// An answer may take so long.
    pub(super) fn of(store: &StoreArgs, spool: &SpoolArgs, kpis: &KpiRollups, longest: Duration) -> Self {
        let (store, spool, kpis) = (store.clone(), spool.clone(), *kpis);
        let open = move || {
            let spool = (!spool.spool.is_empty()).then(|| {
                let spool = spool.clone();
                Box::new(move || spool.open_quietly()) as ringtap_mcp::OpenSpool
            });
            Ok(Stored { reader: store.open()?, spool, kpis: Box::new(kpis) })
        };
        Self(Arc::new(RemoteServer::new(Box::new(open), longest)))
    }
}

impl Assistants for RecordAssistants {
    fn answer(&self, message: Value, person: AssistedPerson) -> AssistantAnswer {
        let server = Arc::clone(&self.0);
        let AssistedPerson { scope, signalling, tokens, sites } = person;
        let person = Person { scope, signalling, tokens, sites };
        Box::pin(async move { server.answer(message, person).await })
    }
}
