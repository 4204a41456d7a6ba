//! Fills a directory with generated sessions of subscribers, and looks up who had an address.
//!
//! ```text
//! cargo run --release -p ringtap-store --example sessions -- DIR [SESSIONS] [DAYS]
//! ```
//!
//! Where the directory has sessions, they must be those of an earlier run with the same numbers, and are only
//! asked. Half of the sessions have an address and a delegated prefix of their own, half a block of 1,000
//! ports of a shared address. Prints one JSON object.
#![expect(clippy::print_stdout, reason = "the result")]

use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ringtap_model::{HeldAddress, Id, Identity, Nanos, SessionBegin, SessionEnd, SessionSource};
use ringtap_store::{Error, IdentityReader, ImportWriter};

fn main() -> Result<(), Error> {
    let mut arguments = std::env::args().skip(1);
    let dir: PathBuf = arguments.next().unwrap_or_else(|| ".".to_owned()).into();
    let mut number = |default| arguments.next().and_then(|text| text.parse().ok()).unwrap_or(default);
    let (sessions, days) = (number(1_000_000), number(5));
    let spacing = days * DAY / sessions.max(1);
    let written = match dir.join("identity").exists() {
        true => None,
        false => Some(write(&dir, sessions, spacing)?),
    };
    let bytes: u64 = std::fs::read_dir(dir.join("identity"))
        .into_iter()
        .flatten()
        .flatten()
        .fold(0, |sum, file| sum + file.metadata().map_or(0, |file| file.len()));
    println!(
        "{}",
        serde_json::json!({
            "sessions": sessions,
            "days": days,
            "sessions_per_s": written.map(|took| sessions as f64 / took.as_secs_f64()),
            "bytes_per_session": bytes as f64 / sessions as f64,
            "address_ms": times(&dir, sessions, spacing, |reader, session, at| {
                let held = &session.addresses[0];
                let address: IpAddr = held.network.parse().unwrap_or(Ipv4Addr::UNSPECIFIED.into());
                reader.with_address(address, held.first_port, Some(at))
            })?,
            "user_ms": times(&dir, sessions, spacing, |reader, session, _| {
                reader.named(&session.names[0], None)
            })?,
        })
    );
    Ok(())
}

/// How long it takes to write these sessions.
fn write(dir: &Path, sessions: u64, spacing: u64) -> Result<Duration, Error> {
    let began = Instant::now();
    let mut writer = ImportWriter::open(dir)?;
    for number in 0..sessions {
        writer.identity(&session(number, spacing))?;
    }
    writer.close()?;
    Ok(began.elapsed())
}

/// Median and slowest time in milliseconds of 100 questions, each with a reader of its own, as a command has.
fn times(
    dir: &Path,
    sessions: u64,
    spacing: u64,
    ask: impl Fn(&IdentityReader, &Identity, Nanos) -> Result<Vec<Identity>, Error>,
) -> Result<[f64; 2], Error> {
    let mut times = Vec::new();
    for number in 0..100 {
        let asked = session(number * 7_919_993 % sessions, spacing);
        let began = Instant::now();
        let found = ask(&IdentityReader::open(dir)?, &asked, asked.start + Nanos::from_secs(1))?;
        times.push(began.elapsed().as_secs_f64() * 1e3);
        assert!(found.iter().any(|session| session.id == asked.id), "session {number} is not found");
    }
    times.sort_by(f64::total_cmp);
    Ok([times[times.len() / 2], times[times.len() - 1]])
}

/// Sessions last for six hours; one in ten has not ended.
fn session(number: u64, spacing: u64) -> Identity {
    let mut id = [0; 16];
    id[..8].copy_from_slice(&number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes());
    id[8..].copy_from_slice(&number.to_le_bytes());
    let start = Nanos(START + number * spacing);
    let end = (!number.is_multiple_of(10)).then_some(start + Nanos::from_secs(6 * 3_600));
    let (user, station) = (format!("user{:07}@example.net", number % 300_000), mac(number % 300_000));
    let is_shared = number % 2 == 1;
    let addresses = match is_shared {
        true => {
            let block = 1_024 + 1_000 * (number / 2 % 64) as u16;
            let address = Ipv4Addr::from_bits(0x6440_0000 + (number / 128 % 2_000) as u32);
            vec![held(address.to_string(), Some(block), start, end)]
        }
        false => {
            let address = Ipv4Addr::from_bits(0x0a00_0000 + (number / 2 % 150_000) as u32);
            let prefix = format!("2001:db8:{:x}:{:x}00::/56", number / 2 % 150_000 / 256, number / 2 % 256);
            vec![held(address.to_string(), None, start, end), held(prefix, None, start, end)]
        }
    };
    let networks = |is_ipv4| {
        let of_family = addresses.iter().filter(|held| held.network.contains('.') == is_ipv4);
        of_family.map(|held| held.network.clone()).collect()
    };
    Identity {
        id: Id(id),
        nas: format!("192.0.2.{}", number % 40),
        session: Some(format!("{number:016x}")),
        ipv4: networks(true),
        ipv6_prefixes: networks(false),
        start,
        end,
        end_cause: end.map(|_| SessionEnd::Stopped),
        octets_in: Some(number * 977 % 10_000_000_000),
        octets_out: Some(number * 9_779 % 100_000_000_000),
        begun_by: SessionBegin::Started,
        first: start,
        last: end.unwrap_or(start),
        interim_s: None,
        terminate_cause: end.map(|_| 1),
        nas_start: Some(start),
        names: vec![user.clone(), station.clone()],
        user: Some(user),
        station: Some(station),
        called_station: Some("ap-17:internet".into()),
        nas_identifier: Some(format!("bras-{}", number % 40)),
        nas_port: Some((number % 65_536) as u32),
        nas_port_id: Some(format!("ge-0/0/{}.{}", number % 8, number % 4_000)),
        circuit: None,
        remote: None,
        imsi: None,
        imeisv: None,
        multi_session: None,
        class: Some(format!("{:032x}", number % 300_000)),
        addresses,
        packets: 6,
        retransmissions: 0,
        changes: 0,
        source: Some(SessionSource::Radius),
        client_id: None,
        subscriber: None,
        hostname: None,
        expires: None,
    }
}

fn held(network: String, block: Option<u16>, from: Nanos, until: Option<Nanos>) -> HeldAddress {
    HeldAddress {
        network,
        first_port: block,
        last_port: block.map(|first| first + 999),
        attribute: if block.is_some() { "port block" } else { "Framed-IP-Address" }.into(),
        interface_id: None,
        from,
        from_frame: 12,
        until,
        until_frame: until.map(|_| 99),
        end_cause: until.map(|_| SessionEnd::Stopped),
    }
}

fn mac(number: u64) -> String {
    let bytes = (0x0200_5e00_0000 + number).to_be_bytes();
    bytes[2..].iter().map(|byte| format!("{byte:02X}")).collect::<Vec<_>>().join("-")
}

/// 2026-11-16 00:00:00 UTC, in nanoseconds.
const START: u64 = 1_794_787_200_000_000_000;
const DAY: u64 = 86_400_000_000_000;
