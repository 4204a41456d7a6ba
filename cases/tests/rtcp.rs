//! RTCP figures of the shared captures against tshark's reading of the same packets.
//!
//! tshark decodes each report block and sender report; this test adds them up per stream by itself and
//! compares the sums with our records. A stream that had several records, or reports before its first packet,
//! has no sum to compare with.
#![expect(clippy::expect_used, reason = "what cannot be read fails the test")]

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::Path;
use std::process::Command;

use ringtap_cases::{run, shared};
use ringtap_engine::Config;
use ringtap_model::{RttSource, Stream};

/// What tshark prints per frame. Those of a report block have a value per block.
const FIELDS: [&str; 17] = [
    "frame.time_epoch",
    "ip.src",
    "ip.dst",
    "ipv6.src",
    "ipv6.dst",
    "rtcp.pt",
    "rtcp.ssrc.identifier",
    "rtcp.ssrc.fraction",
    "rtcp.ssrc.cum_nr",
    "rtcp.ssrc.jitter",
    "rtcp.senderssrc",
    "rtcp.sender.packetcount",
    "rtcp.sender.octetcount",
    "rtcp.ssrc.lsr",
    "rtcp.ssrc.dlsr",
    "rtcp.timestamp.ntp.msw",
    "rtcp.timestamp.ntp.lsw",
];

/// Sender, receiver, SSRC.
type StreamKey = (IpAddr, IpAddr, u32);

/// Report blocks about a stream, by tshark.
#[derive(Default)]
struct Reported {
    times: Vec<f64>,
    lost: i64,
    fraction_max: u64,
    jitter_sum: u64,
    jitter_max: u64,
    /// In milliseconds: from the sender report that LSR names to the block, less DLSR.
    round_trips: Vec<f64>,
}

/// Sender reports of a stream, by tshark.
#[derive(Default)]
struct Sent {
    times: Vec<f64>,
    packets: u64,
    octets: u64,
}

#[derive(Default)]
struct Oracle {
    reported: BTreeMap<StreamKey, Reported>,
    sent: BTreeMap<StreamKey, Sent>,
    /// Time of each sender report by sender, SSRC and the middle 32 bits of its NTP time.
    sender_reports: BTreeMap<(IpAddr, u32, i64), f64>,
}

#[test]
fn report_blocks_and_sender_reports_add_up_as_tshark_reads_them() {
    if !ringtap_testing::program("tshark") {
        return;
    }
    let Some(folder) = ringtap_testing::shared() else { return };
    let (mut captures, mut reported, mut sent, mut round_trips) = (0, 0, 0, 0);
    for path in shared::captures(&folder.join("captures")) {
        let Ok(records) = run::file(&path, Config::default(), 512) else { continue };
        let streams: Vec<&Stream> = records.streams.iter().filter(|stream| has_rtcp(stream)).collect();
        if streams.is_empty() {
            continue;
        }
        captures += 1;
        let oracle = Oracle::read(&path, &streams);
        for stream in streams {
            let name = format!("{} ssrc {:#x} from {}", path.display(), stream.ssrc, stream.src);
            let key = (stream.src.ip, stream.dst.ip, stream.ssrc);
            let siblings =
                records.streams.iter().filter(|other| (other.src.ip, other.dst.ip, other.ssrc) == key);
            if siblings.count() > 1 {
                continue;
            }
            reported += usize::from(compare_reported(stream, oracle.reported.get(&key), &name));
            round_trips += usize::from(stream.rtcp_rtt_ms_max.is_some());
            sent += usize::from(compare_sent(stream, oracle.sent.get(&key), &name));
        }
    }
    println!(
        "rtcp: {captures} captures; {reported} streams with report blocks ({round_trips} with a round trip) \
         and {sent} with sender reports agree"
    );
    assert!(reported >= 10 && sent >= 10 && round_trips >= 5, "{reported} and {sent} streams were compared");
}

fn has_rtcp(stream: &Stream) -> bool {
    stream.rtcp_reports.is_some() || stream.rtcp_sent_packets.is_some()
}

fn compare_reported(stream: &Stream, oracle: Option<&Reported>, name: &str) -> bool {
    let Some(reports) = stream.rtcp_reports else { return false };
    let oracle = oracle.unwrap_or_else(|| panic!("{name}: tshark sees no report block"));
    if oracle.times.iter().any(|time| *time * 1e6 < stream.first.micros() as f64) {
        return false;
    }
    assert_eq!(reports, oracle.times.len() as u64, "{name}: report blocks");
    assert_eq!(stream.rtcp_lost, Some(oracle.lost.max(0).unsigned_abs()), "{name}: lost");
    near(stream.rtcp_lost_pct_max, oracle.fraction_max as f64 / 2.56, name);
    if let Some(clock) = stream.clock {
        let ms = |ticks: f64| ticks * 1e3 / f64::from(clock.0);
        near(stream.rtcp_jitter_ms_max, ms(oracle.jitter_max as f64), name);
        near(stream.rtcp_jitter_ms_mean, ms(oracle.jitter_sum as f64 / reports as f64), name);
    }
    compare_round_trips(stream, &oracle.round_trips, name);
    true
}

fn compare_round_trips(stream: &Stream, oracle: &[f64], name: &str) {
    let valid: Vec<f64> = oracle.iter().copied().filter(|trip| *trip >= 0.0).collect();
    if valid.is_empty() {
        return assert_eq!(stream.rtcp_rtt_ms_max, None, "{name}: round trip");
    }
    assert_eq!(stream.rtt_source, Some(RttSource::Rtcp), "{name}");
    near(stream.rtcp_rtt_ms_max, valid.iter().copied().fold(0.0, f64::max), name);
    near(stream.rtt_ms, valid.iter().sum::<f64>() / valid.len() as f64, name);
}

