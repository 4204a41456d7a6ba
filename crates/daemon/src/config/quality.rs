//! `[quality]`: what the rating of voice assumes.

use ringtap_quality::Receivers;

use super::key::section;
use super::values::MediaReceiver;

section! {
    /// What the rating of voice assumes of the receivers of media.
    #[name = "quality"]
    pub(crate) struct Quality {
        /// Receivers conceal loss where the codec leaves it to them: G.711 is rated with Bpl 25.1 instead of
        /// 4.3 (G.113), G.722 and L16 likewise. Nearly all telephones and gateways do.
        concealment: bool = Receivers::default().conceal,
        /// Receivers that do not conceal loss, by the address that media is sent to or by the User-Agent of
        /// the side that receives it, exact or with `*` at its end; letter case does not matter.
        no_concealment: Vec<MediaReceiver> = Vec::new(),
    }
}

impl Quality {
    /// Which receivers conceal loss.
    pub(crate) fn receivers(&self) -> Receivers {
        let exceptions = self.no_concealment.iter().map(|receiver| receiver.0.clone()).collect();
        Receivers { conceal: self.concealment, exceptions }
    }
}
