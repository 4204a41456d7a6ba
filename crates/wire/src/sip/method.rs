//! Methods, RFC 3261 section 7.1 and the RFCs that add to them.

macro_rules! methods {
    ($($(#[$doc:meta])* $variant:ident $name:literal,)*) => {
        /// A request method. Names are case-sensitive (RFC 3261 section 7.1): `invite` is not INVITE.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Method {
            $($(#[$doc])* $variant,)*
            /// Any other method; its text is in the start line.
            Other,
        }

        impl Method {
            /// Every method listed here.
            pub(crate) const KNOWN: &'static [(&'static [u8], Method)] = &[$(($name.as_bytes(),
                Method::$variant),)*];

            /// The name as on the wire; `OTHER` for a method not listed here.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Method::$variant => $name,)*
                    Method::Other => "OTHER",
                }
            }

            /// The method that `text` names.
            pub fn parse(text: &[u8]) -> Method {
                Method::KNOWN.iter().find(|(name, _)| *name == text).map_or(Method::Other, |&(_,
                    method)| method)
            }
        }
    };
}

methods! {
    /// RFC 3261 section 13.
    Invite "INVITE",
    /// RFC 3261 section 17.1.1.3.
    Ack "ACK",
    /// RFC 3261 section 15.
    Bye "BYE",
    /// RFC 3261 section 9.
    Cancel "CANCEL",
    /// RFC 3261 section 10.
    Register "REGISTER",
    /// RFC 3261 section 11.
    Options "OPTIONS",
    /// RFC 6086.
    Info "INFO",
    /// RFC 3262.
    Prack "PRACK",
    /// RFC 3311.
    Update "UPDATE",
    /// RFC 3515.
    Refer "REFER",
    /// RFC 6665.
    Notify "NOTIFY",
    /// RFC 6665.
    Subscribe "SUBSCRIBE",
    /// RFC 3903.
    Publish "PUBLISH",
    /// RFC 3428.
    Message "MESSAGE",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for &(name, method) in Method::KNOWN {
            assert_eq!(Method::parse(name), method);
            assert_eq!(method.name().as_bytes(), name);
        }
        assert_eq!(Method::parse(b"invite"), Method::Other);
        assert_eq!(Method::parse(b"RE%47IST%45R"), Method::Other);
    }
}
