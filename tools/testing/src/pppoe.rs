//! Frames of PPPoE, laid out by hand: discovery, and the control protocols of PPP (RFC 2516, RFC 1661).

/// A client and an access concentrator.
#[derive(Clone, Debug)]
pub struct Link {
    /// Ethernet address of the client.
    pub client: [u8; 6],
    /// Of the access concentrator.
    pub concentrator: [u8; 6],
    /// Session id.
    pub session: u16,
    /// VLANs of the frames, the outermost first.
    pub vlans: Vec<u16>,
}

/// Which side sends a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The client.
    Client,
    /// The access concentrator.
    Concentrator,
}

impl Link {
    /// Of the client with that last byte of its address, in VLAN 7.
    pub fn new(client: u8, session: u16) -> Self {
        let (client, concentrator) = ([2, 0, 0x5e, 0, 0, client], [2, 0, 0x5e, 0, 1, 1]);
        Self { client, concentrator, session, vlans: vec![7] }
    }

    /// Discovery: `code` says which, and whether there is a session id yet.
    pub fn discovery(&self, side: Side, code: u8, session: u16, tags: &[u8]) -> Vec<u8> {
        let mut frame = self.frame(side, 0x8863, code, session, tags);
        if code == PADI {
            frame[..6].fill(0xff);
        }
        frame
    }

    /// What follows the protocol field of PPP, in a frame of the session.
    pub fn session(&self, side: Side, protocol: u16, data: &[u8]) -> Vec<u8> {
        let payload = [&protocol.to_be_bytes()[..], data].concat();
        self.frame(side, 0x8864, 0, self.session, &payload)
    }

    /// A packet of a control protocol.
    pub fn control(&self, side: Side, protocol: u16, (code, id): (u8, u8), data: &[u8]) -> Vec<u8> {
        let length = (4 + data.len() as u16).to_be_bytes();
        self.session(side, protocol, &[&[code, id][..], &length, data].concat())
    }

    /// All frames of a client that is let in by PAP and gets an address, and an interface identifier.
    pub fn login(&self, user: &str, address: [u8; 4], line: &[u8]) -> Vec<Vec<u8>> {
        use Side::{Client, Concentrator};
        let pap = [&[user.len() as u8][..], user.as_bytes(), &[6], b"secret"].concat();
        let name = tag(0x0102, b"bng");
        let asked = |address: [u8; 4]| [&[3, 6][..], &address].concat();
        let interface = [&[1, 10][..], &[2, 0, 0x5e, 0xff, 0xfe, 0, 0, self.client[5]]].concat();
        vec![
            self.discovery(Client, PADI, 0, &[&tag(0x0101, b"")[..], line].concat()),
            self.discovery(Concentrator, 7, 0, &name),
            self.discovery(Client, 0x19, 0, &[&tag(0x0101, b"")[..], line].concat()),
            self.discovery(Concentrator, 0x65, self.session, &tag(0x0101, b"")),
            self.control(Concentrator, LCP, (1, 1), &[1, 4, 5, 0xd4, 3, 4, 0xc0, 0x23]),
            self.control(Client, LCP, (2, 1), &[1, 4, 5, 0xd4, 3, 4, 0xc0, 0x23]),
            self.control(Client, PAP, (1, 9), &pap),
            self.control(Concentrator, PAP, (2, 9), &[0]),
            self.control(Concentrator, IPCP, (1, 1), &asked([192, 0, 2, 1])),
            self.control(Client, IPCP, (2, 1), &asked([192, 0, 2, 1])),
            self.control(Client, IPCP, (1, 1), &asked([0; 4])),
            self.control(Concentrator, IPCP, (3, 1), &asked(address)),
            self.control(Client, IPCP, (1, 2), &asked(address)),
            self.control(Concentrator, IPCP, (2, 2), &asked(address)),
            self.control(Client, IPV6CP, (1, 1), &interface),
            self.control(Concentrator, IPV6CP, (2, 1), &interface),
        ]
    }

    fn frame(&self, side: Side, kind: u16, code: u8, session: u16, payload: &[u8]) -> Vec<u8> {
        let (src, dst) = match side {
            Side::Client => (self.client, self.concentrator),
            Side::Concentrator => (self.concentrator, self.client),
        };
        let tags = self.vlans.iter().flat_map(|id| [[0x81, 0], id.to_be_bytes()].concat());
        let mut frame: Vec<u8> = dst.into_iter().chain(src).chain(tags).collect();
        frame.extend(kind.to_be_bytes());
        frame.extend([0x11, code]);
        frame.extend(session.to_be_bytes());
        frame.extend((payload.len() as u16).to_be_bytes());
        frame.extend(payload);
        frame
    }
}

/// A tag of discovery.
pub fn tag(kind: u16, value: &[u8]) -> Vec<u8> {
    [&kind.to_be_bytes()[..], &(value.len() as u16).to_be_bytes(), value].concat()
}

/// The tag that an access node adds: circuit and remote id (TR-101 section 3.9.2).
pub fn line(circuit: &str, remote: &str) -> Vec<u8> {
    let option = |kind: u8, id: &str| [&[kind, id.len() as u8][..], id.as_bytes()].concat();
    tag(0x0105, &[&[0, 0, 0x0d, 0xe9][..], &option(1, circuit), &option(2, remote)].concat())
}

/// PADI.
pub const PADI: u8 = 9;
/// PADT.
pub const PADT: u8 = 0xa7;
/// Protocols of PPP.
pub const LCP: u16 = 0xc021;
/// Of authentication by name and password.
pub const PAP: u16 = 0xc023;
/// Of authentication by challenge and response.
pub const CHAP: u16 = 0xc223;
/// Of IPv4.
pub const IPCP: u16 = 0x8021;
/// Of IPv6.
pub const IPV6CP: u16 = 0x8057;
