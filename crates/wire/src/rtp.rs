//! RTP, RFC 3550 section 5.
