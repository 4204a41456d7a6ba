//! The built program, run as people run it.
//!
//! | module | holds |
//! |---|---|
//! | `refused` | input and arguments that are wrong |
//! | `whole` | a call from the wire to every kind of output |
//! | `doctor` | this machine |
//! | `live` | its loopback, and refusals |
//! | `sound` | codecs that libraries decode |
//! | `built`, `run` | a capture made packet by packet; running the program |

mod built;
mod doctor;
mod live;
mod refused;
mod run;
mod sound;
mod whole;
