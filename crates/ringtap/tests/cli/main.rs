//! The built program, run as people run it.
//!
//! | module | holds |
//! |---|---|
//! | `refused` | input and arguments that are wrong |
//! | `whole` | a call from the wire to every kind of output |
//! | `page` | a capture as an HTML page, and a browser that opens it |
//! | `open` | captures in the browser, with the console behind it |
//! | `complaints` | the commands of `docs/manual/complaints.md` |
//! | `anonymous` | captures that name nobody |
//! | `found` | records of a file and of the database, found by the same filters |
//! | `mcp` | what an assistant is given |
//! | `searched` | the search language |
//! | `doctor` | this machine |
//! | `installed` | `make install` and `make uninstall` into a directory |
//! | `console` | the people of the console, and its audit log |
//! | `disclosure` | requests for retained data, and their answers held against tshark |
//! | `warrant` | the register of lawful interception, from set-up to audit |
//! | `x1` | tasks over X1, from a client of its own, to their product |
//! | `kpis` | KPIs against a second implementation |
//! | `why` | what distinguishes marked calls |
//! | `live` | its loopback, and refusals |
//! | `hostile_files` | files that cost more than their size, or change while they are read |
//! | `codecs` | each codec from a capture to a WAV, against other decoders |
//! | `captured` | streams that others captured, against other decoders |
//! | `sound` | the process that libraries decode in |
//! | `flood` | hostile traffic beside calls |
//! | `opus` | Ogg Opus, and the process that a library encodes in |
//! | `mediation` | product where it arrives |
//! | `built`, `run` | a capture made packet by packet; running the program |

mod anonymous;
mod availability;
mod built;
mod captured;
mod codecs;
mod complaints;
mod console;
mod disclosure;
mod doctor;
mod flood;
mod formats;
mod found;
mod hostile_files;
mod identity;
mod installed;
mod kpis;
mod live;
mod mcp;
#[path = "../mediation/mod.rs"]
mod mediation;
mod open;
mod opus;
mod page;
mod product;
mod refused;
mod run;
mod searched;
mod sound;
mod warrant;
mod warrant_pages;
mod whole;
mod why;
mod x1;
