//! Alarms of the running daemon: what workers tell, the thread that judges it, and who hears of it.

mod baseline;
mod events;
mod feed;
mod health;
mod service;
mod state;

pub use baseline::baseline;
pub use events::LiveEvents;
pub(crate) use feed::AlarmFeed;
pub(crate) use service::{AlarmService, AlarmStart};
