//! Outages of services whose truth is known, from frames made here.

mod calls;
mod captures;
mod effects;
mod failovers;
mod services;
mod watch;
mod wire;
