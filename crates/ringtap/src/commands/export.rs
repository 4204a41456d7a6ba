//! `ringtap export`: a call out of the spool.

use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Args;
use ringtap_capture::Writer;
use ringtap_model::{Endpoint, Frame, Nanos};
use ringtap_spool::{Found, Reader, of_call, of_stream};
use ringtap_store::{Query, Row};
use serde_json::Value;

use crate::exit::Exit;
use crate::screen::Screen;
use crate::show::summary::grouped;
use crate::target::Target;
use crate::text::counted;

/// Take a call of the past out of the spool: its packets as a capture
///
/// For calls that `ringtap run` kept packets of ([spool] in its configuration). The record in the database tells which
/// packets there were; what is missing of them is said, and the exit status is 3. The capture is for Wireshark, and for
/// `ringtap call` and `ringtap extract --wav`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Export {
    /// Its Call-ID, the beginning of it with a `*`, or the id of its record
    #[arg(value_name = "CALL")]
    call: String,
    /// Directory of the database
    #[arg(long, value_name = "DIR")]
    store: PathBuf,
    /// Directory of the spool
    #[arg(long, value_name = "DIR")]
    spool: PathBuf,
    /// Write its packets here, as pcap
    #[arg(long, value_name = "OUT")]
    pcap: PathBuf,
}

const EXAMPLES: &str = "\
Examples:
  ringtap calls --store /var/lib/ringtap/records --number '+4202*'
  ringtap export 4f2a19@192.0.2.1 --store /var/lib/ringtap/records --spool /var/lib/ringtap/spool --pcap call.pcap
  ringtap extract call.pcap --call 4f2a19 --wav call.wav";

/// Packets of one owner that were looked for.
struct Part {
    /// For people.
    name: String,
    key: u64,
    from: Nanos,
    to: Nanos,
    /// Packets that the record counts; None where it counts none.
    counted: Option<u64>,
}

impl Export {
    /// Runs it.
    pub(crate) fn run(self, screen: &mut Screen) -> anyhow::Result<Exit> {
        let store = ringtap_store::Reader::open(&self.store)?;
        let row = self.row(&store)?;
        let parts = parts(&row, &store.streams_of(&row.id)?);
        let mut spool = Reader::open(&self.spool)?;
        let mut damaged = false;
        let mut found = Vec::with_capacity(parts.len());
        for part in &parts {
            let segments = spool.between(part.from, part.to)?;
            let kept = spool.read(&[part.key], &segments)?;
            let count = within(&kept, part).count() as u64;
            damaged |= kept.damaged > 0 || part.counted.is_some_and(|counted| counted > count);
            screen.remark(told(part, count, kept.damaged));
            found.push(kept);
        }
        let mut packets: Vec<_> =
            found.iter().zip(&parts).flat_map(|(kept, part)| within(kept, part)).collect();
        packets.sort_by_key(|packet| packet.time);
        let Some(link) = found.iter().find_map(Found::link).filter(|_| !packets.is_empty()) else {
            bail!(
                "no packet of the call is in `{}`: it was not kept, or is no longer; look at [spool] of the configuration",
                self.spool.display()
            );
        };
        let writing = || format!("cannot write {}", self.pcap.display());
        let mut writer = Writer::new(Target::create(&self.pcap)?, &[link]).with_context(writing)?;
        for (number, packet) in (1..).zip(&packets) {
            let frame =
                Frame { time: packet.time, number, link, wire_len: packet.wire_len, data: packet.data };
            writer.write(&frame).with_context(writing)?;
        }
        writer.finish().with_context(writing)?.keep()?;
        let count = packets.len() as u64;
        screen.remark(format!("{}: {} packets", self.pcap.display(), grouped(count)));
        Ok(if damaged { Exit::Damaged } else { Exit::Done })
    }

