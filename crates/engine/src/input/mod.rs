//! From packets to whole datagrams and messages: capture clock, IP fragments, TCP and SCTP reassembly, HEP.

pub(crate) mod clock;
pub(crate) mod fragments;
pub(crate) mod hep;
pub(crate) mod sctp;
pub(crate) mod tcp;
