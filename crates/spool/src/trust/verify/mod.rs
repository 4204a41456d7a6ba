//! Whether a spool is as it was written: nothing changed, removed, added or reordered.
//!
//! What signatures prove: every segment in the chain of seals is there, byte for byte, under its own name, or
//! was deleted by an order in the log. What they cannot prove: the newest segments, which no seal follows yet
//! (the head of the chain beside them shows that they are missing, but whoever removes them can put an older
//! head back); and what the holder of the signing key writes anew. Note the heads in
//! [`VerifyReport`](report::VerifyReport) elsewhere, and give them to a later run
//! ([`VerifyOptions::heads`](report::VerifyOptions::heads)): it then proves that nothing before them has
//! changed.

pub(crate) mod chain;
pub(crate) mod inventory;
pub(crate) mod orders;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod segment_check;
