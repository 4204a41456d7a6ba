//! Handover: what a warrant delivers, as ETSI TS 102 232 lays it out, and its way to a mediation function.
#![forbid(unsafe_code)]
