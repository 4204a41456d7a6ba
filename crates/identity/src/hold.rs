//! An address of a session, and its bytes among what is known of it.

use ringtap_model::{HeldAddress, Nanos, SessionEnd};

use crate::facts::{AddressKind, Assigned};
use crate::prefix::Prefix;

/// When, and which frame says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    pub(crate) time: Nanos,
    /// Number of the frame; `None` where it follows from silence.
    pub(crate) frame: Option<u64>,
}

/// An address of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hold {
    pub(crate) assigned: Assigned,
    pub(crate) from: Moment,
    pub(crate) until: Option<(Moment, SessionEnd)>,
}

/// Which parts follow.
const PORTS: u8 = 1;
const INTERFACE: u8 = 2;
const FROM_FRAME: u8 = 4;
const UNTIL: u8 = 8;
const UNTIL_FRAME: u8 = 16;

impl Hold {
    /// Its bytes: which parts it has, kind, prefix, then those parts.
    pub(crate) fn to_bytes(self) -> Vec<u8> {
        let Self { assigned: Assigned { kind, prefix, ports, interface }, from, until } = self;
        let until_frame = until.and_then(|(moment, _)| moment.frame);
        let parts = [
            (ports.is_some(), PORTS),
            (interface.is_some(), INTERFACE),
            (from.frame.is_some(), FROM_FRAME),
            (until.is_some(), UNTIL),
            (until_frame.is_some(), UNTIL_FRAME),
        ];
        let parts = parts.into_iter().filter(|(has, _)| *has).fold(0, |parts, (_, part)| parts | part);
        let mut bytes = vec![parts, kind as u8];
        prefix.write(&mut bytes);
        if let Some((first, last)) = ports {
            bytes.extend([first.to_le_bytes(), last.to_le_bytes()].concat());
        }
        bytes.extend(interface.into_iter().flatten());
        bytes.extend(from.time.0.to_le_bytes());
        bytes.extend(from.frame.into_iter().flat_map(u64::to_le_bytes));
        if let Some((moment, end)) = until {
            bytes.push(end as u8);
            bytes.extend(moment.time.0.to_le_bytes());
        }
        bytes.extend(until_frame.into_iter().flat_map(u64::to_le_bytes));
        bytes
    }

    /// Reads what [`to_bytes`](Self::to_bytes) writes.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let (&[parts, kind], mut rest) = bytes.split_first_chunk()?;
        let has = |part| parts & part != 0;
        let kind = *AddressKind::ALL.get(usize::from(kind))?;
        let prefix = Prefix::read(&mut rest)?;
        let ports = match has(PORTS) {
            true => Some((u16::from_le_bytes(take(&mut rest)?), u16::from_le_bytes(take(&mut rest)?))),
            false => None,
        };
        let interface = if has(INTERFACE) { Some(take(&mut rest)?) } else { None };
        let mut number = || take(&mut rest).map(u64::from_le_bytes);
        let from =
            Moment { time: Nanos(number()?), frame: if has(FROM_FRAME) { Some(number()?) } else { None } };
        let assigned = Assigned { kind, prefix, ports, interface };
        if !has(UNTIL) {
            return Some(Self { assigned, from, until: None });
        }
        let [end] = take(&mut rest)?;
        let end = *SessionEnd::ALL.get(usize::from(end))?;
        let mut number = || take(&mut rest).map(u64::from_le_bytes);
        let time = Nanos(number()?);
        let frame = if has(UNTIL_FRAME) { Some(number()?) } else { None };
        Some(Self { assigned, from, until: Some((Moment { time, frame }, end)) })
    }

    /// As a record has it.
    pub(crate) fn held(&self) -> HeldAddress {
        let Self { assigned: Assigned { kind, prefix, ports, interface }, from, until } = *self;
        HeldAddress {
            network: prefix.to_string(),
            first_port: ports.map(|(first, _)| first),
            last_port: ports.map(|(_, last)| last),
            attribute: AddressKind::name(kind).to_owned(),
            interface_id: interface.map(|id| hex(&id)),
            from: from.time,
            from_frame: from.frame.unwrap_or_default(),
            until: until.map(|(moment, _)| moment.time),
            until_frame: until.and_then(|(moment, _)| moment.frame),
            end_cause: until.map(|(_, cause)| cause),
        }
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, after) = rest.split_first_chunk()?;
    *rest = after;
    Some(*taken)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(
            kind in 0..AddressKind::ALL.len(),
            address: std::net::IpAddr,
            bits in 0..=128_u8,
            ports: Option<(u16, u16)>,
            interface: Option<[u8; 8]>,
            from: (u64, Option<u64>),
            until: Option<(u64, Option<u64>)>,
            end in 0..SessionEnd::ALL.len(),
        ) {
            let moment = |(time, frame)| Moment { time: Nanos(time), frame };
            let prefix = Prefix::new(address, bits);
            let assigned = Assigned { kind: AddressKind::ALL[kind], prefix, ports, interface };
            let until = until.map(|until| (moment(until), SessionEnd::ALL[end]));
            let hold = Hold { assigned, from: moment(from), until };
            let bytes = hold.to_bytes();
            prop_assert_eq!(Hold::read(&bytes), Some(hold));
            prop_assert_eq!(Hold::read(&bytes[..bytes.len() - 1]), None);
        }
    }
}
