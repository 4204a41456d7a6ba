//! Header field names, RFC 3261 section 20 and the registry of SIP header fields.

use super::text::those;

macro_rules! headers {
    ($($variant:ident $name:literal $($compact:literal)?,)*) => {
        /// A header field by its name, whatever case and form it was written in.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Header {
            $(#[doc = concat!("`", $name, "`", $(" or `", $compact, "`")?)] $variant,)*
            /// A header not listed here; find it with
            /// [`Message::header_named`](super::Message::header_named).
            Other,
        }

        impl Header {
            /// Each full name and compact form with its header.
            const KNOWN: &'static [(&'static str, Header)] =
                &[$(($name, Header::$variant), $(($compact, Header::$variant),)?)*];

            /// The full name as the RFC writes it; empty for [`Header::Other`].
            pub const fn name(self) -> &'static str {
                match self {
                    $(Header::$variant => $name,)*
                    Header::Other => "",
                }
            }
        }
    };
}

headers! {
    Accept "Accept",
    AlertInfo "Alert-Info",
    Allow "Allow",
    AllowEvents "Allow-Events" "u",
    Also "Also",
    AuthenticationInfo "Authentication-Info",
    Authorization "Authorization",
    CallId "Call-ID" "i",
    CallInfo "Call-Info",
    Contact "Contact" "m",
    ContentDisposition "Content-Disposition",
    ContentEncoding "Content-Encoding" "e",
    ContentId "Content-ID",
    ContentLength "Content-Length" "l",
    ContentType "Content-Type" "c",
    CSeq "CSeq",
    Date "Date",
    Diversion "Diversion",
    Event "Event" "o",
    Expires "Expires",
    From "From" "f",
    HistoryInfo "History-Info",
    Identity "Identity" "y",
    InReplyTo "In-Reply-To",
    Join "Join",
    MaxForwards "Max-Forwards",
    MinExpires "Min-Expires",
    MinSe "Min-SE",
    PAccessNetworkInfo "P-Access-Network-Info",
    PAssertedIdentity "P-Asserted-Identity",
    PAssociatedUri "P-Associated-URI",
    PCalledPartyId "P-Called-Party-ID",
    PChargingVector "P-Charging-Vector",
    PEarlyMedia "P-Early-Media",
    PPreferredIdentity "P-Preferred-Identity",
    PRtpStat "P-RTP-Stat",
    Path "Path",
    Privacy "Privacy",
    ProxyAuthenticate "Proxy-Authenticate",
    ProxyAuthorization "Proxy-Authorization",
    ProxyRequire "Proxy-Require",
    RAck "RAck",
    RSeq "RSeq",
    Reason "Reason",
    RecordRoute "Record-Route",
    ReferSub "Refer-Sub",
    ReferTo "Refer-To" "r",
    ReferredBy "Referred-By" "b",
    RemotePartyId "Remote-Party-ID",
    Replaces "Replaces",
    Require "Require",
    RetryAfter "Retry-After",
    Route "Route",
    Server "Server",
    ServiceRoute "Service-Route",
    SessionExpires "Session-Expires" "x",
    SessionId "Session-ID",
    Subject "Subject" "s",
    SubscriptionState "Subscription-State",
    Supported "Supported" "k",
    TargetDialog "Target-Dialog",
    Timestamp "Timestamp",
    To "To" "t",
    Unsupported "Unsupported",
    UserAgent "User-Agent",
    UserToUser "User-to-User",
    Via "Via" "v",
    Warning "Warning",
    WwwAuthenticate "WWW-Authenticate",
    XRtpStat "X-RTP-Stat",
}

impl Header {
    /// Number of headers, [`Header::Other`] included.
    pub(super) const COUNT: usize = Header::Other as usize + 1;

    /// The header of that name, in any case, also in compact form.
    pub fn parse(name: &[u8]) -> Header {
        Self::starting(name, name.len())
    }

    /// The header named by the first `len` bytes of `text`. The bytes after them are read but do not matter.
    fn starting(text: &[u8], len: usize) -> Header {
        let known = text.first_chunk().and_then(|words| Self::exactly(*words, len));
        known.unwrap_or_else(|| Self::search(&text[..len]))
    }