fn compare_sent(stream: &Stream, oracle: Option<&Sent>, name: &str) -> bool {
    let Some(packets) = stream.rtcp_sent_packets else { return false };
    let oracle = oracle.unwrap_or_else(|| panic!("{name}: tshark sees no sender report"));
    assert_eq!(packets, oracle.packets, "{name}: packets sent");
    assert_eq!(stream.rtcp_sent_bytes, Some(oracle.octets), "{name}: octets sent");
    true
}

fn near(ours: Option<f64>, reference: f64, name: &str) {
    let ours = ours.unwrap_or_else(|| panic!("{name}: no figure where tshark has {reference}"));
    assert!((ours - reference).abs() < 0.002, "{name}: {ours}, by tshark {reference}");
}

impl Oracle {
    fn read(path: &Path, streams: &[&Stream]) -> Self {
        let mut command = Command::new("tshark");
        command.arg("-r").arg(path).args(["-Y", "rtcp.pt == 200 || rtcp.pt == 201"]);
        // tshark does not recognise all RTCP by itself; it is told the ports, and reads the bytes.
        for stream in streams.iter().filter(|stream| stream.dst.port % 2 == 0) {
            command.args(["-d", &format!("udp.port=={},rtcp", stream.dst.port + 1)]);
        }
        command.args(["-T", "fields", "-E", "occurrence=a", "-E", "aggregator=,"]);
        FIELDS.iter().for_each(|field| _ = command.args(["-e", field]));
        let output = command.output().expect("tshark runs: `make test` installs it");
        let text = String::from_utf8(output.stdout).expect("tshark prints UTF-8");
        let mut oracle = Self::default();
        let mut copies: BTreeMap<String, f64> = BTreeMap::new();
        for line in text.lines() {
            let (time, packet) = line.split_once('\t').expect("several columns");
            let time: f64 = time.parse().expect("a time");
            // A mirror port gives each packet twice, a tap on two interfaces of a host too.
            let inner = packet.split('\t').map(|column| column.rsplit(',').next().unwrap_or_default());
            let name = [inner.take(4).collect::<Vec<_>>().join(" "), rtcp_columns(packet)].concat();
            if copies.get(&name).is_none_or(|seen| time - seen >= 0.01) {
                copies.insert(name, time);
                oracle.frame(line);
            }
        }
        oracle
    }

    fn frame(&mut self, line: &str) {
        let columns: Vec<&str> = line.split('\t').collect();
        let at = |field: &str| FIELDS.iter().position(|name| *name == field).map_or("", |at| columns[at]);
        let address = |v4: &str, v6: &str| {
            // Of a tunnel the inner address counts: the last, and here the IPv6 one.
            let text = if at(v6).is_empty() { at(v4) } else { at(v6) };
            text.split(',').next_back().and_then(|text| text.parse::<IpAddr>().ok())
        };
        let (Some(src), Some(dst)) = (address("ip.src", "ipv6.src"), address("ip.dst", "ipv6.dst")) else {
            return;
        };
        let time: f64 = at("frame.time_epoch").parse().unwrap_or_default();
        let list = |field: &str| at(field).split(',').filter_map(number).collect::<Vec<i64>>();
        let (fractions, lost, jitter) =
            (list("rtcp.ssrc.fraction"), list("rtcp.ssrc.cum_nr"), list("rtcp.ssrc.jitter"));
        // The blocks come first among these; a source description may repeat the field.
        for (index, ssrc) in list("rtcp.ssrc.identifier").into_iter().take(fractions.len()).enumerate() {
            let entry = self.reported.entry((dst, src, ssrc as u32)).or_default();
            entry.times.push(time);
            // 24 bits with a sign.
            entry.lost = (lost[index] << 40) >> 40;
            entry.fraction_max = entry.fraction_max.max(fractions[index] as u64);
            entry.jitter_sum += jitter[index] as u64;
            entry.jitter_max = entry.jitter_max.max(jitter[index] as u64);
            let report = self.sender_reports.get(&(dst, ssrc as u32, list("rtcp.ssrc.lsr")[index]));
            entry.round_trips.extend(
                report.map(|sent| (time - sent) * 1e3 - list("rtcp.ssrc.dlsr")[index] as f64 / 65.536),
            );
        }
        let (senders, packets) = (list("rtcp.senderssrc"), list("rtcp.sender.packetcount"));
        if let ([sender, ..], [packets], [octets]) =
            (&senders[..], &packets[..], &list("rtcp.sender.octetcount")[..])
        {
            let entry = self.sent.entry((src, dst, *sender as u32)).or_default();
            let middle =
                (list("rtcp.timestamp.ntp.msw")[0] & 0xffff) << 16 | list("rtcp.timestamp.ntp.lsw")[0] >> 16;
            self.sender_reports.insert((src, *sender as u32, middle), time);
            entry.times.push(time);
            (entry.packets, entry.octets) = (*packets as u64, *octets as u64);
        }
    }
}

/// What a frame's RTCP says, without its addresses.
fn rtcp_columns(packet: &str) -> String {
    packet.split('\t').skip(4).collect::<Vec<_>>().join(" ")
}

/// Decimal, or hexadecimal with 0x.
fn number(text: &str) -> Option<i64> {
    match text.strip_prefix("0x") {
        Some(hex) => i64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}
