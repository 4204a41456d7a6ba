//! Messages into a pcap file.

use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail};
use ringtap_capture::Writer;
use ringtap_model::{Frame, LinkType};

use super::book::{Entry, Kept, Sip};
use crate::target::Target;
use crate::text::counted;

/// LINKTYPE_RAW: an IP packet, its version in its first bits.
const RAW: LinkType = LinkType(101);
/// Number of what is no frame of the capture.
const REBUILT: u64 = u64::MAX;
/// RFC 768.
const UDP_HEADER: usize = 8;
/// RFC 791, RFC 8200.
const IPV4_HEADER: usize = 20;
const IPV6_HEADER: usize = 40;

/// Writes every message kept of `entries` in order of time; says what was written.
pub(crate) fn write(entries: &[Arc<Entry>], path: &Path) -> anyhow::Result<String> {
    if path.as_os_str().is_empty() {
        bail!("name a file");
    }
    if path.exists() {
        bail!("`{}` is there already: choose another name", path.display());
    }
    if entries.iter().all(|entry| entry.messages.is_empty()) {
        bail!("there is no message to save");
    }
    let mut kept: Vec<Kept> = Vec::new();
    let mut rebuilt = 0;
    for entry in entries {
        // With a hole in its connection, what comes after the hole could not be read: then all of it stands by itself.
        let whole = entry.messages.iter().all(|message| message.whole && !message.frames.is_empty());
        for message in &entry.messages {
            if whole {
                kept.extend(message.frames.iter().cloned());
            } else {
                kept.extend(datagram(message));
                rebuilt += 1;
            }
        }
    }
    kept.sort_by_key(|frame| (frame.time, frame.number));
    // Several messages can be in one segment.
    kept.dedup_by(|a, b| a.number == b.number && a.number != REBUILT);
    let links: Vec<LinkType> = kept.iter().map(|frame| frame.link).collect();
    let named = || format!("cannot write {}", path.display());
    let mut writer = Writer::new(Target::create(path)?, &links).with_context(named)?;
    for Kept { time, number, link, wire_len, data } in &kept {
        let frame = Frame { time: *time, number: *number, link: *link, wire_len: *wire_len, data };
        writer.write(&frame).with_context(named)?;
    }
    writer.finish().with_context(named)?.keep()?;
    let packets = counted(kept.len() as u64, "packet");
    let note = match rebuilt {
        0 => String::new(),
        _ => format!(
            "; {} of calls that came in parts stand as one datagram each",
            counted(rebuilt, "message")
        ),
    };
    Ok(format!("{}: {packets} of {}{note}", path.display(), counted(entries.len() as u64, "call")))
}

/// A message whose segments or fragments are gone, as the datagram that it could have been.
fn datagram(message: &Sip) -> Option<Kept> {
    let text = message.text();
    let length = u16::try_from(UDP_HEADER + text.len()).ok()?;
    let mut data = Vec::with_capacity(IPV6_HEADER + UDP_HEADER + text.len());
    match (message.src.ip, message.dst.ip) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => {
            let total = length.checked_add(IPV4_HEADER as u16)?;
            data.extend([0x45, 0]);
            data.extend(total.to_be_bytes());
            data.extend([0, 0, 0x40, 0, 64, 17, 0, 0]);
            data.extend(src.octets());
            data.extend(dst.octets());
            let sum = checksum(&data);
            data[10..12].copy_from_slice(&sum.to_be_bytes());
        }
        (src, dst) => {
            let wide = |ip| match ip {
                IpAddr::V4(ip) => ip.to_ipv6_mapped(),
                IpAddr::V6(ip) => ip,
            };
            data.extend([0x60, 0, 0, 0]);
            data.extend(length.to_be_bytes());
            data.extend([17, 64]);
            data.extend(wide(src).octets());
            data.extend(wide(dst).octets());
        }
    }
    data.extend(message.src.port.to_be_bytes());
    data.extend(message.dst.port.to_be_bytes());
    data.extend(length.to_be_bytes());
    // RFC 768: zero is no checksum.
    data.extend([0, 0]);
    data.extend(text);
    let wire_len = u32::try_from(data.len()).ok()?;
    Some(Kept { time: message.time, number: REBUILT, link: RAW, wire_len, data: data.into() })
}

/// RFC 1071.
fn checksum(header: &[u8]) -> u16 {
    let sum: u32 = header.chunks_exact(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}
