//! Numbers of attributes: which space, which vendor, which attribute.

/// Names an attribute: `8`, `241.6`, `26.10415.1`, `241.26.9.3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Number {
    /// Type of the attribute that contains it (26, 241 to 246), or 0 where none does.
    pub space: u8,
    /// Private enterprise number of the vendor, or 0.
    pub vendor: u32,
    /// Type in its space. 0 in Vendor-Specific: its content is not in its vendor's format, and was left
    /// whole.
    pub kind: u32,
}

impl Number {
    /// An attribute of the standard space (RFC 2865 section 5).
    pub const fn standard(kind: u8) -> Self {
        Self { space: 0, vendor: 0, kind: kind as u32 }
    }

    /// An attribute of a vendor (RFC 2865 section 5.26).
    pub const fn vendor(vendor: u32, kind: u32) -> Self {
        Self { space: VENDOR_SPECIFIC, vendor, kind }
    }

    /// An extended attribute (RFC 6929 section 2).
    pub const fn extended(space: u8, kind: u8) -> Self {
        Self { space, vendor: 0, kind: kind as u32 }
    }
}

/// Type of Vendor-Specific, in the standard space and in each extended one.
pub(super) const VENDOR_SPECIFIC: u8 = 26;

/// Vendors whose attributes are read.
pub mod vendor {
    /// ciscoSystems.
    pub const CISCO: u32 = 9;
    /// U.S. Robotics: types of four bytes, no length.
    pub const USR: u32 = 429;
    /// Alcatel-ESAM: types of two bytes.
    pub const ESAM: u32 = 637;
    /// Huawei.
    pub const HUAWEI: u32 = 2011;
    /// ADSL Forum, now Broadband Forum (RFC 4679).
    pub const ADSL_FORUM: u32 = 3561;
    /// Lucent: types of two bytes.
    pub const LUCENT: u32 = 4846;
    /// Juniper ERX, formerly Unisphere.
    pub const ERX: u32 = 4874;
    /// Nokia service routers, formerly Alcatel-Lucent, formerly TiMetra.
    pub const NOKIA_SR: u32 = 6527;
    /// Starent, now Cisco ASR 5000: types and lengths of two bytes.
    pub const STARENT: u32 = 8164;
    /// 3GPP (TS 29.061 section 16.4.7).
    pub const TGPP: u32 = 10415;
    /// Kineto: types of two bytes.
    pub const KINETO: u32 = 16445;
    /// WiMAX Forum: a continuation byte after the length.
    pub const WIMAX: u32 = 24757;
}

