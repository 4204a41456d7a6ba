//! Messages and media packets into a pcap file.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail};
use ringtap_capture::Writer;
use ringtap_live::calls::{CapturedFrame, DialogEntry, MediaFrame, SipMessage};
use ringtap_model::{Frame, LinkType};
use ringtap_report::file::Target;
use ringtap_report::text::counted;
use ringtap_wire::frame::udp_datagram;

/// LINKTYPE_RAW: an IP packet, its version in its first bits.
const RAW: LinkType = LinkType(101);
/// Number of what is no frame of the capture.
const REBUILT: u64 = u64::MAX;

/// Writes every message kept of `entries` and these media packets in order of time; says what was written.
pub(crate) fn write(
    entries: &[Arc<DialogEntry>],
    media: &[Arc<MediaFrame>],
    path: &Path,
) -> anyhow::Result<String> {
    if path.as_os_str().is_empty() {
        bail!("name a file");
    }
    if path.exists() {
        bail!("`{}` is there already: choose another name", path.display());
    }
    if entries.iter().all(|entry| entry.messages.is_empty()) {
        bail!("there is no message to save");
    }
    let mut kept: Vec<CapturedFrame> = Vec::new();
    let mut rebuilt = 0;
    for entry in entries {
        // With a hole in its connection, what comes after the hole could not be read: then all of it stands
        // by itself.
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
    kept.extend(media.iter().map(|media| media.frame.clone()));
    kept.sort_by_key(|frame| (frame.time, frame.number));
    // Several messages can be in one segment.
    kept.dedup_by(|a, b| a.number == b.number && a.number != REBUILT);
    let links: Vec<LinkType> = kept.iter().map(|frame| frame.link).collect();
    let named = || format!("cannot write {}", path.display());
    let mut writer = Writer::new(Target::create(path)?, &links).with_context(named)?;
    for CapturedFrame { time, number, link, wire_len, data } in &kept {
        let frame = Frame { time: *time, number: *number, link: *link, wire_len: *wire_len, data };
        writer.write(&frame).with_context(named)?;
    }
    writer.finish().with_context(named)?.keep()?;
    let packets = match media.len() {
        0 => counted(kept.len() as u64, "packet"),
        media => format!("{}, {media} of them media,", counted(kept.len() as u64, "packet")),
    };
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
fn datagram(message: &SipMessage) -> Option<CapturedFrame> {
    let (src, dst) = (message.src, message.dst);
    let data = udp_datagram((src.ip, src.port), (dst.ip, dst.port), message.text())?;
    let wire_len = u32::try_from(data.len()).ok()?;
    Some(CapturedFrame { time: message.time, number: REBUILT, link: RAW, wire_len, data: data.into() })
}
