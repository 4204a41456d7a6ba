//! Figures of the source tree: sizes of files and functions, import cycles, names.
//!
//! Not here: an opinion. `cases/tests/house.rs` holds the limits, and `make figures` prints what this
//! measures.
//!
//! The one invariant: text, characters and comments never count as code, because everything is measured on
//! tokens.
//!
//! | module | holds |
//! |---|---|
//! | [`lexer`] | [`lexer::tokens`]: a Rust file without comments and text |
//! | [`source`] | [`source::File`]: a file, its functions, types and tests |
//! | `modules` | what each module of a crate declares, imports and uses |
//! | [`imports`] | which file of a crate uses which, and the cycles among them |
//! | [`report`] | all figures as Markdown |
#![forbid(unsafe_code)]

pub mod imports;
pub mod lexer;
mod modules;
pub mod report;
pub mod source;

use std::path::{Path, PathBuf};

/// The folder of the project.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the folder of the project")
}
