//! What threads that share an input do, one task after another.

/// Hands out tasks, and learns what they have done. Threads share it behind a lock: none of its functions
/// takes long but [`perform`](Self::perform), which has no plan.
pub(super) trait Plan: Sized {
    /// What a thread does next.
    type Task;
    /// What a task has done.
    type Done;
    /// Records for the thread that has the sink.
    type Records;

    /// What thread `me` does next. `passes`: it has the sink.
    fn next(&mut self, me: usize, passes: bool) -> Option<Self::Task>;

    /// Whether another thread could do something.
    fn has_more(&self) -> bool;

    /// Whether there is nothing left to do, for a thread that has the sink or for any other.
    fn is_finished(&self, passes: bool) -> bool;

    /// Performs a task.
    fn perform(task: Self::Task, surroundings: &mut Surroundings<'_, Self::Records>) -> Self::Done;

    /// Enters what a task has done.
    fn done(&mut self, done: Self::Done);

    /// A thread has panicked.
    fn fail(&mut self);
}

/// What a task needs beside itself.
pub(super) struct Surroundings<'a, R> {
    /// Is told how many bytes of the input were read; whether to go on.
    pub(super) on_read: &'a dyn Fn(u64) -> bool,
    /// Passes records to the sink, in the thread that has it; whether that has enough.
    pub(super) pass: Option<&'a mut dyn FnMut(R) -> bool>,
}

impl<R> Surroundings<'_, R> {
    /// Passes records to the sink; whether that has enough.
    pub(super) fn pass(&mut self, records: R) -> bool {
        self.pass.as_mut().is_some_and(|pass| pass(records))
    }
}
