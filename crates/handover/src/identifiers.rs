//! Whose product a PDU is, and its place in it.

use crate::{CountryCode, ElementId, InterceptionPoint, Liid, OperatorId};

/// What each PDU of a warrant says of the warrant (PSHeader, TS 102 232-1 clause 5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identifiers {
    /// Name of the warrant.
    pub liid: Liid,
    /// Country whose authority ordered it.
    pub authorisation: Option<CountryCode>,
    /// Who hands over.
    pub operator: OperatorId,
    /// What of the operator's network hands over.
    pub element: Option<ElementId>,
    /// Country that it is delivered to.
    pub delivery: Option<CountryCode>,
    /// Where the interception took place.
    pub point: Option<InterceptionPoint>,
}

/// Communication identity number: one session or call of a warrant's target (TS 102 232-1 clause 5.2.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cin(pub u32);

/// Which handover interface a PDU takes (TS 101 671 clause 5; HI1 notifications go over HI2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Handover {
    /// Intercept related information: what happened.
    Hi2,
    /// Content of communication: the packets.
    Hi3,
}

/// Place of a PDU in the product of a warrant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number {
    /// The session or call; zero for what belongs to none.
    pub cin: Cin,
    /// Counts from zero for each (LIID, CIN) on each handover interface (TS 102 232-1 clause 5.2.5).
    pub sequence: u32,
}

/// Which way content went, seen from the target (TS 102 232-1 clause 5.3, payloadDirection).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The target sent it.
    FromTarget,
    /// The target was to receive it.
    ToTarget,
    /// It is not known.
    Indeterminate,
}
