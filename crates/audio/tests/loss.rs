//! Loss on purpose: how near to the source what is heard comes, against silence and against what other tools'
//! exports give.
//!
//! The figure is the segmental signal-to-noise ratio over the 10 ms segments that loss touches, clipped to
//! -10..35 dB a segment as usual: silence has 0 dB in each, by definition. Beside it, how far the spectra are
//! apart, for which phases do not matter.

mod common;

use std::f64::consts::TAU;

use common::{filtered, to_le, voice};
use ringtap_audio::{AudioPacket, BuiltIn, Codec, Player, PlayoutRules, Track};
use ringtap_model::{Hz, Nanos};

/// Which packets are lost.
fn random(share: f64, seed: u32, count: usize) -> Vec<bool> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(state >> 8) / f64::from(1 << 24)
    };
    (0..count).map(|_| next() < share).collect()
}

/// Two states (Gilbert): bursts of three packets on average.
fn bursts(share: f64, seed: u32, count: usize) -> Vec<bool> {
    let mut state = seed;
    let mut lost = false;
    (0..count)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let roll = f64::from(state >> 8) / f64::from(1 << 24);
            lost = if lost { roll > 1.0 / 3.0 } else { roll < share / 3.0 / (1.0 - share) };
            lost
        })
        .collect()
}

fn track(payloads: &[&[u8]], lost: &[bool]) -> Track {
    let mut track = Track::new(Codec::Pcmu, Hz(8_000));
    for (number, payload) in payloads.iter().enumerate().filter(|(number, _)| !lost[*number]) {
        track.push(AudioPacket {
            arrival: Nanos::from_millis(1_000 + 20 * number as u64),
            sequence: number as u16,
            timestamp: number as u32 * 160,
            payload_type: 0,
            payload,
        });
    }
    track
}

fn heard(track: &Track, rules: PlayoutRules) -> Vec<i16> {
    let mut player = Player::new(track, rules, Hz(8_000), &BuiltIn);
    let mut out = vec![0; player.frames() as usize];
    assert_eq!(player.read(&mut out).expect("our own"), out.len());
    out
}

/// Over the segments of lost packets that are not silent in the source.
fn segmental(source: &[i16], heard: &[i16], lost: &[bool]) -> f64 {
    let power = |values: &mut dyn Iterator<Item = f64>| values.map(|value| value * value).sum::<f64>();
    let (mut sum, mut count) = (0.0, 0.0);
    for at in (0..source.len().min(heard.len()) - 80).step_by(80).filter(|at| lost[at / 160]) {
        let signal = power(&mut source[at..at + 80].iter().map(|sample| f64::from(*sample)));
        let noise = power(&mut (at..at + 80).map(|at| f64::from(source[at]) - f64::from(heard[at])));
        if signal > 80.0 * 100.0 * 100.0 {
            sum += (10.0 * (signal / noise.max(1.0)).log10()).clamp(-10.0, 35.0);
            count += 1.0;
        }
    }
    assert!(count > 10.0, "too little to judge");
    sum / count
}

/// Mean distance of the logarithms of the spectra, in dB, over the 32 ms around lost packets: how different
/// it sounds, whatever the phases.
fn spectral(source: &[i16], heard: &[i16], lost: &[bool]) -> f64 {
    const N: usize = 256;
    let window: Vec<f64> = (0..N).map(|at| 0.5 - 0.5 * (TAU * at as f64 / N as f64).cos()).collect();
    let turns: Vec<(f64, f64)> = (0..N).map(|at| (TAU * at as f64 / N as f64).sin_cos()).collect();
    let spectrum = |samples: &[i16]| -> Vec<f64> {
        // 100 to 3800 Hz.
        (3..122)
            .map(|bin| {
                let (mut real, mut imaginary) = (0.0, 0.0);
                for (at, sample) in samples.iter().enumerate() {
                    let value = f64::from(*sample) * window[at];
                    let (sine, cosine) = turns[at * bin % N];
                    real += value * cosine;
                    imaginary += value * sine;
                }
                // A floor 50 dB below speech: below it nothing is heard.
                10.0 * (real * real + imaginary * imaginary + 1e6).log10()
            })
            .collect()
    };
    let (mut sum, mut count) = (0.0, 0.0);
    for at in (0..source.len().min(heard.len()) - N).step_by(80).filter(|at| lost[(at + N / 2) / 160]) {
        let (one, other) = (spectrum(&source[at..at + N]), spectrum(&heard[at..at + N]));
        let power: f64 = source[at..at + N].iter().map(|sample| f64::from(*sample).powi(2)).sum();
        if power > N as f64 * 100.0 * 100.0 {
            let mean = one.iter().zip(&other).map(|(a, b)| (a - b).powi(2)).sum::<f64>() / one.len() as f64;
            sum += mean.sqrt();
            count += 1.0;
        }
    }
    sum / count
}

