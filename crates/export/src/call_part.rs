//! The signalling and the streams of a call, each with the packets that the spool should have.

use ringtap_model::{Call, CallState, Nanos, Stream};
use ringtap_report::text::counted;
use ringtap_report::text::grouped;
use ringtap_spool::{MissingChunks, of_call, of_stream};

/// The signalling or one stream of a call, with the packets that the spool should have.
#[derive(Clone, Debug, Default)]
pub struct CallPart {
    /// Name shown to users.
    pub name: String,
    /// Key of the owner in the spool.
    pub key: u64,
    from: Nanos,
    to: Nanos,
    pub(crate) is_media: bool,
    /// Packets according to the record; `None` if the record has no count of all: a kill cut the call off.
    pub(crate) counted: Option<u64>,
    pub(crate) count: PacketCount,
}

/// Packets of a part that are in the spool.
#[derive(Clone, Copy, Debug, Default)]
pub struct PacketCount {
    /// RTP packets of a stream, or all packets of the signalling.
    pub(crate) packets: u64,
    /// RTCP packets.
    pub(crate) reports: u64,
    /// Media packets recorded without their payload.
    pub(crate) cut: u64,
}

impl CallPart {
    /// The times between which packets of the owner may belong to this part.
    pub fn time_range(&self) -> (Nanos, Nanos) {
        match self.is_media {
            true => (self.from - REPORTS, self.to + REPORTS),
            false => (self.from, self.to),
        }
    }

    pub(crate) fn has(&self, time: Nanos, is_report: bool) -> bool {
        let (from, to) = if is_report { self.time_range() } else { (self.from, self.to) };
        (from..=to).contains(&time)
    }

    pub(crate) fn is_incomplete(&self) -> bool {
        self.counted.is_some_and(|counted| counted > self.count.packets)
    }

    pub(crate) fn describe(&self, missing: Option<&MissingChunks>) -> String {
        let mut line = match self.counted {
            // The spool also has mirrored copies, which the record does not count.
            Some(counted) if counted > self.count.packets => {
                format!("{}: {} of {} packets", self.name, grouped(self.count.packets), grouped(counted))
            }
            _ => format!("{}: {}", self.name, packets(self.count.packets)),
        };
        if self.count.reports > 0 {
            line.push_str(&format!(", {} RTCP", grouped(self.count.reports)));
        }
        if self.count.cut > 0 {
            line.push_str(", headers only");
        }
        let Some(missing) = missing else { return line };
        for (count, what) in
            [(missing.damaged, "damaged or missing"), (missing.erased, "erased"), (missing.sealed, "sealed")]
        {
            if count > 0 {
                line.push_str(&format!("; {} {what}", counted(count, "chunk")));
            }
        }
        line
    }
}

fn packets(count: u64) -> String {
    format!("{} {}", grouped(count), if count == 1 { "packet" } else { "packets" })
}

/// The signalling and the streams that the records describe.
pub fn parts(call: &Call, streams: &[Stream]) -> Vec<CallPart> {
    let start = call.start().unwrap_or_default();
    let end = call.end.unwrap_or(start);
    let last = streams.iter().map(|stream| stream.last).max().unwrap_or(end);
    let signalling = CallPart {
        name: "signalling".to_owned(),
        key: of_call(call.call_id.as_bytes()),
        from: start - BEFORE,
        to: end.max(last) + AFTER,
        counted: (call.state != CallState::Interrupted).then_some(call.messages.into()),
        ..CallPart::default()
    };
    let media = streams.iter().map(|stream| CallPart {
        name: format!("{} to {}", stream.src, stream.dst),
        key: of_stream(stream.src, stream.dst, stream.ssrc),
        from: stream.first,
        // Records have microseconds, packets have nanoseconds.
        to: stream.last + Nanos(999),
        is_media: true,
        counted: stream.is_measured().then_some(stream.packets),
        ..CallPart::default()
    });
    std::iter::once(signalling).chain(media).collect()
}

/// Challenges and retransmissions may come this long before and after the record's time.
const BEFORE: Nanos = Nanos::from_secs(1);
const AFTER: Nanos = Nanos::from_secs(64);
/// RTCP may come this long before a stream's first and after its last packet.
const REPORTS: Nanos = Nanos::from_secs(10);

#[cfg(test)]
mod tests {
    use ringtap_model::Endpoint;
    use ringtap_testing::samples;

    use super::*;

    #[test]
    fn parts_are_those_of_the_record() {
        let call = Call {
            call_id: "a@b".into(),
            invite: Some(Nanos::from_secs(3)),
            end: Some(Nanos::from_secs(9)),
            messages: 7,
            ..samples::call()
        };
        let stream = Stream {
            src: "192.0.2.1:4000".parse().unwrap(),
            dst: "[2001:db8::1]:4002".parse().unwrap(),
            ssrc: u32::MAX,
            first: Nanos::from_secs(4),
            last: Nanos::from_micros(8_500_000),
            packets: 200,
            ..samples::stream()
        };
        let mut parts = parts(&call, &[stream]);
        assert_eq!(parts.len(), 2);
        assert_eq!((parts[0].key, parts[0].counted), (of_call(b"a@b"), Some(7)));
        assert_eq!((parts[0].from, parts[0].to), (Nanos::from_secs(2), Nanos::from_secs(73)));
        let ends: [Endpoint; 2] = ["192.0.2.1:4000".parse().unwrap(), "[2001:db8::1]:4002".parse().unwrap()];
        assert_eq!(parts[1].key, of_stream(ends[0], ends[1], u32::MAX));
        parts[1].count = PacketCount { packets: 199, reports: 2, cut: 0 };
        let found = MissingChunks { damaged: 1, ..MissingChunks::default() };
        assert_eq!(
            parts[1].describe(Some(&found)),
            "192.0.2.1:4000 to [2001:db8::1]:4002: 199 of 200 packets, 2 RTCP; 1 chunk damaged or missing"
        );
        assert!(parts[1].is_incomplete());
        // RTCP may come later than the last packet, media may not.
        let late = Nanos::from_secs(18);
        assert!(parts[1].has(late, true) && !parts[1].has(late, false));
    }
}
