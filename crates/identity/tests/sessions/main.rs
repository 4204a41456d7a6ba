//! Sessions from packets: the gaps of other systems, one test each, cases of their own, and a model.

mod cases;
mod gaps;
mod model;
mod packets;
mod radsec;
#[path = "../radsec_link/mod.rs"]
mod radsec_link;
mod restart;
mod tcp;
