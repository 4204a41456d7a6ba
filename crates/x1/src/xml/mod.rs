//! XML: a document as a tree of elements, and back. No DTDs, no entities of one's own, no processing
//! instructions; size, depth and number of elements are bounded.

mod element;
mod fields;
mod reader;
mod writer;

pub(crate) use element::Element;
pub(crate) use fields::Fields;
pub use reader::NotRead;
pub(crate) use reader::{MOST_BYTES, read};
pub(crate) use writer::Writer;
#[cfg(test)]
pub(crate) use writer::{COMMON, X1};
