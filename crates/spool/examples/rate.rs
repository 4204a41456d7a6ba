//! How fast packets are kept: `rate DIR STREAMS SECONDS-OF-SOUND [seal] [sign] [zstd]`, noise as G.711 in
//! packets of 214 bytes.
use std::sync::Arc;
use std::time::Instant;

use ringtap_model::{Frame, LinkType, Nanos};
use ringtap_spool::{Category, MasterKey, Reader, Signer, SpoolWriter, WriterSettings};

#[expect(clippy::print_stdout, reason = "this is what it is for")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let dir = std::path::PathBuf::from(arguments.next().ok_or("DIR")?);
    let streams: usize = arguments.next().ok_or("STREAMS")?.parse()?;
    let seconds: u64 = arguments.next().ok_or("SECONDS")?.parse()?;
    let mut settings = WriterSettings { memory: 512 << 20, wait: true, ..WriterSettings::new(dir.clone()) };
    for word in arguments {
        match word.as_str() {
            "seal" => settings.seal = Some(MasterKey::of([1; 32])),
            "sign" => settings.sign = Some(Arc::new(Signer::of(&[2; 32]))),
            "zstd" => settings.compress = Some(1),
            _ => return Err(format!("`{word}` is not seal, sign or zstd").into()),
        }
    }
    let mut writer = SpoolWriter::open(settings)?;
    let owners: Vec<_> =
        (0..streams).filter_map(|stream| writer.begin(Category::Media, stream as u64)).collect();
    let mut seed = 1u32;
    let mut noise = || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 24) as u8
    };
    // As many different packets as no chunk has; addresses and ports are the same.
    let packets: Vec<[u8; 214]> =
        (0..1_009).map(|_| std::array::from_fn(|at| if at < 42 { at as u8 } else { noise() })).collect();
    let mut turn = packets.iter().cycle();
    let start = Nanos::from_secs(1_795_219_200);
    let begun = Instant::now();
    let mut now = start;
    for _ in 0..seconds * 50 {
        for owner in &owners {
            now += Nanos(20_000_000 / streams as u64);
            let data = turn.next().map_or(&[][..], |packet| packet);
            writer.put(*owner, &Frame { time: now, number: 1, link: LinkType(1), wire_len: 214, data });
        }
        writer.tick(now);
    }
    let put = begun.elapsed();
    let one = writer.finish(owners[streams / 2], now).ok_or("no owner")?;
    let written = writer.written();
    let counts = writer.close(now);
    let all = begun.elapsed();
    println!(
        "{} packets in {put:.2?} ({:.2} M/s), on disk after {all:.2?}: {:.0} MB/s, {} writes, {} chunks, \
         lost {} + {}",
        counts.packets,
        counts.packets as f64 / put.as_secs_f64() / 1e6,
        written.bytes() as f64 / all.as_secs_f64() / 1e6,
        written.writes(),
        written.chunks(),
        counts.lost_oversized,
        counts.lost_disk,
    );
    std::fs::write("/proc/sys/vm/drop_caches", "1").ok();
    let begun = Instant::now();
    let mut reader = Reader::open(&dir)?;
    reader.add_key(MasterKey::of([1; 32]));
    let segments = reader.between(start, now)?;
    let found = reader.read(&[one.owner], &segments)?;
    println!(
        "one stream read back: {} packets in {:.1?}, {} reads",
        found.len(),
        begun.elapsed(),
        reader.reads()
    );
    Ok(())
}