/// What appendix I of G.711 makes of it, which knows only the past: the pitch by correlation over 20 ms, its
/// last period again and again, with a quarter of it overlapped and added; two periods after 10 ms, three
/// after 20; 20 % softer every 10 ms from there on; the first good samples cross-faded with what would have
/// gone on.
fn appendix(decoded: &[i16], lost: &[bool]) -> Vec<i16> {
    let mut out: Vec<f64> = decoded.iter().map(|sample| f64::from(*sample)).collect();
    let mut packet = 0;
    while packet < lost.len() {
        if !lost[packet] || packet < 3 {
            packet += 1;
            continue;
        }
        let from = packet * 160;
        let count = lost[packet..].iter().take_while(|lost| **lost).count();
        let past = out[from - 390..from].to_vec();
        let score = |lag: usize| {
            let (mut product, mut energy) = (0.0, 1.0);
            for at in 230..390 {
                product += past[at] * past[at - lag];
                energy += past[at - lag] * past[at - lag];
            }
            product / f64::sqrt(energy)
        };
        let pitch = (40..=120).max_by(|a, b| score(*a).total_cmp(&score(*b))).expect("lags");
        let quarter = pitch / 4;
        // The last periods, the end of which is blended with what was before them.
        let cycle = |periods: usize| -> Vec<f64> {
            let length = periods * pitch;
            let mut cycle = past[390 - length..].to_vec();
            for at in 0..quarter {
                let weight = (at + 1) as f64 / quarter as f64;
                let end = length - quarter + at;
                cycle[end] = cycle[end] * (1.0 - weight) + past[390 - length - quarter + at] * weight;
            }
            cycle
        };
        let cycles = [cycle(1), cycle(2), cycle(3)];
        let end = from + count * 160;
        let overlap = (quarter + 32 * (count * 2 - 1)).min(80);
        for at in 0..count * 160 + overlap {
            let Some(sample) = out.get_mut(from + at) else { break };
            let cycle = &cycles[(at / 80).min(2)];
            let made = cycle[at % cycle.len()] * (1.0 - 0.2 * (at as f64 / 80.0 - 1.0).max(0.0)).max(0.0);
            if from + at < end {
                *sample = made;
            } else {
                let weight = (from + at - end) as f64 / overlap as f64;
                *sample = *sample * weight + made * (1.0 - weight);
            }
        }
        packet += count;
    }
    out.into_iter().map(|sample| sample as i16).collect()
}

/// The source: a voice as G.711 carries it, encoded by sox, or by the inverse of the decoder where there is
/// none.
fn source() -> Vec<u8> {
    let spoken = voice(60, 8_000);
    let arguments = ["-D", "-t", "s16", "-L", "-r", "8000", "-c", "1", "{}", "-t", "ul", "-"];
    filtered("sox", &arguments, &to_le(&spoken)).unwrap_or_else(|| {
        let nearest = |sample: &i16| (0..=255).min_by_key(|byte| Codec::Pcmu.decode(*byte).abs_diff(*sample));
        spoken.iter().map(|sample| nearest(sample).unwrap_or(0xff)).collect()
    })
}

