//! The MOS of lossy calls, through the whole engine, against G.107, G.107.1 and G.107.2 worked by hand.
//!
//! `bench/results/lossy-calls.md` has the same rows with the figures of each step.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use ringtap_cases::run;
use ringtap_cases::story::rtp::Rtp;
use ringtap_cases::story::sip::{Dialog, alice_media, bob_media, sdp};
use ringtap_cases::story::wire::Wire;
use ringtap_cases::story::{Story, ms};
use ringtap_engine::Config;
use ringtap_model::Stream;

/// Packets that the sender sends in each call.
const SENT: u16 = 3000;

/// A codec as it is announced and sent: types, attributes, payload type, ticks and bytes of a packet.
type Sender = (&'static str, &'static [&'static str], u8, u32, usize);

const PCMU: Sender = ("0", &[], 0, 160, 160);
const PCMA: Sender = ("8", &[], 8, 160, 160);
const G729: Sender = ("18", &[], 18, 160, 20);
const G722: Sender = ("9", &[], 9, 160, 160);
const L16: Sender = ("96", &["rtpmap:96 L16/8000"], 96, 160, 320);
const OPUS: Sender = ("96", &["rtpmap:96 opus/48000/2"], 96, 960, 80);

/// A call: of each `period` packets a run of `lost` is missing, and `late` ones arrive 600 ms after their
/// time.
struct Lossy {
    sender: Sender,
    period: u16,
    lost: u16,
    late: u16,
    conceals: bool,
    /// R and MOS-LQ by hand.
    by_hand: (f64, f64),
}

const fn lossy(sender: Sender, (lost, late, period): (u16, u16, u16), by_hand: (f64, f64)) -> Lossy {
    Lossy { sender, period, lost, late, conceals: true, by_hand }
}

/// In the order of the table.
const CALLS: [Lossy; 20] = [
    lossy(PCMU, (1, 0, 1000), (92.978, 4.405)),
    lossy(PCMU, (1, 0, 200), (91.500, 4.374)),
    lossy(PCMU, (1, 0, 100), (89.715, 4.332)),
    lossy(PCMA, (1, 0, 50), (86.344, 4.239)),
    lossy(PCMA, (3, 0, 100), (82.449, 4.113)),
    lossy(PCMU, (1, 0, 20), (77.575, 3.929)),
    lossy(PCMU, (1, 0, 10), (66.290, 3.419)),
    lossy(PCMU, (10, 0, 100), (57.302, 2.959)),
    lossy(PCMU, (9, 0, 50), (31.262, 1.662)),
    lossy(PCMA, (2, 0, 100), (86.081, 4.232)),
    lossy(PCMA, (4, 0, 100), (78.819, 3.979)),
    lossy(PCMU, (3, 0, 10), (20.994, 1.282)),
    lossy(PCMU, (0, 1, 50), (86.344, 4.239)),
    lossy(PCMU, (1, 1, 50), (80.297, 4.035)),
    Lossy { conceals: false, ..lossy(PCMU, (1, 0, 100), (75.431, 3.840)) },
    lossy(G729, (1, 0, 50), (74.355, 3.794)),
    lossy(G729, (5, 0, 100), (61.410, 3.173)),
    lossy(G722, (1, 0, 100), (87.487, 4.273)),
    lossy(L16, (1, 0, 50), (86.344, 4.239)),
    lossy(OPUS, (1, 0, 50), (79.376, 4.000)),
];

impl Lossy {
    /// The record of the stream.
    fn stream(&self) -> Stream {
        let (types, attributes, payload_type, step, size) = self.sender;
        let mut wire = Wire::new();
        let dialog = Dialog::new("lossy@example.com");
        let [offer, answer] = [alice_media(), bob_media()].map(|media| sdp(media, types, attributes));
        dialog.set_up(&mut wire, ms(0), &offer, &answer);
        let voice = Rtp::new(alice_media(), bob_media(), 0x1055).codec(payload_type, step, size);
        for index in 0..SENT {
            // In the middle of its period, so that neither the first nor the last packet is missing.
            let place = (index % self.period).wrapping_sub(self.period / 2);
            let at = ms(1100 + 20 * u64::from(index));
            match place {
                place if place < self.lost => {}
                place if place < self.lost + self.late => voice.nth(index).send(&mut wire, at + ms(600)),
                _ => voice.nth(index).send(&mut wire, at),
            }
        }
        dialog.hang_up(&mut wire, ms(62_000));
        let story = Story::new("lossy", wire);
        let exceptions = if self.conceals { vec![] } else { vec!["198.51.100.0/24".parse().unwrap()] };
        let receivers = ringtap_quality::Receivers { exceptions, ..Default::default() };
        let config = Config { receivers, ..Config::default() };
        let records = run::frames(story.frames(), config, 64);
        let [stream] = &records.streams[..] else { panic!("{:?}", records.streams) };
        assert!(stream.mos_basis.is_some() && stream.mos_cq.is_none());
        stream.clone()
    }
}

#[test]
fn twenty_lossy_calls_have_the_mos_of_g107_worked_by_hand() {
    for (call, number) in CALLS.iter().zip(1..) {
        let stream = call.stream();
        let periods = u64::from(SENT / call.period);
        assert_eq!(stream.lost, periods * u64::from(call.lost), "call {number}");
        // What is missing at the end of an interval and comes in the next counts as lost in the first.
        let lost: u64 = stream.intervals.iter().map(|interval| u64::from(interval.lost)).sum();
        assert!(lost <= stream.lost + stream.intervals.len() as u64, "call {number}: {lost}");
        let discarded: u64 = stream.intervals.iter().map(|interval| u64::from(interval.discarded)).sum();
        assert_eq!(discarded, periods * u64::from(call.late), "call {number}");
        let (r, mos) = (stream.r_factor.unwrap(), stream.mos.unwrap());
        println!("{number} {r:.3} {mos:.3}");
        assert!(
            (mos - call.by_hand.1).abs() <= 0.0015,
            "call {number}: MOS {mos}, by hand {:?}",
            call.by_hand
        );
        assert!((r - call.by_hand.0).abs() <= 0.0015, "call {number}: R {r}, by hand {:?}", call.by_hand);
    }
}
