//! The XDP features of each interface's driver, from the kernel's `netdev` family of generic netlink (since
//! Linux 6.3).
//!
//! Formats: `include/uapi/linux/netlink.h`, `genetlink.h`, `netdev.h`.

use std::io;

use super::sys::Netlink;

/// The XDP features of a driver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct XdpFeatures {
    /// The driver runs XDP programs itself, before the kernel allocates a packet (`NETDEV_XDP_ACT_BASIC`).
    pub native: bool,
    /// It can redirect packets, which AF_XDP needs (`NETDEV_XDP_ACT_REDIRECT`).
    pub redirect: bool,
    /// It supports AF_XDP with zero copy (`NETDEV_XDP_ACT_XSK_ZEROCOPY`).
    pub zero_copy: bool,
}

impl XdpFeatures {
    fn of(bits: u64) -> Self {
        Self { native: bits & 1 != 0, redirect: bits & 2 != 0, zero_copy: bits & 8 != 0 }
    }
}

/// The features of each interface of this network namespace, by index. Fails if the kernel does not know the
/// family.
pub(crate) fn features() -> io::Result<Vec<(u32, XdpFeatures)>> {
    let netlink = Netlink::open()?;
    let mut buffer = vec![0; 64 << 10];
    // CTRL_CMD_GETFAMILY of "netdev". Only the controller family has a fixed number, 0x10.
    let name = attribute(ATTR_FAMILY_NAME, b"netdev\0");
    netlink.send(&request(GENL_CONTROL, NLM_F_REQUEST, CTRL_CMD_GETFAMILY, &name))?;
    let family = family(netlink.receive(&mut buffer)?).ok_or(io::ErrorKind::Unsupported)?;
    netlink.send(&request(family, NLM_F_REQUEST | NLM_F_DUMP, NETDEV_CMD_DEV_GET, &[]))?;
    let mut found = Vec::new();
    // A dump of all possible interfaces takes fewer datagrams. The limit ends a dump that never ends.
    for _ in 0..MAX_DATAGRAMS {
        if !read_devices(netlink.receive(&mut buffer)?, &mut found) {
            break;
        }
    }
    Ok(found)
}

fn request(kind: u16, flags: u16, command: u8, attributes: &[u8]) -> Vec<u8> {
    let mut message = Vec::with_capacity(HEADER + GENERIC + attributes.len());
    message.extend_from_slice(&((HEADER + GENERIC + attributes.len()) as u32).to_ne_bytes());
    message.extend_from_slice(&kind.to_ne_bytes());
    message.extend_from_slice(&flags.to_ne_bytes());
    // Sequence number and port are zero: this socket has one request at a time.
    message.extend_from_slice(&[0; 8]);
    message.extend_from_slice(&[command, 1, 0, 0]);
    message.extend_from_slice(attributes);
    message
}

fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(4 + value.len().next_multiple_of(4));
    bytes.extend_from_slice(&((4 + value.len()) as u16).to_ne_bytes());
    bytes.extend_from_slice(&kind.to_ne_bytes());
    bytes.extend_from_slice(value);
    bytes.resize(4 + value.len().next_multiple_of(4), 0);
    bytes
}

/// The messages of a datagram: the type, and the bytes after the header.
fn messages(mut datagram: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = u32::from_ne_bytes(*datagram.first_chunk()?) as usize;
        let message = datagram.get(..length.max(HEADER))?;
        datagram = datagram.get(length.max(HEADER).next_multiple_of(4)..).unwrap_or_default();
        Some((u16::from_ne_bytes([message[4], message[5]]), &message[HEADER..]))
    })
}

fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let [a, b, c, d] = *bytes.first_chunk()?;
        let length = usize::from(u16::from_ne_bytes([a, b])).max(4);
        let value = bytes.get(4..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        // The two highest bits are flags (NLA_F_NESTED, NLA_F_NET_BYTEORDER).
        Some((u16::from_ne_bytes([c, d]) & 0x3fff, value))
    })
}

fn family(datagram: &[u8]) -> Option<u16> {
    let (_, body) = messages(datagram).find(|(kind, _)| *kind == GENL_CONTROL)?;
    let (_, id) = attributes(body.get(GENERIC..)?).find(|(kind, _)| *kind == ATTR_FAMILY_ID)?;
    Some(u16::from_ne_bytes(*id.first_chunk()?))
}

/// Appends the interfaces of a datagram to `found`. Returns whether more datagrams follow.
fn read_devices(datagram: &[u8], found: &mut Vec<(u32, XdpFeatures)>) -> bool {
    for (kind, body) in messages(datagram) {
        if kind == NLMSG_DONE || kind == NLMSG_ERROR {
            return false;
        }
        let (mut index, mut bits) = (None, None);
        for (kind, value) in attributes(body.get(GENERIC..).unwrap_or_default()) {
            match kind {
                DEV_IFINDEX => index = value.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes)),
                DEV_XDP_FEATURES => bits = value.first_chunk().map(|bytes| u64::from_ne_bytes(*bytes)),
                _ => {}
            }
        }
        found.extend(index.zip(bits.map(XdpFeatures::of)));
    }
    !datagram.is_empty()
}

const HEADER: usize = 16;
const GENERIC: usize = 4;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_DUMP: u16 = 0x300;
const GENL_CONTROL: u16 = 0x10;
const CTRL_CMD_GETFAMILY: u8 = 3;
const ATTR_FAMILY_ID: u16 = 1;
const ATTR_FAMILY_NAME: u16 = 2;
const NETDEV_CMD_DEV_GET: u8 = 1;
const DEV_IFINDEX: u16 = 1;
const DEV_XDP_FEATURES: u16 = 3;
const MAX_DATAGRAMS: usize = 4_096;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn device(index: u32, bits: u64) -> Vec<u8> {
        let attributes = [
            attribute(DEV_IFINDEX, &index.to_ne_bytes()),
            attribute(2, &[]),
            attribute(DEV_XDP_FEATURES, &bits.to_ne_bytes()),
        ];
        request(0x1c, 2, NETDEV_CMD_DEV_GET, &attributes.concat())
    }

    #[test]
    fn devices_are_read() {
        let mut found = Vec::new();
        assert!(read_devices(&[device(1, 0), device(2, 0x2b)].concat(), &mut found));
        let able = XdpFeatures { native: true, redirect: true, zero_copy: true };
        assert_eq!(found, [(1, XdpFeatures::default()), (2, able)]);
        let mut end = request(NLMSG_DONE, 2, 0, &[]);
        assert!(!read_devices(&end, &mut found));
        end.truncate(7);
        assert!(read_devices(&end, &mut found), "a truncated message is ignored");
    }

    #[test]
    fn the_family_number_is_read() {
        let answer = request(GENL_CONTROL, 0, 1, &attribute(ATTR_FAMILY_ID, &0x1c_u16.to_ne_bytes()));
        assert_eq!(family(&answer), Some(0x1c));
        assert_eq!(family(&request(NLMSG_ERROR, 0, 0, &[])), None);
    }

    proptest! {
            #[test]
            fn any_bytes_are_read_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
                let mut found = Vec::new();
    read_devices(&bytes, &mut found);
                family(&bytes);
            }
        }
}