    /// The one call that is meant.
    fn row(&self, store: &ringtap_store::Reader) -> anyhow::Result<Row> {
        if let Ok(id) = self.call.parse()
            && let Some(row) = store.call(&id)?
        {
            return Ok(row);
        }
        let query = Query { call_id: Some(self.call.clone()), limit: 2, ..Query::default() };
        let mut rows = store.calls(&query)?.rows;
        match (rows.pop(), rows.len()) {
            (Some(row), 0) => Ok(row),
            (None, _) => {
                let store = self.store.display();
                bail!(
                    "no call in `{store}` has the Call-ID or id `{}`: `ringtap calls --store {store}` lists them",
                    self.call
                )
            }
            _ => bail!("several calls have a Call-ID like `{}`: name one by the id of its record", self.call),
        }
    }
}

/// What the record says there was.
fn parts(row: &Row, streams: &[Value]) -> Vec<Part> {
    let time = |value: &Value, name: &str| value[name].as_u64().map(Nanos::from_micros);
    let end = time(&row.value, "end_us").unwrap_or(row.start);
    let call_id = row.value["call_id"].as_str().unwrap_or_default();
    let last = streams.iter().filter_map(|stream| time(stream, "last_us")).max().unwrap_or(end);
    let signalling = Part {
        name: "signalling".to_owned(),
        key: of_call(call_id.as_bytes()),
        from: Nanos(row.start.0.saturating_sub(BEFORE.0)),
        to: end.max(last) + AFTER,
        counted: row.value["messages"].as_u64(),
    };
    let media = streams.iter().filter_map(|stream| {
        let end = |name: &str| stream[name].as_str()?.parse::<Endpoint>().ok();
        let (src, dst) = (end("src")?, end("dst")?);
        let ssrc = u32::try_from(stream["ssrc"].as_u64()?).ok()?;
        Some(Part {
            name: format!("{src} to {dst}"),
            key: of_stream(src, dst, ssrc),
            from: time(stream, "first_us")?,
            // Records have microseconds, packets nanoseconds.
            to: time(stream, "last_us")? + Nanos(999),
            counted: stream["packets"].as_u64(),
        })
    });
    std::iter::once(signalling).chain(media).collect()
}

/// Packets of the time that the part is of.
fn within<'a>(kept: &'a Found, part: &'a Part) -> impl Iterator<Item = ringtap_spool::Packet<'a>> {
    kept.packets().filter(|packet| (part.from..=part.to).contains(&packet.time))
}

fn told(part: &Part, count: u64, damaged: u64) -> String {
    let of = match part.counted {
        Some(counted) if counted != count => format!(" of {}", grouped(counted)),
        _ => String::new(),
    };
    let damage = match damaged {
        0 => String::new(),
        _ => format!("; {} damaged or missing", counted(damaged, "chunk")),
    };
    format!("{}: {}{of} packets{damage}", part.name, grouped(count))
}

/// Challenges and retransmissions may come before the record's time and after it.
const BEFORE: Nanos = Nanos::from_secs(1);
const AFTER: Nanos = Nanos::from_secs(64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_those_of_the_record() {
        let value = serde_json::json!({ "call_id": "a@b", "end_us": 9_000_000, "messages": 7 });
        let row =
            Row { id: ringtap_model::Id([0; 16]), start: Nanos::from_secs(3), text: String::new(), value };
        let stream = serde_json::json!({
            "src": "192.0.2.1:4000", "dst": "[2001:db8::1]:4002", "ssrc": 4_294_967_295u32, "first_us": 4_000_000,
            "last_us": 8_500_000, "packets": 200
        });
        let parts = parts(&row, &[stream, serde_json::json!({ "src": "x" })]);
        assert_eq!(parts.len(), 2);
        assert_eq!((parts[0].key, parts[0].counted), (of_call(b"a@b"), Some(7)));
        assert_eq!((parts[0].from, parts[0].to), (Nanos::from_secs(2), Nanos::from_secs(73)));
        let ends: [Endpoint; 2] = ["192.0.2.1:4000".parse().unwrap(), "[2001:db8::1]:4002".parse().unwrap()];
        assert_eq!(parts[1].key, of_stream(ends[0], ends[1], u32::MAX));
        assert_eq!(
            told(&parts[1], 199, 1),
            "192.0.2.1:4000 to [2001:db8::1]:4002: 199 of 200 packets; 1 chunk damaged or missing"
        );
    }
}
