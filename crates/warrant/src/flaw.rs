//! What can be wrong with the acts of a register.

/// What is wrong with an act.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Flaw {
    /// The line cannot be read.
    #[error("cannot be read: the line is not an act")]
    NotAnAct,
    /// Its hash is not that of its text.
    #[error("was changed: its hash is that of another text")]
    Changed,
    /// Others follow in its place.
    #[error("is missing: acts were removed or reordered")]
    Removed,
    /// An act with a lower number stands in its place.
    #[error("is not in its place: an earlier act was repeated")]
    Repeated,
    /// It names another act before it.
    #[error("does not follow the act before it: that one was replaced")]
    Chain,
    /// It was not signed by the key.
    #[error("is not signed by the key of the register")]
    Signature,
    /// The master key does not open it.
    #[error("cannot be opened by the master key")]
    Sealed,
    /// It was opened, and this program does not know such an act.
    #[error("is not known to this version of the program: use the version that wrote it, or a later one")]
    Unknown,
    /// It may not follow the acts before it.
    #[error("breaks a rule of the register: it was not written by this program")]
    Rule,
    /// It was once there.
    #[error("is missing: acts were cut off after they had been written")]
    CutOff,
    /// A head says that there was another one.
    #[error("is another one than was noted")]
    Noted,
    /// The file `head` is missing, or not signed by the key.
    #[error("cannot be told to be the last one: the file `head` is missing or not signed by the key")]
    Head,
}
