//! From packets to whole datagrams and messages: the capture clock, IP fragments, TCP and SCTP reassembly.

pub(crate) mod clock;
pub(crate) mod fragments;
pub(crate) mod sctp;
pub(crate) mod tcp;