macro_rules! numbers {
    ($($(#[doc = $about:literal])+ $name:ident = $number:expr;)+) => {
        $($(#[doc = $about])+ pub const $name: Number = $number;)+
    };
}

numbers! {
    /// Name of the user (RFC 2865 section 5.1).
    USER_NAME = Number::standard(1);
    /// Address of the NAS (5.4).
    NAS_IP_ADDRESS = Number::standard(4);
    /// Physical port of the NAS (5.5).
    NAS_PORT = Number::standard(5);
    /// Type of service that is asked for (5.6).
    SERVICE_TYPE = Number::standard(6);
    /// IPv4 address of the user (5.8).
    FRAMED_IP_ADDRESS = Number::standard(8);
    /// Netmask of the user's network (5.9).
    FRAMED_IP_NETMASK = Number::standard(9);
    /// A route to the user, as text (5.22).
    FRAMED_ROUTE = Number::standard(22);
    /// What the server wants back in accounting (5.25).
    CLASS = Number::standard(25);
    /// Seconds that the session may last (5.27).
    SESSION_TIMEOUT = Number::standard(27);
    /// What the user called, or the access point (5.30).
    CALLED_STATION_ID = Number::standard(30);
    /// What the user calls from: number, MAC address, line (5.31).
    CALLING_STATION_ID = Number::standard(31);
    /// Name of the NAS (5.32).
    NAS_IDENTIFIER = Number::standard(32);
    /// What an accounting request reports (RFC 2866 section 5.1).
    ACCT_STATUS_TYPE = Number::standard(40);
    /// Seconds that the NAS has tried to send this (5.2).
    ACCT_DELAY_TIME = Number::standard(41);
    /// Bytes from the user, modulo 2^32 (5.3).
    ACCT_INPUT_OCTETS = Number::standard(42);
    /// Bytes to the user, modulo 2^32 (5.4).
    ACCT_OUTPUT_OCTETS = Number::standard(43);
    /// Names the session (5.5).
    ACCT_SESSION_ID = Number::standard(44);
    /// Seconds that the session has lasted (5.7).
    ACCT_SESSION_TIME = Number::standard(46);
    /// Why the session ended (5.10).
    ACCT_TERMINATE_CAUSE = Number::standard(49);
    /// Names several sessions that belong together (5.11).
    ACCT_MULTI_SESSION_ID = Number::standard(50);
    /// How often the bytes from the user passed 2^32 (RFC 2869 section 5.1).
    ACCT_INPUT_GIGAWORDS = Number::standard(52);
    /// How often the bytes to the user passed 2^32 (5.2).
    ACCT_OUTPUT_GIGAWORDS = Number::standard(53);
    /// When it happened, by the NAS's clock (5.3).
    EVENT_TIMESTAMP = Number::standard(55);
    /// HMAC over the packet (5.14).
    MESSAGE_AUTHENTICATOR = Number::standard(80);
    /// Seconds between interim updates (5.16).
    ACCT_INTERIM_INTERVAL = Number::standard(85);
    /// Name of the NAS's port (5.17).
    NAS_PORT_ID = Number::standard(87);
    /// Name of the customer who pays (RFC 4372 section 2.1).
    CHARGEABLE_USER_IDENTITY = Number::standard(89);
    /// IPv6 address of the NAS (RFC 3162 section 2.1).
    NAS_IPV6_ADDRESS = Number::standard(95);
    /// Interface identifier of the user (2.2).
    FRAMED_INTERFACE_ID = Number::standard(96);
    /// Prefix of the user's link (2.3).
    FRAMED_IPV6_PREFIX = Number::standard(97);
    /// An IPv6 route to the user, as text (2.5).
    FRAMED_IPV6_ROUTE = Number::standard(99);
    /// Why a change or a disconnection was refused (RFC 5176 section 3.5).
    ERROR_CAUSE = Number::standard(101);
    /// Prefix that the user's router may hand out (RFC 4818 section 3).
    DELEGATED_IPV6_PREFIX = Number::standard(123);
    /// IPv6 address of the user (RFC 6911 section 3.1).
    FRAMED_IPV6_ADDRESS = Number::standard(168);
    /// A block of ports at a shared address (RFC 8045 section 3.1.2).
    IP_PORT_RANGE = Number::extended(241, 6);
    /// Subscriber's IMSI (TS 29.061 section 16.4.7).
    TGPP_IMSI = Number::vendor(vendor::TGPP, 1);
    /// IMEI and version of the device's software.
    TGPP_IMEISV = Number::vendor(vendor::TGPP, 20);
    /// `name=value`.
    CISCO_AV_PAIR = Number::vendor(vendor::CISCO, 1);
    /// Line that the user is connected to (RFC 4679 section 3.3.1).
    AGENT_CIRCUIT_ID = Number::vendor(vendor::ADSL_FORUM, 1);
    /// Subscriber, as the access node names it (3.3.2).
    AGENT_REMOTE_ID = Number::vendor(vendor::ADSL_FORUM, 2);
    /// IPv6 address of the user.
    NOKIA_IPV6_ADDRESS = Number::vendor(vendor::NOKIA_SR, 99);
    /// Address and block of ports, as text.
    NOKIA_NAT_PORT_RANGE = Number::vendor(vendor::NOKIA_SR, 121);
    /// Shared address of the user.
    HUAWEI_NAT_PUBLIC_ADDRESS = Number::vendor(vendor::HUAWEI, 161);
    /// First port of the user's block.
    HUAWEI_NAT_START_PORT = Number::vendor(vendor::HUAWEI, 162);
    /// Last port of the user's block.
    HUAWEI_NAT_END_PORT = Number::vendor(vendor::HUAWEI, 163);
}