    /// The known header that begins a line, its name as the RFC writes it and of at most fifteen bytes, and
    /// the offset of its colon; None for any other line.
    // HOT: once a header line.
    #[inline(always)]
    pub(super) fn before_colon(line: &[u8]) -> Option<(Header, usize)> {
        let words = line.first_chunk()?;
        let [low, high] = halves(*words).map(|word| those(word.to_le_bytes(), b':'));
        if low | high == 0 {
            return None;
        }
        // The lowest set bit belongs to the first colon.
        let colon = if low != 0 { low.trailing_zeros() } else { 64 + high.trailing_zeros() } as usize / 8;
        Some((Self::exactly(*words, colon)?, colon))
    }

    /// The header whose name, as the RFC writes it, is the first `len` of sixteen bytes.
    // HOT: two words, one multiplication and one comparison.
    #[inline(always)]
    fn exactly(words: [u8; 16], len: usize) -> Option<Header> {
        let [low, high] = halves(words);
        let [low, high] = match len {
            0..8 => [low & !(u64::MAX << (8 * len)), 0],
            8..16 => [low, high & !(u64::MAX << (8 * len - 64))],
            _ => [low, high],
        };
        let known = KNOWN_WORDS.get(usize::from(EXACT[exact(low, high)]))?;
        (known.low == low && known.high == high && known.len == len && len <= 16).then_some(known.header)
    }

    /// The header of a name in any case.
    #[inline(never)]
    fn search(name: &[u8]) -> Header {
        if name.is_empty() {
            return Header::Other;
        }
        let mut slot = hash(name);
        loop {
            let entry = SLOTS[slot];
            if entry == FREE {
                return Header::Other;
            }
            let (known, header) = Header::KNOWN[entry as usize];
            if known.as_bytes() == name || known.as_bytes().eq_ignore_ascii_case(name) {
                return header;
            }
            slot = (slot + 1) % SLOTS.len();
        }
    }

    /// Headers that tracking a call needs: the first of each is indexed however many headers a message has.
    pub(super) const fn essential(self) -> bool {
        use Header::*;
        matches!(
            self,
            CallId
                | CSeq
                | From
                | To
                | Via
                | Contact
                | ContentLength
                | ContentType
                | ContentEncoding
                | Expires
                | Reason
                | Replaces
                | PAssertedIdentity
                | ReferTo
                | SessionId
        )
    }
}

/// The first sixteen bytes of a name as two words, padded with zeros.
#[derive(Clone, Copy)]
struct Words {
    low: u64,
    high: u64,
    len: usize,
    header: Header,
}

/// Sixteen bytes as two words.
#[inline(always)]
fn halves(words: [u8; 16]) -> [u64; 2] {
    let both = u128::from_le_bytes(words);
    [both as u64, (both >> 64) as u64]
}

/// Slot of two words in [`EXACT`]; the compiler checks that no two known names share one.
#[inline]
const fn exact(low: u64, high: u64) -> usize {
    ((low ^ high.rotate_left(7)).wrapping_mul(0xe654_f989_f869_7931) >> 55) as usize
}

/// The words of each name in [`Header::KNOWN`].
static KNOWN_WORDS: [Words; Header::KNOWN.len()] = {
    let mut words = [Words { low: 0, high: 0, len: 0, header: Header::Other }; Header::KNOWN.len()];
    let mut entry = 0;
    while entry < words.len() {
        let (name, header) = Header::KNOWN[entry];
        let name = name.as_bytes();
        let mut bytes = [0; 16];
        let mut at = 0;
        while at < name.len() && at < bytes.len() {
            bytes[at] = name[at];
            at += 1;
        }
        let both = u128::from_le_bytes(bytes);
        words[entry] = Words { low: both as u64, high: (both >> 64) as u64, len: name.len(), header };
        entry += 1;
    }
    words
};

/// Index in [`Header::KNOWN`] of the name with these two words.
static EXACT: [u8; 512] = {
    let mut slots = [FREE; 512];
    let mut entry = 0;
    while entry < KNOWN_WORDS.len() {
        let slot = exact(KNOWN_WORDS[entry].low, KNOWN_WORDS[entry].high);
        assert!(slots[slot] == FREE, "two names share a slot: choose another multiplier");
        slots[slot] = entry as u8;
        entry += 1;
    }
    slots
};

