//! The data that `ethtool` shows, read with the same requests (`include/uapi/linux/ethtool.h`).

use super::interface::Interface;
use super::settings::{Channels, Coalescing, Driver, Feature, Pause, Rings, Timestamping};
use super::sys::{ANSWER, Control};

/// Fills in the driver's answers; the rest stays unknown.
pub(crate) fn query(control: &Control, interface: &mut Interface) {
    let Ok(mut buffer) = Box::<[u32; ANSWER]>::try_from(vec![0; ANSWER].into_boxed_slice()) else { return };
    let mut ask = |words: &[u32]| {
        buffer.fill(0);
        buffer[..words.len()].copy_from_slice(words);
        control.ethtool(&interface.name, &mut buffer).is_ok().then(|| buffer.to_vec())
    };
    interface.driver = ask(&[GDRVINFO]).map(|words| driver(&bytes(&words)));
    interface.rings = ask(&[GRINGPARAM]).map(|words| rings(&words)).filter(|rings| rings.rx_max > 0);
    interface.coalescing = ask(&[GCOALESCE]).map(|words| coalescing(&words));
    interface.pause = ask(&[GPAUSEPARAM]).map(|words| pause(&words));
    interface.channels =
        ask(&[GCHANNELS]).map(|words| channels(&words)).filter(|channels| channels.rx_max > 0);
    interface.timestamping = ask(&[GET_TS_INFO]).map(|words| timestamping(&words));
    // First query the number of strings: the kernel writes all of them.
    let mut count = |set: u32| {
        let words = ask(&[GSSET_INFO, 0, 1 << set, 0])?;
        // The returned mask has only the bits of existing sets.
        (words[2] & 1 << set != 0).then_some(words[4]).filter(|count| (1..=MAX_STRINGS).contains(count))
    };
    let (features, statistics) = (count(SS_FEATURES), count(SS_STATS));
    if let Some(count) = features {
        let names = ask(&[GSTRINGS, SS_FEATURES, count]).map(|words| strings(&words));
        let blocks = ask(&[GFEATURES, count.div_ceil(32)]);
        interface.features =
            names.zip(blocks).map(|(names, blocks)| self::features(names, &blocks)).unwrap_or_default();
    }
    if let Some(count) = statistics {
        let names = ask(&[GSTRINGS, SS_STATS, count]).map(|words| strings(&words));
        let values = ask(&[GSTATS, count]);
        interface.driver_losses =
            names.zip(values).map(|(names, values)| losses(names, &values)).unwrap_or_default();
    }
}

fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

/// A text that ends with 0 or at the end of its field.
fn text(field: &[u8]) -> String {
    let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
    String::from_utf8_lossy(&field[..end]).trim().to_owned()
}

fn driver(bytes: &[u8]) -> Driver {
    let field = |index: usize| text(&bytes[4 + index * 32..][..32]);
    Driver { name: field(0), version: field(1), firmware: field(2), bus: field(3) }
}

fn rings(words: &[u32]) -> Rings {
    Rings { rx_max: words[1], tx_max: words[4], rx: words[5], tx: words[8] }
}

fn coalescing(words: &[u32]) -> Coalescing {
    Coalescing { rx_usecs: words[1], rx_frames: words[2], adaptive_rx: words[10] != 0 }
}

fn pause(words: &[u32]) -> Pause {
    Pause { negotiated: words[1] != 0, rx: words[2] != 0, tx: words[3] != 0 }
}

fn channels(words: &[u32]) -> Channels {
    let [_, max_rx, _, _, max_combined, rx, _, _, combined] = words[..9] else { return Channels::default() };
    let is_combined = max_combined > 0;
    Channels {
        rx: rx.saturating_add(combined),
        rx_max: if is_combined { max_combined } else { max_rx },
        combined: is_combined,
    }
}

fn timestamping(words: &[u32]) -> Timestamping {
    let modes = words[1];
    Timestamping {
        hardware: modes & RX_HARDWARE != 0 && modes & RAW_HARDWARE != 0,
        every_packet: words[7] & FILTER_ALL != 0,
        clock: i32::try_from(words[2]).ok().map(i32::unsigned_abs),
    }
}

fn strings(words: &[u32]) -> Vec<String> {
    let bytes = bytes(words);
    let count = words[2].min(MAX_STRINGS) as usize;
    bytes[12..].chunks_exact(32).take(count).map(text).collect()
}

/// Blocks of four words: available, requested, active, never changed.
fn features(names: Vec<String>, words: &[u32]) -> Vec<Feature> {
    let bit = |index: usize, word: usize| words[2 + index / 32 * 4 + word] >> (index % 32) & 1 == 1;
    let feature =
        |(index, name)| Feature { name, active: bit(index, 2), changeable: bit(index, 0) && !bit(index, 3) };
    names.into_iter().enumerate().map(feature).filter(|feature| !feature.name.is_empty()).collect()
}

