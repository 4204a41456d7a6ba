//! Packets of no call, in order of time.

use ringtap_model::Nanos;

use crate::cross_traffic::CrossTraffic;
use crate::flood_traffic::FloodTraffic;
use crate::frame::Framer;
use crate::scenario::Scenario;
use crate::truth::SummaryTruth;

/// The packets of a scenario that belong to no call.
#[derive(Debug)]
pub(crate) struct Background {
    cross: Option<CrossTraffic>,
    flood: Option<FloodTraffic>,
}

impl Background {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        Self {
            cross: scenario.cross.as_ref().map(|cross| CrossTraffic::new(scenario, cross)),
            flood: scenario.flood.as_ref().map(|flood| FloodTraffic::new(scenario, flood)),
        }
    }

    /// Time of the next packet.
    pub(crate) fn next_at(&self) -> Option<Nanos> {
        let cross = self.cross.as_ref().map(|cross| cross.next);
        cross.into_iter().chain(self.flood.as_ref().map(|flood| flood.next)).min()
    }

    /// Writes and counts the next packet.
    // HOT: once for each packet of cross traffic.
    pub(crate) fn emit(&mut self, framer: &mut Framer, summary: &mut SummaryTruth) {
        let next = self.next_at();
        match (&mut self.cross, &mut self.flood) {
            (Some(cross), _) if Some(cross.next) == next => {
                cross.emit(framer);
                summary.cross += 1;
                summary.cross_bytes += framer.frame().len() as u64;
            }
            (_, Some(flood)) => {
                flood.emit(framer);
                summary.flood += 1;
                summary.flood_bytes += framer.frame().len() as u64;
            }
            _ => {}
        }
    }
}
