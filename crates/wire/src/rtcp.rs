//! RTCP, RFC 3550 section 6.
