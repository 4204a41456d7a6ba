//! X1: tasks of lawful interception, provisioned by an administration function (ADMF) with requests in XML
//! over HTTPS (ETSI TS 103 221-1).
//!
//! [`NetworkElement`] answers a request with what it does to the register of warrants; [`serve`] takes
//! requests over TLS, from clients with a certificate alone.
//!
//! Not here: who may activate a task (`warrant`), interception, the delivery of product.
//!
//! The one invariant: what is answered as done is recorded in the register, on the disk. A message that
//! cannot be honoured as it stands is refused: nothing of it is ignored.
//!
//! | module | holds |
//! |---|---|
//! | `xml` | documents without DTDs and entities, within bounds |
//! | `message` | requests: their headers, tasks, destinations and identifiers of targets |
//! | `answer` | responses |
//! | `fault` | the codes of errors |
//! | `figures` | what it is told of delivery, and of how interception goes |
//! | `pace` | how fast an ADMF may fill the register |
//! | `time` | times as TS 103 280 writes them |
//! | `network_element` | what a request does |
//! | `server` | TLS and HTTP |
#![forbid(unsafe_code)]

mod answer;
mod fault;
mod figures;
mod message;
mod network_element;
mod pace;
mod server;
mod time;
mod xml;

pub use figures::{DeliveryFigures, Figures, Function, TaskFigures};
pub use network_element::{Answer, NetworkElement};
pub use server::{Credentials, certificate_hash, serve};
pub use xml::NotRead;

/// Reads a document, and what its messages ask for, and prints it: what is printed is read as the same. For
/// fuzzing.
///
/// # Errors
///
/// It is no document that X1 may have.
pub fn read_and_print(bytes: &[u8]) -> Result<String, NotRead> {
    let root = xml::read(bytes)?;
    for message in message::messages(&root).unwrap_or_default() {
        // Whatever it asks for.
        let _ = message.request();
    }
    let mut writer = xml::Writer::document();
    writer.element(&root);
    Ok(writer.finish())
}
