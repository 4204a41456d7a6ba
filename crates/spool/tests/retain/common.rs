//! A spool with recorded calls, for all tests of this binary.

use std::path::Path;

use ringtap_model::{Frame, LinkType, Nanos};
use ringtap_spool::{Category, DiskSpace, Reader, SpoolWriter, WriterSettings};

pub(crate) const START: Nanos = Nanos::from_secs(1_795_219_200);
pub(crate) const MINUTE: Nanos = Nanos::from_secs(60);
pub(crate) const HOUR: Nanos = Nanos::from_secs(3_600);
pub(crate) const DAY: Nanos = Nanos::from_secs(86_400);

pub(crate) fn settings(dir: &Path) -> WriterSettings {
    WriterSettings {
        memory: 1 << 20,
        owners: 1000,
        blocks: 8,
        wait: true,
        ..WriterSettings::new(dir.to_owned())
    }
}

/// The two owners of a call: signalling and media.
pub(crate) fn owners(call: u64) -> [u64; 2] {
    [1_000 + call, 2_000 + call]
}

/// Writes calls of a minute each, one after another, with signalling and media.
pub(crate) struct Calls {
    pub(crate) writer: SpoolWriter,
    pub(crate) now: Nanos,
    /// Packets written.
    pub(crate) put: u64,
}

impl Calls {
    pub(crate) fn new(settings: WriterSettings) -> Self {
        Self { writer: SpoolWriter::open(settings).expect("a spool"), now: START, put: 0 }
    }

    pub(crate) fn call(&mut self, call: u64, packets: u64) {
        let [signalling, media] = owners(call);
        let signalling = self.writer.begin(Category::Signalling, signalling).expect("an owner");
        let media = self.writer.begin(Category::Media, media).expect("an owner");
        for number in 0..packets {
            let mut data = [call as u8; 1_000];
            data[..8].copy_from_slice(&number.to_be_bytes());
            let owner = if number % 10 == 0 { signalling } else { media };
            let (time, link, wire_len) = (self.now, LinkType(1), data.len() as u32);
            self.writer.put(owner, &Frame { time, number, link, wire_len, data: &data });
            self.put += 1;
            self.now += Nanos(MINUTE.0 / packets);
            self.writer.tick(self.now);
        }
        for owner in [signalling, media] {
            self.writer.finish(owner, self.now).expect("an owner");
        }
    }
}

/// Writes a spool with recorded calls of a minute and 50 packets each.
pub(crate) fn spool(settings: WriterSettings, calls: u64) {
    let mut spool = Calls::new(settings);
    (0..calls).for_each(|call| spool.call(call, 50));
    spool.writer.close(spool.now);
}

/// A disk that is never short of space.
pub(crate) fn roomy(_: &Path) -> std::io::Result<DiskSpace> {
    Ok(DiskSpace { total: 1 << 40, free: 1 << 40 })
}

/// Counts the packets of a call that can be read, and checks their content.
pub(crate) fn readable_packets(reader: &mut Reader, call: u64) -> usize {
    let all = reader.between(Nanos::ZERO, Nanos::MAX).expect("a directory");
    let found = reader.read(&owners(call), &all).expect("readable");
    for packet in found.packets() {
        assert!(packet.data[8..].iter().all(|byte| *byte == call as u8));
    }
    found.len()
}