#[test]
fn concealed_loss_is_nearer_to_the_source() {
    let bytes = source();
    let payloads: Vec<&[u8]> = bytes.chunks_exact(160).collect();
    let decoded: Vec<i16> = bytes.iter().map(|byte| Codec::Pcmu.decode(*byte)).collect();
    let count = payloads.len();
    let cases = [
        ("3 % random", random(0.03, 1, count), 4.0),
        ("1 % random", random(0.01, 1, count), 4.0),
        ("5 % random", random(0.05, 2, count), 4.0),
        ("10 % random", random(0.10, 3, count), 4.0),
        // 60 ms on average: there is little to be had in the middle.
        ("5 % in bursts", bursts(0.05, 4, count), 0.7),
        ("10 % in bursts", bursts(0.10, 5, count), 0.7),
    ];
    println!("loss (dB)            ringtap appendix I    silence   repeated     joined");
    for (name, mut lost, least) in cases {
        // Both ends are there, for the length to be that of the source.
        (lost[0], lost[count - 1]) = (false, false);
        let track = track(&payloads, &lost);
        let ours = heard(&track, PlayoutRules::default());
        let silent = heard(&track, PlayoutRules { conceal: false, ..PlayoutRules::default() });
        assert_eq!(ours.len(), decoded.len());
        for (at, lost) in lost.iter().enumerate().filter(|(_, lost)| !**lost) {
            assert!(!lost && ours[at * 160..][..160] == decoded[at * 160..][..160], "what came is as it was");
        }
        // The last packet again, as simple receivers do.
        let mut repeated = silent.clone();
        for at in (1..count).filter(|at| lost[*at]) {
            repeated.copy_within((at - 1) * 160..at * 160, at * 160);
        }
        // `tshark -T fields -e rtp.payload` into sox: what is lost is not there at all.
        let joined: Vec<i16> =
            (0..count).filter(|at| !lost[*at]).flat_map(|at| decoded[at * 160..][..160].to_vec()).collect();
        let appendix = appendix(&decoded, &lost);
        let all = [&ours, &appendix, &silent, &repeated, &joined];
        let figures = all.map(|heard| segmental(&decoded, heard, &lost));
        let far = all.map(|heard| spectral(&decoded, heard, &lost));
        for (what, figures) in [(name, figures), ("  spectra apart", far)] {
            println!("{what:16} {}", figures.map(|figure| format!("{figure:11.2}")).concat());
        }
        let [ours, appendix, silent, repeated, joined] = figures;
        assert!(far[1..].iter().all(|other| far[0] < *other), "{name}: {far:?}");
        assert!(silent.abs() < 0.01, "silence is 0 dB: {silent}");
        assert!(
            ours > silent + least && ours > appendix && ours > repeated && ours > joined,
            "{name}: {ours}"
        );
    }
}

#[test]
fn late_packets_are_lost_to_a_telephone_and_not_to_a_recording() {
    let bytes = source();
    let payloads: Vec<&[u8]> = bytes.chunks_exact(160).take(500).collect();
    let mut track = Track::new(Codec::Pcmu, Hz(8_000));
    for (number, payload) in payloads.iter().enumerate() {
        // Every fiftieth packet comes 100 ms late.
        let late = if number % 50 == 49 { 100 } else { 0 };
        track.push(AudioPacket {
            arrival: Nanos::from_millis(1_000 + 20 * number as u64 + late),
            sequence: number as u16,
            timestamp: number as u32 * 160,
            payload_type: 0,
            payload,
        });
    }
    let figures = |buffer: Option<u64>| {
        let rules = PlayoutRules { buffer: buffer.map(Nanos::from_millis), ..PlayoutRules::default() };
        let mut player = Player::new(&track, rules, Hz(8_000), &BuiltIn);
        let mut out = vec![0; player.frames() as usize];
        player.read(&mut out).expect("our own");
        (player.figures().late, player.figures().concealed, out)
    };
    let decoded: Vec<i16> = payloads.concat().iter().map(|byte| Codec::Pcmu.decode(*byte)).collect();
    let (late, concealed, out) = figures(None);
    assert!(late == 0 && concealed == Nanos::ZERO && out == decoded);
    // The last one is at the end of the track, where nothing follows.
    assert_eq!(figures(Some(60)).0, 10);
    assert_eq!(figures(Some(60)).1, Nanos::from_millis(9 * 20));
    assert_eq!(figures(Some(120)).0, 0);
}

