//! "Why these?": what distinguishes marked calls from the others of the same time.
//!
//! Not here: where calls come from, and how they are marked. Nothing is read and nothing is shown.
//!
//! The one invariant: where the marks do not depend on anything that the records tell, nothing is claimed,
//! but in one of a thousand cases.
//!
//! ```
//! use ringtap_investigate::{MarkedBy, Sample, Topic};
//! use ringtap_testing::samples;
//!
//! // Calls were marked by how they sound: those of one device are bad.
//! let mut sample = Sample::new(MarkedBy::new([Topic::Quality]));
//! for number in 0..1_000 {
//!     let mut call = samples::call();
//!     let is_bad = number % 10 == 0;
//!     call.user_agent_callee = Some(if is_bad { "Phone/6.3.1" } else { "Phone/6.4.0" }.into());
//!     sample.add(&call, &[], is_bad);
//! }
//! let ranking = sample.rank();
//! assert!(ranking.claims());
//! let text = "Of 100 marked calls 100 are answered by Phone/6.3.1; of the 900 others none.";
//! assert_eq!(ranking.text(), text);
//! assert_eq!(ranking.findings[0].query, r#"ua:"Phone/6.3.1""#);
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `sample` | [`Sample`], which counts calls, and its [`Limits`] |
//! | `topic` | [`MarkedBy`] and [`Topic`]: which fields would say again what calls were marked by |
//! | `field`, `agent` | the fields that are asked, one line each; the parts of a User-Agent |
//! | `value` | values as they are counted, read and searched |
//! | `counts`, `reservoir` | how many calls have each value; a fair choice of calls with all their values |
//! | `rank`, `table`, `bits` | the search for what says most of the marks |
//! | `significance` | Fisher's exact test, information, odds ratio |
//! | `finding` | [`Ranking`], [`Finding`]: what was found, in figures and words |
#![forbid(unsafe_code)]

mod agent;
mod bits;
mod counts;
mod field;
mod finding;
mod rank;
mod reservoir;
mod sample;
mod significance;
mod table;
mod topic;
mod value;

pub use finding::{Finding, Named, Ranking};
pub use sample::{Limits, Sample};
pub use topic::{MarkedBy, Topic};
