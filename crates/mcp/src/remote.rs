//! The protocol without a connection: one message, one answer, for a person whose rights are known.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ringtap_access::Scope;
use ringtap_anonymise::Tokens;
use ringtap_search::Site;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::service::serve_directly;
use rmcp::transport::OneshotTransport;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::records::Records;
use crate::records::scoped::Scoped;
use crate::records::stored::Stored;
use crate::request::KnownSites;
use crate::server::{AT_ONCE, Server, Settings};
use crate::tools::TOOLS;

/// Answers assistants that ask over another program's connections, such as those of the console. There are no
/// sessions: each message is answered by itself, for the person who sends it.
pub struct RemoteServer {
    open: OpenRecords,
    longest: Duration,
    places: Arc<Semaphore>,
}

/// Opens the records, for each message anew: days are added.
pub type OpenRecords = Box<dyn Fn() -> anyhow::Result<Stored> + Send + Sync>;

/// Who asks.
#[derive(Clone, Debug)]
pub struct Person {
    /// The calls that exist for this person.
    pub scope: Scope,
    /// Whether messages may be seen.
    pub signalling: bool,
    /// Hides numbers; `None` shows them.
    pub tokens: Option<Tokens>,
    /// What `site:` stands for in this person's searches.
    pub sites: Vec<Site>,
}

impl fmt::Debug for RemoteServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteServer").field("longest", &self.longest).finish_non_exhaustive()
    }
}

impl RemoteServer {
    /// Answers at most four messages at once, each within that time.
    pub fn new(open: OpenRecords, longest: Duration) -> Self {
        Self { open, longest, places: Arc::new(Semaphore::new(AT_ONCE)) }
    }

    /// The names of the tools.
    pub fn tools() -> impl Iterator<Item = &'static str> {
        TOOLS.iter().map(|tool| tool.name)
    }

    /// Answers a JSON-RPC message (MCP, revision 2025-06-18, section Streamable HTTP); None to a
    /// notification.
    /// When it is dropped, the work stops.
    pub async fn answer(&self, message: Value, person: Person) -> Option<Value> {
        let id = message.get("id").cloned().unwrap_or(Value::Null);
        let request = match serde_json::from_value::<ClientJsonRpcMessage>(message) {
            Ok(request @ ClientJsonRpcMessage::Request(_)) => request,
            Ok(_) => return None,
            Err(error) => return Some(failure(&id, -32_600, &format!("it is no request of MCP: {error}"))),
        };
        let records = match (self.open)() {
            Ok(records) => records,
            Err(error) => {
                return Some(failure(&id, -32_603, &format!("the records cannot be read: {error:#}")));
            }
        };
        let Person { scope, signalling, tokens, sites } = person;
        let is_limited = !scope.is_everything();
        let records: Arc<dyn Records> = Arc::new(Scoped { records: Arc::new(records), scope, signalling });
        let sites: KnownSites = Arc::new(move || Ok(sites.clone()));
        let settings = Settings { tokens, longest: self.longest, sites };
        let server = Server { records, settings, places: Arc::clone(&self.places), is_limited };
        let (transport, mut answers) = OneshotTransport::new(request);
        // Dropped with this future: then the request is cancelled.
        let _service = serve_directly(server, transport, None);
        while let Some(answer) = answers.recv().await {
            // Progress and logging have nowhere to go.
            if matches!(answer, ServerJsonRpcMessage::Response(_) | ServerJsonRpcMessage::Error(_)) {
                return serde_json::to_value(answer).ok();
            }
        }
        Some(failure(&id, -32_603, "the request was not answered"))
    }
}

/// An error of JSON-RPC 2.0.
fn failure(id: &Value, code: i32, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}