/// Marks a free slot.
const FREE: u8 = u8::MAX;

/// Open addressing over [`Header::KNOWN`], laid out by the compiler.
///
/// INVARIANT: less than half of the slots are taken, so a search ends.
static SLOTS: [u8; 256] = {
    assert!(Header::KNOWN.len() < 128);
    let mut slots = [FREE; 256];
    let mut entry = 0;
    while entry < Header::KNOWN.len() {
        let mut slot = hash(Header::KNOWN[entry].0.as_bytes());
        while slots[slot] != FREE {
            slot = (slot + 1) % slots.len();
        }
        slots[slot] = entry as u8;
        entry += 1;
    }
    slots
};

/// Slot of a non-empty name: from its length, first, middle and last byte, case folded.
const fn hash(name: &[u8]) -> usize {
    let len = name.len();
    let (first, middle, last) = (name[0] | 0x20, name[len / 2] | 0x20, name[len - 1] | 0x20);
    let key = (len as u32 & 0xff) << 24 | (first as u32) << 16 | (middle as u32) << 8 | last as u32;
    (key.wrapping_mul(0x9e37_79b1) >> 24) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back_in_any_case() {
        for &(name, header) in Header::KNOWN {
            assert_eq!(Header::parse(name.as_bytes()), header);
            assert_eq!(Header::parse(name.to_ascii_uppercase().as_bytes()), header);
            assert_eq!(Header::parse(name.to_ascii_lowercase().as_bytes()), header);
        }
    }

    #[test]
    fn what_stands_behind_a_name_means_nothing() {
        for &(name, header) in Header::KNOWN {
            for behind in [": x\r\nVia: y\r\n\r\n........", "\t:", "", "aaaaaaaaaaaaaaaaaaaaaaaa"] {
                let text = format!("{name}{behind}");
                assert_eq!(Header::starting(text.as_bytes(), name.len()), header, "{text}");
                assert_eq!(Header::starting(text.to_lowercase().as_bytes(), name.len()), header, "{text}");
            }
            let wrong = format!("{name}\0: 1234567890123456");
            assert_eq!(Header::starting(wrong.as_bytes(), name.len() + 1), Header::Other, "{name}");
            let other = format!("{}?: 1234567890123456", &name[..name.len() - 1]);
            assert_eq!(Header::starting(other.as_bytes(), name.len()), Header::Other, "{name}");
        }
    }

    #[test]
    fn the_name_before_the_colon_of_a_line() {
        for &(name, header) in Header::KNOWN {
            let line = format!("{name}: value\r\nVia: x\r\n");
            let found = (name.len() < 16).then_some((header, name.len()));
            assert_eq!(Header::before_colon(line.as_bytes()), found, "{name}");
            for other in [
                format!("{name} : value\r\n\r\n"),
                format!("{name}\r\nVia: x\r\n"),
                format!("{name}x: value 0123"),
            ] {
                assert_eq!(Header::before_colon(other.as_bytes()), None, "{other}");
            }
        }
        assert_eq!(Header::before_colon(b"Via: 0123456789"), None, "too short to tell");
    }

    #[test]
    fn compact_forms() {
        let forms = [(&b"i"[..], Header::CallId), (b"V", Header::Via), (b"m", Header::Contact)];
        for (name, header) in forms {
            assert_eq!(Header::parse(name), header);
        }
    }

    #[test]
    fn others() {
        for name in [&b""[..], b"X-Foo", b"Vi", b"Viaa", b"Content-Lengt\xe8"] {
            assert_eq!(Header::parse(name), Header::Other, "{name:?}");
        }
    }

    #[test]
    fn searches_are_short() {
        let longest = Header::KNOWN
            .iter()
            .map(|(name, _)| {
                let mut slot = hash(name.as_bytes());
                let mut steps = 1;
                while !Header::KNOWN[SLOTS[slot] as usize].0.eq_ignore_ascii_case(name) {
                    slot = (slot + 1) % SLOTS.len();
                    steps += 1;
                }
                steps
            })
            .max();
        assert!(longest <= Some(6), "{longest:?}");
    }
}
