//! Checks that hold for any records.

use std::collections::HashSet;

use ringtap_engine::Counters;
use ringtap_model::{Call, CallState, Id, Interval, Stream};

use super::Record;
use super::script::Event;

/// Checks the sums of the counters.
pub(super) fn counters(counters: &Counters, events: &[Event]) {
    let packets = events.iter().filter_map(|event| match event {
        Event::Packet { data, .. } => Some(data.len() as u64),
        Event::Tick(_) => None,
    });
    assert_eq!((counters.frames, counters.bytes), (packets.clone().count() as u64, packets.sum()));
    assert!(counters.rtp_unconfirmed <= counters.rtp, "{counters:?}");
    assert!(counters.sip_without_call_id <= counters.sip);
    let kinds: u64 = counters.kinds().iter().map(|(_, count)| count).sum();
    // A fragment, a segment or a HEP packet is counted, and so is the packet that it completes.
    assert!(kinds + counters.sip_bad >= counters.frames, "each frame is of some kind: {counters:?}");
}

/// Checks each record, and the streams against the counters.
pub(super) fn records(records: &[Record], counters: &Counters) {
    let mut ids = HashSet::new();
    let mut packets = 0;
    let mut each = |serial: u64, record: &Stream| {
        stream(record);
        packets += record.packets;
        assert!(ids.insert(serial), "one record a stream");
    };
    for record in records {
        match record {
            Record::Call(record, streams) => {
                call(record, streams);
                streams.iter().for_each(|(serial, record)| each(*serial, record));
            }
            Record::Stream(serial, record) => each(*serial, record),
            Record::Registration(record) => {
                assert!(record.first <= record.last, "{record:?}");
                assert!(record.code == 0 || (200..700).contains(&record.code), "{record:?}");
            }
            Record::Message(record) => {
                assert!(record.code == 0 || (200..700).contains(&record.code), "{record:?}");
            }
            Record::Transaction(record) => {
                assert!(record.code == 0 || (200..700).contains(&record.code), "{record:?}");
                assert_eq!(record.code == 0, record.delay_ms.is_none(), "{record:?}");
            }
        }
    }
    let elsewhere = counters.rtp_unconfirmed + counters.flows_refused;
    assert_eq!(packets + elsewhere, counters.rtp, "each RTP packet is in a record or counted: {counters:?}");
}

fn call(call: &Call, streams: &[(u64, Stream)]) {
    let ids: Vec<Id> = streams.iter().map(|(_, stream)| stream.id).collect();
    assert_eq!(call.streams, ids);
    assert!(streams.is_sorted_by_key(|(serial, _)| *serial), "in order of their first packets");
    assert!(streams.iter().all(|(_, stream)| stream.call == Some(call.id)));
    assert!(call.retransmissions < call.messages.max(1), "{call:?}");
    assert!(call.final_code == 0 || (200..700).contains(&call.final_code), "{call:?}");
    assert!(call.state != CallState::Completed || call.answer.is_some(), "{call:?}");
    assert!(call.state != CallState::Failed || call.final_code >= 400, "{call:?}");
    [call.pdd_ms, call.duration_ms].into_iter().flatten().for_each(sound);
    [call.mos, call.mos_worst_interval].into_iter().flatten().for_each(mos);
    assert!(call.mos.is_none() || !streams.is_empty());
    assert!(call.dtmf.is_sorted_by_key(|digit| digit.time), "{call:?}");
}

fn stream(stream: &Stream) {
    assert!(stream.packets > 0 && stream.unique > 0, "{stream:?}");
    assert_eq!(stream.unique + stream.duplicates, stream.packets, "{stream:?}");
    assert!(stream.reordered < stream.unique, "{stream:?}");
    // A larger jump is a restart, so the packets seen lie between two of them.
    assert!(stream.lost <= stream.unique * (1 << 16), "{stream:?}");
    assert!(stream.first <= stream.last, "{stream:?}");
    assert!(stream.payload_type < 128 && stream.clock.is_none_or(|clock| clock.0 > 0), "{stream:?}");
    bursts(stream);
    let times =
        [stream.iat_ms_min, stream.iat_ms_mean, stream.iat_ms_max, stream.iat_ms_sd, stream.delta_ms_max];
    let jitter =
        [stream.jitter_ms_mean, stream.jitter_ms_max, stream.ptime_ms, stream.rtt_ms, stream.rate_bps];
    times.into_iter().chain(jitter).flatten().for_each(sound);
    ascending([stream.iat_ms_min, stream.iat_ms_mean, stream.iat_ms_max]);
    ascending([None, stream.jitter_ms_mean, stream.jitter_ms_max]);
    ascending([Some(f64::from(stream.size_min)), Some(stream.size_mean), Some(f64::from(stream.size_max))]);
    sound(stream.size_sd);
    assert!(stream.ip_bytes >= stream.packets * u64::from(stream.size_min));
    let judged =
        [stream.mos, stream.mos_fixed50, stream.mos_fixed200, stream.mos_adaptive500, stream.mos_cole];
    judged.into_iter().flatten().for_each(mos);
    // Long bursts of loss give an R far below 0, where MOS is 1.
    assert!(stream.r_factor.is_none_or(|r| r.is_finite() && r <= 150.0), "{stream:?}");
    [stream.silence_pct, stream.clipped_pct].into_iter().flatten().for_each(|share| {
        assert!((0.0..=100.0).contains(&share), "{stream:?}");
    });
    intervals(stream);
}

fn bursts(stream: &Stream) {
    assert!(stream.loss_bursts <= stream.lost, "{stream:?}");
    assert_eq!(stream.lost == 0, stream.loss_bursts == 0, "{stream:?}");
    assert!(stream.burst_len_max.is_none_or(|longest| longest <= stream.lost), "{stream:?}");
    assert_eq!(stream.burst_len_max.is_some(), stream.loss_bursts > 0, "{stream:?}");
    ascending([Some(1.0), stream.burst_len_mean, stream.burst_len_max.map(|longest| longest as f64)]);
    assert!(stream.burst_ratio.is_none_or(|ratio| ratio.is_finite() && ratio >= 0.0), "{stream:?}");
}

fn intervals(stream: &Stream) {
    let packets: u64 = stream.intervals.iter().map(|interval| u64::from(interval.packets)).sum();
    assert!(packets <= stream.packets, "{stream:?}");
    assert!(stream.intervals.is_sorted_by_key(|interval| interval.start), "{stream:?}");
    for Interval { start, jitter_ms, packets, discarded, mos: all, mos_fixed50, mos_fixed200, .. } in
        &stream.intervals
    {
        sound(*jitter_ms);
        assert!(discarded <= packets, "{stream:?}");
        assert!(*start >= stream.first && *start <= stream.last, "{stream:?}");
        [all, mos_fixed50, mos_fixed200].into_iter().copied().flatten().for_each(mos);
    }
}

fn sound(value: f64) {
    assert!(value.is_finite() && value >= 0.0, "{value}");
}

fn mos(value: f64) {
    assert!((1.0..=5.0).contains(&value), "MOS {value}");
}

/// Compares up to rounding: three digits, in single precision.
fn ascending<const N: usize>(values: [Option<f64>; N]) {
    let known: Vec<f64> = values.into_iter().flatten().collect();
    assert!(known.windows(2).all(|pair| pair[0] <= pair[1] * 1.000_001 + 0.002), "{values:?}");
}