#[test]
fn a_clock_that_runs_away_is_followed_and_a_route_that_changes_is_not() {
    let bytes = voice(300, 8_000);
    let bytes: Vec<u8> = bytes.iter().map(|sample| (sample >> 8) as u8).collect();
    let played = |arrival: &dyn Fn(u64) -> u64| {
        let mut track = Track::new(Codec::Pcmu, Hz(8_000));
        for (number, payload) in bytes.chunks_exact(160).enumerate() {
            track.push(AudioPacket {
                arrival: Nanos(1_000_000_000 + arrival(number as u64)),
                sequence: number as u16,
                timestamp: number as u32 * 160,
                payload_type: 0,
                payload,
            });
        }
        let mut player = Player::new(&track, PlayoutRules::default(), Hz(8_000), &BuiltIn);
        let mut out = vec![0; player.frames() as usize];
        player.read(&mut out).expect("our own");
        (player.figures().drift_ppm, out.len())
    };
    // 200 ppm slow, jitter of up to 8 ms: 60 ms in five minutes.
    let (ppm, length) = played(&|number| number * 20_004_000 + number * 7_919 % 8 * 1_000_000);
    assert!((ppm - 200.0).abs() < 5.0, "{ppm}");
    assert!(length.abs_diff(300 * 8_000 + 480) < 16, "{length}");
    // 100 ms more from the middle on, and no drift.
    let (ppm, length) = played(&|number| number * 20_000_000 + if number > 7_500 { 100_000_000 } else { 0 });
    assert_eq!((ppm, length), (0.0, 300 * 8_000));
    // 30 ppm in five minutes are 9 ms: the samples stay as they are.
    assert_eq!(played(&|number| number * 20_000_600), (0.0, 300 * 8_000));
}

#[test]
fn comfort_noise_and_tones_sound_where_they_are_wanted() {
    let mut track = Track::new(Codec::Pcmu, Hz(8_000));
    track.announce(101, ringtap_audio::PayloadKind::Events);
    let mut push = |number: u16, millis: u64, timestamp: u32, payload_type: u8, payload: &[u8]| {
        let arrival = Nanos::from_millis(millis);
        track.push(AudioPacket { arrival, sequence: number, timestamp, payload_type, payload });
    };
    push(0, 0, 0, 0, &[0xff; 160]);
    push(1, 20, 160, 13, &[40]);
    // Digit 5 at 500 ms for 100 ms at -10 dBm0, told three times.
    for (number, duration) in [(2, 160_u16), (3, 480), (4, 800)] {
        let [high, low] = duration.to_be_bytes();
        push(number, 500 + u64::from(duration) / 8, 4_000, 101, &[5, 10, high, low]);
    }
    push(5, 1_000, 8_000, 0, &[0xff; 160]);
    let level = |samples: &[i16]| {
        let power =
            samples.iter().map(|sample| f64::from(*sample).powi(2)).sum::<f64>() / samples.len() as f64;
        10.0 * (power.max(1e-3) / 32_768_f64.powi(2)).log10()
    };
    let out = heard(&track, PlayoutRules { tones: true, ..PlayoutRules::default() });
    assert_eq!(out.len(), 8_160);
    assert!((level(&out[160..4_000]) + 40.0).abs() < 1.0, "noise: {}", level(&out[160..4_000]));
    // -10 dBm0 of power; full scale of a sine is 3.17 dBm0, and 3 dB below that of a square wave.
    assert!((level(&out[4_000..4_800]) + 16.2).abs() < 0.5, "tone: {}", level(&out[4_000..4_800]));
    let out = heard(&track, PlayoutRules { noise: false, ..PlayoutRules::default() });
    assert!(out.iter().all(|sample| *sample == 0), "neither was wanted; nor is anything lost");
}
