//! Alarms: rules over what happens on a telephone network, and what is raised when one of them holds.
//!
//! Not here: where events come from, who is told, and where alarms are stored. Time comes with the events.
//!
//! The one invariant: the same events and moments in the same order give the same changes.
//!
//! ```
//! use ringtap_alarm::{Evaluator, Event, Settings, patterns};
//! use ringtap_model::Nanos;
//!
//! let rules = patterns().into_iter().flat_map(|pattern| pattern.rules).collect();
//! let now = Nanos::from_secs(1_795_226_400);
//! let mut evaluator = Evaluator::new(Settings { rules, ..Settings::default() }, now);
//! let events: Vec<Event> = Vec::new();
//! for event in &events {
//!     for change in evaluator.advance(event.time()) {
//!         println!("{:?}: {}", change.kind, change.alarm.text);
//!     }
//!     evaluator.event(event);
//! }
//! evaluator.advance(now + Nanos::from_secs(1));
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`rule`] | [`Rule`], what is watched, of whom, and what is too much |
//! | `names`, `check` | names of what is watched; which rules can be evaluated |
//! | [`mod@patterns`] | [`patterns`], ready-made rules |
//! | [`event`] | [`Event`], what happened |
//! | [`settings`] | [`Settings`] |
//! | [`evaluator`] | [`Evaluator`], and its [`Counts`] |
//! | `count`, `close` | how an event counts; what happens when a slot closes |
//! | `series`, `window` | one figure over one time for all subjects; for one |
//! | `subjects`, `calls` | who is looked at; calls in progress |
//! | `judge` | limits with hysteresis |
//! | [`standing`] | [`Change`], [`Silence`], alarms that stand |
//! | `baseline`, `learned`, `capture` | the hour a week ago; usual countries; what the capture loses |
//! | `state` | what goes over a restart |
//! | `text`, `number`, `glob` | the sentence of an alarm; telephone numbers; names with a `*` |
#![forbid(unsafe_code)]

mod baseline;
mod calls;
mod capture;
mod check;
mod close;
mod count;
#[cfg(test)]
mod equality;
pub mod evaluator;
pub mod event;
mod glob;
mod judge;
mod learned;
#[cfg(test)]
mod manual;
mod names;
mod number;
pub mod patterns;
pub mod rule;
mod series;
pub mod settings;
pub mod standing;
mod state;
mod subjects;
mod text;
mod window;

pub use evaluator::{Counts, Evaluator};
pub use event::{CallAnswered, CallBegan, CallEnded, Event, HealthFigure, IntervalSeen, RegistrationSeen};
pub use glob::matches;
pub use patterns::{Pattern, patterns};
pub use rule::{Hours, Limit, Per, Rule, Watched};
pub use settings::Settings;
pub use standing::{Change, ChangeKind, NotStanding, Silence};
