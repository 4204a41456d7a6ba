//! Interception: what of the traffic a warrant is entitled to.
#![forbid(unsafe_code)]
