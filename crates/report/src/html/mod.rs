//! A capture as one HTML page that needs no other file: summary, table of calls, and for each call what
//! happened, its ladder, its streams over time, its messages and its sound.
//!
//! Text from the network is escaped by the templates, after [`crate::text::shown`] has made control and
//! direction characters visible. The page's policy allows only its own style sheet and script, by their
//! hashes: nothing else can run or be fetched, whatever a header says.
//!
//! | module | holds |
//! |---|---|
//! | `parts` | what the page is made of |
//! | `page` | head, policy, summary, tables |
//! | `call` | the section of a call |
//! | `stream` | a stream, and its loss and jitter over time |

mod call;
mod page;
mod parts;
mod stream;
#[cfg(test)]
mod tests;

use std::io::{self, Write};

use ringtap_model::{Call, Stream};

pub use parts::{CallDetails, CallEntry, MessageText, Page, Sound};

impl CallEntry {
    /// Writes the row of the table, and the section that it refers to.
    pub fn new(number: usize, details: &CallDetails<'_>) -> Self {
        let section = call::section(number, details).into_string();
        Self { section: Some(section), ..Self::without_section(number, details.call, details.streams) }
    }

    /// Writes the row alone.
    pub fn row(number: usize, call: &Call, streams: &[Stream]) -> Self {
        let entry = Self::without_section(number, call, streams);
        Self { row: page::row(number, call, streams, false).into_string(), ..entry }
    }

    fn without_section(number: usize, call: &Call, streams: &[Stream]) -> Self {
        let row = page::row(number, call, streams, true).into_string();
        Self { row, section: None, notes: parts::codes(call) }
    }

    /// Bytes that it takes in the page.
    pub fn size(&self) -> usize {
        self.row.len() + self.section.as_ref().map_or(0, String::len)
    }
}

/// Writes the page.
pub fn write(out: &mut dyn Write, page: &Page<'_>) -> io::Result<()> {
    page::write(out, page)
}
