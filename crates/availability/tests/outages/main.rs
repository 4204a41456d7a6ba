//! Outages of services whose truth is known, from frames made here.

mod captures;
mod failovers;
mod services;
mod watch;
mod wire;
