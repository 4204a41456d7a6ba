//! Completing records on their way into the store.

use ringtap_model::{Amendment, Call};

/// Completes the records of a writer in its thread: each as it is received, in the order in which they are
/// stored, before anything of it is on disk. Between the threads that send records it is the one place that
/// sees all of them.
pub trait Annotate: Send {
    /// Completes the record of a call. Returns what it changes of earlier ones, which is stored with it.
    ///
    /// The record of a call may come again: with what is known now of a call whose record was made too early
    /// or lacked packets, and after a kill from the journal.
    fn call(&mut self, call: &mut Call) -> Vec<Amendment>;
}

/// One after the other.
impl Annotate for Vec<Box<dyn Annotate>> {
    fn call(&mut self, call: &mut Call) -> Vec<Amendment> {
        self.iter_mut().flat_map(|each| each.call(call)).collect()
    }
}
