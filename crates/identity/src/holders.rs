//! Who had an address, and when.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;

use ringtap_model::{HeldAddress, Identity, Nanos};

use crate::prefix::Prefix;

/// Looks up who had an address at a time, among records.
#[derive(Debug)]
pub struct Holders<'a> {
    records: &'a [Identity],
    /// By prefix: number of the record, and of its address.
    by_prefix: HashMap<Prefix, Vec<(usize, usize)>>,
    /// Lengths of the prefixes that there are, mapped ones included.
    lengths: BTreeSet<u8>,
}

/// Somebody who had the address.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Holder<'a> {
    /// The session.
    pub identity: &'a Identity,
    /// The address, prefix or block that the asked one lies in, and the packets that prove it.
    pub held: &'a HeldAddress,
}

impl<'a> Holders<'a> {
    /// Of these records.
    pub fn new(records: &'a [Identity]) -> Self {
        let mut holders = Self { records, by_prefix: HashMap::new(), lengths: BTreeSet::new() };
        for (number, record) in records.iter().enumerate() {
            for (address, held) in record.addresses.iter().enumerate() {
                let Some(prefix) = Prefix::parse(&held.network) else { continue };
                holders.lengths.insert(prefix.bits());
                holders.by_prefix.entry(prefix).or_default().push((number, address));
            }
        }
        holders
    }

    /// Everybody who had the address at that time, or at any: those of the longest prefix first, of these the
    /// latest to get it first. With a port, those whose block has it, and those who have all ports.
    pub fn find(&self, address: IpAddr, port: Option<u16>, at: Option<Nanos>) -> Vec<Holder<'a>> {
        let host = Prefix::host(address);
        let mut found: Vec<Holder<'a>> = Vec::new();
        for bits in self.lengths.iter().rev() {
            let Some(held) = self.by_prefix.get(&host.widened(*bits)) else { continue };
            let from = found.len();
            for (record, address) in held {
                let Some(identity) = self.records.get(*record) else { continue };
                let Some(held) = identity.addresses.get(*address) else { continue };
                let had = at.is_none_or(|at| held.from <= at && held.until.is_none_or(|until| at < until));
                if had && has_port(held, port) {
                    found.push(Holder { identity, held });
                }
            }
            found[from..].sort_by_key(|holder| Reverse(holder.held.from));
        }
        found
    }
}

fn has_port(held: &HeldAddress, port: Option<u16>) -> bool {
    match (held.first_port, held.last_port, port) {
        (Some(first), Some(last), Some(port)) => (first..=last).contains(&port),
        _ => true,
    }
}
