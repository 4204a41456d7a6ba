//! Where answers come from.

use crate::records::captured::Captured;
use crate::records::stored::Stored;

/// Captures or a database.
#[derive(Debug)]
pub enum Sources {
    /// Captures, whose records are in memory.
    Captured(Captured),
    /// A database.
    Stored(Stored),
}
