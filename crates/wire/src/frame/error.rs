//! Why a frame gives no packet.

/// The reason why a frame, or what a tunnel in it carries, gives no packet. One counter each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DecodeError {
    /// ARP, LLDP, spanning tree, a control frame: valid as far as it was read, but not IP.
    NotIp,
    /// A link type that is not supported.
    LinkUnknown,
    /// The capture ends inside a header. The packet itself may have been whole.
    Truncated,
    /// An IP header that contradicts itself: wrong version, header length, too many extension headers.
    BadIpHeader,
    /// A stated length is smaller than the header that states it or that it has to hold.
    BadLength,
    /// The header of a link layer, or of a tunnel with an IP protocol number, is inconsistent.
    BadTunnel,
    /// More nested tunnels, tags or labels than [`MAX_DEPTH`](super::MAX_DEPTH) and similar limits allow.
    TooDeep,
    /// Link-layer encryption (IEEE 802.11 protected frames).
    Encrypted,
}

impl DecodeError {
    /// How many reasons there are; [`DecodeError::index`] is below it.
    pub const COUNT: usize = 8;

    /// All of them, in the order of [`DecodeError::index`].
    pub const ALL: [Self; Self::COUNT] = [
        Self::NotIp,
        Self::LinkUnknown,
        Self::Truncated,
        Self::BadIpHeader,
        Self::BadLength,
        Self::BadTunnel,
        Self::TooDeep,
        Self::Encrypted,
    ];

    /// Index in an array of counters.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Name of its counter.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotIp => "not_ip",
            Self::LinkUnknown => "link_unknown",
            Self::Truncated => "truncated",
            Self::BadIpHeader => "bad_ip_header",
            Self::BadLength => "bad_length",
            Self::BadTunnel => "bad_tunnel",
            Self::TooDeep => "too_deep",
            Self::Encrypted => "encrypted",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_are_places_in_all_and_names_differ() {
        for (place, skip) in DecodeError::ALL.into_iter().enumerate() {
            assert_eq!(skip.index(), place);
            let same = DecodeError::ALL.into_iter().filter(|other| other.name() == skip.name()).count();
            assert_eq!(same, 1, "{}", skip.name());
        }
    }
}