/// The driver's non-zero counters of lost received packets. Every driver has its own names.
fn losses(names: Vec<String>, words: &[u32]) -> Vec<(String, u64)> {
    let value = |index: usize| {
        let [a, b, c, d] = words[2 + index * 2].to_ne_bytes();
        let [e, f, g, h] = words[3 + index * 2].to_ne_bytes();
        u64::from_ne_bytes([a, b, c, d, e, f, g, h])
    };
    let lost = |name: &str| {
        let name = name.to_ascii_lowercase();
        LOSSES.iter().any(|word| name.contains(word)) && !name.contains("tx") && !name.contains("xdp")
    };
    let all = names.into_iter().enumerate().map(|(index, name)| (name, value(index)));
    all.filter(|(name, value)| *value > 0 && lost(name)).collect()
}

/// Substrings in drivers' names for lost packets: `rx_missed_errors`, `rx_no_dma_resources`,
/// `rx_out_of_buffer`, `rx_fifo_errors`, `rx_discards`, `rx_drops`.
const LOSSES: [&str; 7] = ["miss", "no_buf", "no_dma", "out_of_buffer", "fifo", "discard", "drop"];
const GDRVINFO: u32 = 0x03;
const GCOALESCE: u32 = 0x0e;
const GRINGPARAM: u32 = 0x10;
const GPAUSEPARAM: u32 = 0x12;
const GSTRINGS: u32 = 0x1b;
const GSTATS: u32 = 0x1d;
const GSSET_INFO: u32 = 0x37;
const GFEATURES: u32 = 0x3a;
const GCHANNELS: u32 = 0x3c;
const GET_TS_INFO: u32 = 0x41;
const SS_STATS: u32 = 1;
const SS_FEATURES: u32 = 4;
const RX_HARDWARE: u32 = 1 << 2;
const RAW_HARDWARE: u32 = 1 << 6;
const FILTER_ALL: u32 = 1 << 1;
/// Half of the strings for which an answer has room.
const MAX_STRINGS: u32 = 4_096;

#[cfg(test)]
mod tests {
    use super::*;

    fn with_strings(names: &[&str]) -> Vec<u32> {
        let mut bytes = bytes(&[GSTRINGS, SS_STATS, names.len() as u32]);
        for name in names {
            let mut field = name.as_bytes().to_vec();
            field.resize(32, 0);
            bytes.extend(field);
        }
        bytes.chunks_exact(4).map(|word| u32::from_ne_bytes([word[0], word[1], word[2], word[3]])).collect()
    }

    #[test]
    fn structures_are_read_where_their_fields_stand() {
        let words: Vec<u32> = (0..16).collect();
        assert_eq!(rings(&words), Rings { rx_max: 1, tx_max: 4, rx: 5, tx: 8 });
        assert_eq!(coalescing(&words), Coalescing { rx_usecs: 1, rx_frames: 2, adaptive_rx: true });
        assert_eq!(channels(&[0, 0, 0, 1, 8, 0, 0, 1, 4]), Channels { rx: 4, rx_max: 8, combined: true });
        assert_eq!(channels(&[0, 2, 2, 0, 0, 1, 1, 0, 0]), Channels { rx: 1, rx_max: 2, combined: false });
        let stamps = timestamping(&[0, RX_HARDWARE | RAW_HARDWARE, u32::MAX, 0, 0, 0, 0, FILTER_ALL]);
        assert_eq!(stamps, Timestamping { hardware: true, every_packet: true, clock: None });
        assert_eq!(timestamping(&[0, 0, 3, 0, 0, 0, 0, 1]).clock, Some(3));
    }

    #[test]
    fn names_and_bits_go_together() {
        let names = strings(&with_strings(&["rx-gro", "", "rx-lro"]));
        assert_eq!(names, ["rx-gro", "", "rx-lro"]);
        let on = features(names, &[GFEATURES, 1, 0b101, 0, 0b001, 0b100]);
        let feature = |name: &str, active, changeable| Feature { name: name.into(), active, changeable };
        assert_eq!(on, [feature("rx-gro", true, true), feature("rx-lro", false, false)]);
    }

    #[test]
    fn losses_are_found_under_any_name() {
        let names =
            ["rx_packets", "rx_no_dma_resources", "tx_dropped", "rx_missed_errors", "rx_out_of_buffer"];
        let values = [GSTATS, 5, 7, 0, 8, 0, 9, 0, 0, 0, 1, 1];
        let found = losses(names.map(str::to_owned).into(), &values);
        assert_eq!(found, [("rx_no_dma_resources".into(), 8), ("rx_out_of_buffer".into(), (1 << 32) + 1)]);
    }

    #[test]
    fn the_loopback_answers() {
        let control = match Control::open() {
            Ok(control) => control,
            Err(error) => return ringtap_testing::skip("sockets", error),
        };
        let mut interface = Interface { name: "lo".into(), ..Interface::default() };
        query(&control, &mut interface);
        // Every Linux has these two, whatever else the loopback answers.
        let has = |name| interface.features.iter().any(|feature| feature.name == name);
        assert!(has("rx-gro") && has("loopback"), "{:?}", interface.features);
    }
}
