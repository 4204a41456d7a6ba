//! Outages of services whose truth is known, from frames made here.

mod captures;
mod services;
mod wire;
