//! The records as tools for AI assistants: Model Context Protocol over standard input and output, or
//! over the connections of another program.
//!
//! Not here: the command line and the reading of captures (the program hands them in as [`Sources`]), what a
//! search means (`ringtap-search`), how numbers are hidden (`ringtap-anonymise`). Nothing is ever changed.
//!
//! The one invariant: every text that came from the wire stands under a key `untrusted`, with its control
//! characters escaped, and, unless numbers are shown, without the numbers of its parties.
//!
//! | module | holds |
//! |---|---|
//! | [`Sources`], [`Captured`], [`Stored`] | where answers come from |
//! | `records` | what is asked of them: calls, messages, figures, users |
//! | [`MessageCollector`] | the SIP messages of a call |
//! | `server` | the protocol: tools, resources, time limits, cancellation |
//! | [`RemoteServer`], [`Person`] | the same without a connection: one message for a person with rights |
//! | `tools` | the tools, a file each |
//! | `request` | a request, and what its answer may show |
//! | `bounds` | how large an answer may be |
//! | `schema`, `resources`, `refusal` | JSON schemas; texts to read; errors that teach |
#![forbid(unsafe_code)]

mod bounds;
mod messages;
mod records;
mod refusal;
mod remote;
mod request;
mod resources;
mod schema;
mod server;
mod sources;
mod tools;

pub use messages::MessageCollector;
pub use records::captured::{Captured, Ceilings, ReadMessages};
pub use records::stored::{OpenSpool, Stored};
pub use remote::{OpenRecords, Person, RemoteServer};
pub use request::KnownSites;
pub use server::{Settings, serve};
pub use sources::Sources;
