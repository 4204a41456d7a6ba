//! The log of a register: sealed, chained and signed lines, and the head that says how many there are.

pub(crate) mod files;
pub(crate) mod head;
pub(crate) mod key;
pub(crate) mod line;
pub(crate) mod sealer;
