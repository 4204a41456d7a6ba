//! Hostile traffic, packet by packet.

mod connections;
mod datagrams;
mod hosts;
mod messages;

use ringtap_model::Nanos;

use crate::flood::{Flood, FloodKind};
use crate::frame::Framer;
use crate::pace::Pace;
use crate::rng::Rng;
use crate::scenario::Scenario;
use connections::{Attack, Connections};
use datagrams::Datagrams;
use messages::Messages;

/// The hostile traffic of a scenario.
#[derive(Debug)]
pub(crate) struct FloodTraffic {
    flood: Flood,
    messages: Messages,
    datagrams: Datagrams,
    holes: Connections,
    bytes: Connections,
    web_sockets: Connections,
    rng: Rng,
    pace: Pace,
    pub(crate) next: Nanos,
}

impl FloodTraffic {
    pub(crate) fn new(scenario: &Scenario, flood: &Flood) -> Self {
        let mut flood_traffic = Self {
            flood: flood.clone(),
            messages: Messages::default(),
            datagrams: Datagrams::default(),
            holes: Connections::new(Attack::Hole),
            bytes: Connections::new(Attack::Bytes),
            web_sockets: Connections::new(Attack::WebSocket),
            rng: Rng::new(scenario.seed, FLOOD),
            pace: Pace::new(flood.rate),
            next: scenario.start,
        };
        flood_traffic.wait(0);
        flood_traffic
    }

    /// Writes the next packet.
    pub(crate) fn emit(&mut self, framer: &mut Framer) {
        let Self { messages, datagrams, rng, .. } = self;
        match *self.flood.kinds.pick(rng) {
            FloodKind::Invite => messages.invite(rng, framer),
            FloodKind::Register => messages.register(rng, framer),
            FloodKind::Message => messages.message(rng, framer),
            FloodKind::Codecs => messages.codecs(rng, framer),
            FloodKind::Ssrc => datagrams.ssrc(rng, framer),
            FloodKind::Collision => datagrams.collision(rng, framer),
            FloodKind::Fragment => datagrams.fragment(rng, framer),
            FloodKind::SynFin => connections::syn_fin(rng, framer),
            FloodKind::Hole => self.holes.emit(rng, framer),
            FloodKind::Bytes => self.bytes.emit(rng, framer),
            FloodKind::WebSocket => self.web_sockets.emit(rng, framer),
            FloodKind::Chunks => datagrams.chunks(rng, framer),
            FloodKind::Lengths => datagrams.lengths(rng, framer),
        }
        self.wait(framer.frame().len());
    }

    fn wait(&mut self, octets: usize) {
        self.next += self.pace.pause(octets, &mut self.rng);
    }
}

const FLOOD: u64 = 0x0066_6c6f_6f64_0000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Mix, Traffic};

    /// Each kind alone, for a second: the frames that its packets have.
    fn frames(kind: FloodKind) -> Vec<Vec<u8>> {
        let flood = Flood { rate: crate::Rate::Packets(2_000.0), kinds: Mix::only(kind) };
        let duration = Some(Nanos::from_secs(1));
        let mut traffic =
            Traffic::new(Scenario { calls: 0, duration, flood: Some(flood), ..Scenario::new(3) }).unwrap();
        let mut frames = Vec::new();
        while let Some((_, frame)) = traffic.next() {
            frames.push(frame.to_vec());
        }
        assert_eq!(traffic.summary().flood, frames.len() as u64);
        frames
    }

    #[test]
    fn each_kind_keeps_its_rate_and_fits_ethernet() {
        for kind in FloodKind::ALL {
            let frames = frames(kind);
            assert!((1_800..2_200).contains(&frames.len()), "{kind}: {}", frames.len());
            assert!(frames.iter().all(|frame| (34..=1_514).contains(&frame.len())), "{kind}");
        }
    }

    #[test]
    fn each_kind_is_what_it_says() {
        let text = |kind, part: &str| {
            let has = |frame: &Vec<u8>| frame.windows(part.len()).any(|window| window == part.as_bytes());
            frames(kind).iter().filter(|frame| has(frame)).count()
        };
        assert!(text(FloodKind::Invite, "INVITE sip:") > 1_800);
        assert!(text(FloodKind::Register, "Expires: 4294967295") > 1_800);
        assert!(text(FloodKind::Message, "MESSAGE sip:") > 1_800);
        assert!(text(FloodKind::Codecs, "a=rtpmap:127 ") > 1_800);
        assert!(text(FloodKind::WebSocket, "Upgrade: websocket") > 10);
        let flags = |frame: &Vec<u8>| frame[14 + 20 + 13];
        assert!(frames(FloodKind::SynFin).iter().all(|frame| flags(frame) == 3));
        let tiny = |frame: &&Vec<u8>| frame.len() == 14 + 20 + 20 + 1;
        assert!(frames(FloodKind::Bytes).iter().filter(tiny).count() > 1_800);
        let more = |frame: &&Vec<u8>| frame[14 + 6] & 0x20 != 0;
        assert!(frames(FloodKind::Fragment).iter().all(|frame| more(&frame)));
        assert!(frames(FloodKind::Chunks).iter().all(|frame| frame[14 + 9] == 132));
    }
}
