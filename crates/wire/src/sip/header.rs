//! Header field names, RFC 3261 section 20 and the registry of SIP header fields.

macro_rules! headers {
    ($($variant:ident $name:literal $($compact:literal)?,)*) => {
        /// A header field by its name, whatever case and form it was written in.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Header {
            $(#[doc = concat!("`", $name, "`", $(" or `", $compact, "`")?)] $variant,)*
            /// One that has no name here; find it with [`Message::header_named`](super::Message::header_named).
            Other,
        }

        impl Header {
            /// Each name and compact form with its header.
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
    /// The header that `name` means: any case, compact form included.
    // HOT: one multiplication and, nearly always, one comparison.
    pub fn parse(name: &[u8]) -> Header {
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

    /// What a call cannot be followed without: the first of each is indexed however many headers a message has.
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

/// Slot of a name that is not empty: from its length, ends and middle, case folded.
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
