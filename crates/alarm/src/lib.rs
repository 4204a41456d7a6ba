//! Alarms: rules over what happens on a telephone network, and what is raised when one of them holds.
//!
//! Not here: where events come from, who is told, and where alarms are stored. Time comes with the events.
//!
//! | module | holds |
//! |---|---|
//! | [`rule`] | [`Rule`], what is watched, of whom, and what is too much |
//! | [`event`] | [`Event`], what happened |
#![forbid(unsafe_code)]

pub mod event;
pub mod rule;

pub use event::{CallBegan, CallEnded, Event, HealthFigure, IntervalSeen, RegistrationSeen};
pub use rule::{Hours, Limit, Per, Rule, Watched};
