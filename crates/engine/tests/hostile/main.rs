//! Floods that somebody sends on purpose, against the ceilings of the engine: real calls beside them are
//! recorded, what the engine holds stays within its bound, and no input costs more memory than it has bytes.

mod feed;
mod floods;
mod memory;
mod work;
