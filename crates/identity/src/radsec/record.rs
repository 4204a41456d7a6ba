//! Records of TLS, and its hellos (RFC 5246 section 6.2, RFC 8446 section 5.1).

/// What a record carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    ChangeCipherSpec,
    Handshake,
    Data,
    /// Alerts, and whatever else.
    Other,
}

impl Kind {
    pub(super) fn of(byte: u8) -> Self {
        match byte {
            20 => Self::ChangeCipherSpec,
            22 => Self::Handshake,
            DATA => Self::Data,
            _ => Self::Other,
        }
    }
}

/// A record with its header.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record<'a> {
    pub(super) kind: Kind,
    pub(super) bytes: &'a [u8],
}

/// The beginning of a handshake.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Hello {
    /// The client's random.
    Client([u8; 32]),
    Server(ServerHello),
}

/// What a server has chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ServerHello {
    pub(super) random: [u8; 32],
    pub(super) cipher: u16,
    /// TLS 1.3, else 1.2.
    pub(super) is_13: bool,
}

/// Whether bytes begin with a record.
pub(crate) fn is_record(data: &[u8]) -> bool {
    matches!(data, [20..=23, 3, 0..=4, ..])
}

/// How long the record is that begins here, once that is known.
pub(crate) fn record_len(data: &[u8]) -> Option<usize> {
    let [high, low] = *data.get(3..HEADER)?.first_chunk()?;
    Some(HEADER + usize::from(u16::from_be_bytes([high, low])))
}

impl<'a> Record<'a> {
    /// One that is there whole.
    pub(super) fn parse(data: &'a [u8]) -> Option<Self> {
        let len = record_len(data).filter(|_| is_record(data))?;
        Some(Self { kind: Kind::of(data[0]), bytes: data.get(..len)? })
    }

    /// The hello that a record begins with.
    pub(super) fn hello(&self) -> Option<Hello> {
        let body = self.bytes.get(HEADER..).filter(|_| self.kind == Kind::Handshake)?;
        let (head, hello) = body.split_at_checked(4)?;
        let random: [u8; 32] = *hello.get(2..34)?.first_chunk()?;
        match head[0] {
            1 => Some(Hello::Client(random)),
            // A HelloRetryRequest chooses nothing yet (RFC 8446 section 4.1.3).
            2 if random == RETRY => None,
            2 => server_hello(hello, random).map(Hello::Server),
            _ => None,
        }
    }
}

fn server_hello(hello: &[u8], random: [u8; 32]) -> Option<ServerHello> {
    let session_len = usize::from(*hello.get(34)?);
    let rest = hello.get(35 + session_len..)?;
    let cipher = u16::from_be_bytes(*rest.first_chunk()?);
    // The compression, the length of the extensions, and these.
    let mut extensions = rest.get(5..).unwrap_or_default();
    let mut is_13 = false;
    while let Some(([a, b, c, d], after)) = extensions.split_first_chunk() {
        let (number, len) = (u16::from_be_bytes([*a, *b]), usize::from(u16::from_be_bytes([*c, *d])));
        let Some((value, after)) = after.split_at_checked(len) else { break };
        is_13 |= number == SUPPORTED_VERSIONS && value == [3, 4];
        extensions = after;
    }
    Some(ServerHello { random, cipher, is_13 })
}

/// Of a record: its type, version and length.
pub(super) const HEADER: usize = 5;
/// The type of what an application sends.
pub(super) const DATA: u8 = 23;
/// RFC 8446 section 4.2.1.
const SUPPORTED_VERSIONS: u16 = 43;
/// The random of a HelloRetryRequest: the SHA-256 of its name.
const RETRY: [u8; 32] = [
    0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91, 0xc2,
    0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
];
