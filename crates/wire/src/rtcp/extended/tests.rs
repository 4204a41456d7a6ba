use super::super::{Compound, Packet};
use super::*;

/// An extended report of source 1 with these blocks.
fn report(blocks: &[u8]) -> Vec<u8> {
    let words = (blocks.len() / 4 + 1) as u8;
    [&[0x80, 207, 0, words, 0, 0, 0, 1], blocks].concat()
}

fn blocks(data: &[u8]) -> Vec<Block<'_>> {
    let packets: Vec<_> = Compound::parse(data).unwrap().packets().collect();
    let [Packet::Extended(xr)] = packets[..] else { panic!("{packets:?}") };
    assert_eq!(xr.ssrc, 1);
    xr.blocks().collect()
}

#[test]
fn voip_metrics_behind_another_block() {
    let mut data = vec![4, 0, 0, 2, 1, 2, 3, 4, 5, 6, 7, 8]; // receiver reference time
    data.extend([7, 0, 0, 8, 0, 0, 0, 2, 1, 2, 3, 4, 0, 5, 0, 6, 0, 7, 0, 8]);
    data.extend([0xf0, 127, 9, 16, 93, 127, 44, 43, 0x30, 0, 0, 60, 0, 80, 0, 200]);
    let data = report(&data);
    let blocks = blocks(&data);
    let [Block::ReferenceTime(0x0102_0304_0506_0708), Block::Voip(m)] = blocks[..] else {
        panic!("{blocks:?}")
    };
    assert_eq!((m.ssrc, m.loss_rate, m.discard_rate), (2, 1, 2));
    assert_eq!((m.burst_density, m.gap_density, m.burst_duration, m.gap_duration), (3, 4, 5, 6));
    assert_eq!((m.round_trip_delay, m.end_system_delay, m.signal_level, m.noise_level), (7, 8, -16, 127));
    assert_eq!((m.residual_echo_return_loss, m.gap_threshold, m.r_factor), (9, 16, 93));
    assert_eq!((m.external_r_factor, m.mos_lq, m.mos_cq, m.receiver_config), (127, 44, 43, 0x30));
    assert_eq!((m.jitter_buffer_nominal, m.jitter_buffer_maximum, m.jitter_buffer_limit), (60, 80, 200));
}

/// A run of four received, a vector of which the first and the last of 15 are lost, a run of three lost.
#[test]
fn loss_runs_count_what_is_missing_within_the_range() {
    let chunks = [0x40, 4, 0xbf, 0xfe, 0x00, 3, 0, 0];
    let begin = [0xff, 0xfc, 0, 18]; // 22 numbers, over the wrap
    let data = report(&[&[1, 0, 0, 4, 0, 0, 0, 2][..], &begin, &chunks].concat());
    let found = blocks(&data);
    let [Block::LossRuns(runs)] = found[..] else { panic!("{found:?}") };
    assert_eq!((runs.ssrc, runs.begin, runs.end, runs.thinning), (2, 0xfffc, 18, 0));
    assert_eq!((runs.len(), runs.zeros()), (22, 5));
    assert!(!runs.is_empty());
}

#[test]
fn a_vector_counts_up_to_the_end_of_the_range_and_a_thinned_trace_has_fewer_numbers() {
    let vector = [0x80, 0];
    let data = report(&[&[2, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 4][..], &vector, &[0, 0]].concat());
    let found = blocks(&data);
    let [Block::DuplicateRuns(runs)] = found[..] else { panic!("{found:?}") };
    assert_eq!((runs.len(), runs.zeros()), (4, 4), "only the range counts");
    let data = report(&[&[1, 2, 0, 3, 0, 0, 0, 2, 0, 1, 0, 9][..], &vector, &[0, 0]].concat());
    let found = blocks(&data);
    let [Block::LossRuns(runs)] = found[..] else { panic!("{found:?}") };
    // 4 and 8 of 1 to 8.
    assert_eq!((runs.thinning, runs.len(), runs.zeros()), (2, 2, 2));
}

#[test]
fn receipt_times_and_answers_to_reference_times() {
    let mut data = vec![3, 0, 0, 4, 0, 0, 0, 2, 0, 10, 0, 12, 0, 0, 0, 160, 0, 0, 1, 64];
    data.extend([5, 0, 0, 6, 0, 0, 0, 7, 1, 2, 3, 4, 0, 1, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0]);
    let data = report(&data);
    let blocks = blocks(&data);
    let [Block::ReceiptTimes(times), Block::Delays(delays)] = blocks[..] else { panic!("{blocks:?}") };
    assert_eq!((times.ssrc, times.begin, times.end), (2, 10, 12));
    assert_eq!(times.times().collect::<Vec<_>>(), [160, 320]);
    let wanted = [(7, 0x0102_0304, 65_536), (8, 0, 0)];
    let wanted =
        wanted.map(|(ssrc, last_rr, delay_since_last_rr)| Delay { ssrc, last_rr, delay_since_last_rr });
    assert_eq!(delays.iter().collect::<Vec<_>>(), wanted);
}

#[test]
fn a_summary_has_what_its_flags_name() {
    let mut block = vec![0, 0, 0, 2, 0, 1, 0, 101];
    block.extend([0, 0, 0, 9, 0, 0, 0, 3]); // lost, duplicates
    block.extend([0, 0, 0, 1, 0, 0, 0, 5, 0, 0, 0, 2, 0, 0, 0, 4, 63, 64, 64, 1]);
    let all = report(&[&[6, 0xe8, 0, 9][..], &block].concat());
    let found = blocks(&all);
    let [Block::Summary(summary)] = found[..] else { panic!("{found:?}") };
    assert_eq!((summary.ssrc, summary.begin, summary.end), (2, 1, 101));
    assert_eq!((summary.lost, summary.duplicates), (Some(9), Some(3)));
    assert_eq!(summary.jitter, Some(Spread { min: 1, max: 5, mean: 2, deviation: 4 }));
    assert_eq!(summary.hops, Some(Spread { min: 63, max: 64, mean: 64, deviation: 1 }));
    let lost = report(&[&[6, 0x80, 0, 9][..], &block].concat());
    let found = blocks(&lost);
    let [Block::Summary(summary)] = found[..] else { panic!("{found:?}") };
    assert_eq!((summary.lost, summary.duplicates, summary.jitter, summary.hops), (Some(9), None, None, None));
}

#[test]
fn a_block_too_short_for_its_type_is_other_and_one_that_is_cut_ends_the_report() {
    let data = report(&[7, 0, 0, 1, 0, 0, 0, 2, 99, 5, 0, 0, 1, 0, 0, 4, 0, 0, 0, 2]);
    let blocks = blocks(&data);
    let [Block::Other { kind: 7, data }, Block::Other { kind: 99, .. }] = blocks[..] else {
        panic!("{blocks:?}")
    };
    assert_eq!(data, &[0, 0, 0, 2]);
}
