//! An element of a document.

use ringtap_warrant::SecretText;

/// Where a name belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Namespace {
    /// TS 103 221-1.
    X1,
    /// TS 103 280.
    Common,
    /// None, or another one.
    Other,
}

/// An element, without its attributes but for its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Element {
    pub(crate) namespace: Namespace,
    pub(crate) name: String,
    /// `xsi:type`, where it names a type of X1.
    pub(crate) kind: Option<String>,
    /// Without space at its ends; empty where it has elements.
    pub(crate) text: SecretText,
    pub(crate) children: Vec<Element>,
}

impl Element {
    /// Whether it is that element of X1.
    pub(crate) fn is(&self, name: &str) -> bool {
        self.namespace == Namespace::X1 && self.name == name
    }
}
