//! Which calls are recorded: rules in order, the first that matches wins.
//!
//! A rule may depend on facts that are not known yet: the codec before the answer, the quality before the
//! end. Until then the decision is pending, and everything is kept that a rule which may still match wants.

mod decision_table;
mod pending_packets;
mod rule;
mod scope;
mod values;

pub use decision_table::{CallDecision, CallSlot, DecisionState, DecisionTable};
pub use pending_packets::{PendingList, PendingPacket, PendingPackets};
pub use ringtap_model::Network;
pub use rule::{CallFacts, Rule, Rules, Verdict};
pub use scope::RecordingScope;
pub use values::{CallShare, InvalidValue, MAX_PATTERNS, Numbers};
