//! Addresses whose packets a sink wants: the targets of interception.
//!
//! [`Targets`] is shared by whoever knows the targets, one writer, and every engine. A change takes effect
//! with the next frame; nothing is stopped or built anew. A frame is offered for each of its IP headers,
//! those of tunnels too, that has such an address. The set is a filter: a sink compares addresses itself.
//! Endpoints of media are in it by address and port, so that what else a media proxy carries is not offered.

mod filter;
mod search;

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ringtap_model::{Endpoint, Frame};
use ringtap_wire::frame::{self, Hosts};

use filter::{Filter, FilterView, Members};

/// The addresses, of all targets. Readers never wait.
///
/// INVARIANT: an address that was added, and not removed as often, is found.
#[derive(Debug)]
pub struct Targets {
    /// Networks and endpoints that were added and not removed.
    entries: AtomicUsize,
    /// Endpoints of media among them.
    endpoints: AtomicUsize,
    /// How often something was added that was not there.
    additions: AtomicU64,
    /// What was added or removed so far.
    changes: AtomicU64,
    ipv4: Filter,
    /// IPv6 by its first 64 bits: addresses and prefixes of at least that length.
    links: Filter,
    /// IPv6 by its first 48 bits: shorter prefixes.
    sites: Filter,
    /// Endpoints of media, and port 0 of each of their addresses: later fragments have no ports.
    media: Filter,
    /// There are networks too wide for a filter: every packet of that version is offered.
    all_ipv4: AtomicBool,
    all_ipv6: AtomicBool,
    writer: Mutex<Writer>,
}

/// What only the writer needs.
#[derive(Debug, Default)]
struct Writer {
    ipv4: Members,
    links: Members,
    sites: Members,
    media: Members,
    wide_ipv4: usize,
    wide_ipv6: usize,
}

/// Networks with more keys than this are not entered one by one.
const MOST_KEYS: u64 = 4096;

impl Targets {
    /// None yet. The seed is any number that senders do not know.
    pub fn new(seed: u64) -> Self {
        Self {
            entries: AtomicUsize::new(0),
            endpoints: AtomicUsize::new(0),
            additions: AtomicU64::new(0),
            changes: AtomicU64::new(0),
            ipv4: Filter::new(seed),
            links: Filter::new(seed.wrapping_add(1)),
            sites: Filter::new(seed.wrapping_add(2)),
            media: Filter::new(seed.wrapping_add(3)),
            all_ipv4: AtomicBool::new(false),
            all_ipv6: AtomicBool::new(false),
            writer: Mutex::default(),
        }
    }

    /// Wants the packets of an address, or of a network with so many leading bits in common. What is added
    /// twice has to be removed twice.
    pub fn add(&self, address: IpAddr, bits: u8) {
        let mut writer = self.writer();
        let mut is_new = false;
        match Keys::of(address, bits) {
            Keys::Ipv4(keys) => keys.for_each(|key| is_new |= writer.ipv4.add(key, &self.ipv4)),
            Keys::Link(key) => is_new = writer.links.add(key, &self.links),
            Keys::Sites(keys) => keys.for_each(|key| is_new |= writer.sites.add(key, &self.sites)),
            Keys::AllIpv4 => {
                writer.wide_ipv4 += 1;
                is_new = writer.wide_ipv4 == 1;
            }
            Keys::AllIpv6 => {
                writer.wide_ipv6 += 1;
                is_new = writer.wide_ipv6 == 1;
            }
        }
        self.open(&writer);
        self.count_added(is_new);
    }

    /// No longer wants what was added by the same address and length.
    pub fn remove(&self, address: IpAddr, bits: u8) {
        let mut writer = self.writer();
        match Keys::of(address, bits) {
            Keys::Ipv4(keys) => keys.for_each(|key| writer.ipv4.remove(key, &self.ipv4)),
            Keys::Link(key) => writer.links.remove(key, &self.links),
            Keys::Sites(keys) => keys.for_each(|key| writer.sites.remove(key, &self.sites)),
            Keys::AllIpv4 => writer.wide_ipv4 = writer.wide_ipv4.saturating_sub(1),
            Keys::AllIpv6 => writer.wide_ipv6 = writer.wide_ipv6.saturating_sub(1),
        }
        self.open(&writer);
        self.count_removed();
    }

    /// Wants the datagrams from and to an endpoint of media. What is added twice has to be removed twice.
    pub fn add_media(&self, end: Endpoint) {
        let mut writer = self.writer();
        let mut is_new = false;
        for port in [0, end.port] {
            is_new |= writer.media.add(media_key(end.ip, port), &self.media);
        }
        self.endpoints.fetch_add(1, Ordering::Release);
        self.count_added(is_new);
    }

    /// No longer wants those of an endpoint that was added.
    pub fn remove_media(&self, end: Endpoint) {
        let mut writer = self.writer();
        for port in [0, end.port] {
            writer.media.remove(media_key(end.ip, port), &self.media);
        }
        count_down(&self.endpoints);
        self.count_removed();
    }

    /// How often something was added that was not there: packets that passed before the last time may have to
    /// be looked at again ([`Targets::concerns`]).
    pub fn additions(&self) -> u64 {
        self.additions.load(Ordering::Acquire)
    }

    /// Whether there is any.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.load(Ordering::Acquire) == 0
    }

    /// The set as it is until the next change.
    pub(crate) fn view(&self) -> TargetsView<'_> {
        // Read first: a change meanwhile is one that the view does not have.
        let changes = self.changes.load(Ordering::Acquire);
        TargetsView {
            targets: self,
            changes,
            is_empty: self.is_empty(),
            ipv4: self.ipv4.view(),
            links: self.links.view(),
            sites: self.sites.view(),
            media: (self.endpoints.load(Ordering::Acquire) > 0).then(|| self.media.view()),
            all_ipv4: self.all_ipv4.load(Ordering::Relaxed),
            all_ipv6: self.all_ipv6.load(Ordering::Relaxed),
        }
    }

    /// Counted last: whoever sees the count sees what was entered.
    fn count_added(&self, is_new: bool) {
        self.entries.fetch_add(1, Ordering::Release);
        self.additions.fetch_add(u64::from(is_new), Ordering::Release);
        self.changes.fetch_add(1, Ordering::Release);
    }

    fn count_removed(&self) {
        count_down(&self.entries);
        self.changes.fetch_add(1, Ordering::Release);
    }

    fn open(&self, writer: &Writer) {
        self.all_ipv4.store(writer.wide_ipv4 > 0, Ordering::Relaxed);
        self.all_ipv6.store(writer.wide_ipv6 > 0, Ordering::Relaxed);
    }

    fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is asked of each frame: [`Targets`], read once for many frames.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TargetsView<'a> {
    targets: &'a Targets,
    changes: u64,
    is_empty: bool,
    ipv4: FilterView<'a>,
    links: FilterView<'a>,
    sites: FilterView<'a>,
    /// None while there are no endpoints of media.
    media: Option<FilterView<'a>>,
    all_ipv4: bool,
    all_ipv6: bool,
}

impl<'a> TargetsView<'a> {
    /// Whether the set has changed since. HOT.
    #[inline]
    pub(crate) fn is_stale(&self) -> bool {
        self.targets.changes.load(Ordering::Acquire) != self.changes
    }

    /// Whether anything is wanted: if not, frames are not asked about. HOT.
    #[inline]
    pub(crate) fn has_any(&self) -> bool {
        !self.is_empty
    }

    /// The set as it is now.
    pub(crate) fn again(&self) -> Self {
        self.targets.view()
    }

    /// The whole set.
    pub(crate) fn targets(&self) -> &'a Targets {
        self.targets
    }

    /// Whether a packet between these two may be one's. HOT.
    #[inline]
    pub(crate) fn may_have(&self, hosts: Hosts) -> bool {
        match hosts {
            Hosts::V4(src, dst) => self.may_have_v4(src, dst),
            Hosts::V6(src, dst) => {
                self.links.may_have([link_key(src), link_key(dst)])
                    | self.sites.may_have([site_key(src), site_key(dst)])
                    | self.all_ipv6
            }
        }
    }

    /// The same of IPv4. HOT.
    #[inline]
    pub(crate) fn may_have_v4(&self, src: u32, dst: u32) -> bool {
        self.ipv4.may_have([src.into(), dst.into()]) | self.all_ipv4
    }

    /// Whether a packet between these hosts, with these ports where they are known, may be media. HOT.
    #[inline]
    pub(crate) fn may_be_media(&self, hosts: Hosts, ports: Option<(u16, u16)>) -> bool {
        let Some(media) = &self.media else { return false };
        let (src, dst) = match hosts {
            Hosts::V4(src, dst) => (IpAddr::V4(src.into()), IpAddr::V4(dst.into())),
            Hosts::V6(src, dst) => (IpAddr::V6(src.into()), IpAddr::V6(dst.into())),
        };
        let (src_port, dst_port) = ports.unwrap_or_default();
        media.may_have([media_key(src, src_port), media_key(dst, dst_port)])
    }

    /// Whether a packet between these hosts may be wanted, by either. HOT.
    #[inline]
    pub(crate) fn may_concern(&self, hosts: Hosts, ports: Option<(u16, u16)>) -> bool {
        self.may_have(hosts) || self.may_be_media(hosts, ports)
    }

    /// Whether a frame of which nothing is known may have a packet of one. What may carry a tunnel may.
    #[inline(never)]
    pub(crate) fn may_be_in(&self, frame: &Frame<'_>) -> bool {
        let hosts = || frame::usual_hosts(frame.link.0, frame.data);
        !self.is_empty && hosts().is_none_or(|hosts| self.may_concern(hosts, None))
    }
}

/// Removing what was never added leaves none.
fn count_down(entries: &AtomicUsize) {
    let _ = entries.fetch_update(Ordering::Release, Ordering::Relaxed, |entries| entries.checked_sub(1));
}

#[inline]
fn media_key(address: IpAddr, port: u16) -> u64 {
    let address = match address {
        IpAddr::V4(address) => u64::from(address.to_bits()) << 16,
        IpAddr::V6(address) => {
            let (site, host) = ((address.to_bits() >> 64) as u64, address.to_bits() as u64);
            (site.rotate_left(29) ^ host).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        }
    };
    address ^ u64::from(port)
}

/// What is entered for a network.
enum Keys {
    Ipv4(std::ops::RangeInclusive<u64>),
    Link(u64),
    Sites(std::ops::RangeInclusive<u64>),
    AllIpv4,
    AllIpv6,
}

impl Keys {
    fn of(address: IpAddr, bits: u8) -> Self {
        // Of the keys of so many bits, those that have the network's in common.
        let range = |key: u64, free: u32| {
            (free <= MOST_KEYS.ilog2()).then(|| key >> free << free..=key | !(!0 << free))
        };
        match address {
            IpAddr::V4(address) => range(u64::from(address.to_bits()), 32 - u32::from(bits.min(32)))
                .map_or(Self::AllIpv4, Self::Ipv4),
            IpAddr::V6(address) if bits >= 64 => Self::Link(link_key(address.to_bits())),
            IpAddr::V6(address) => {
                let free = 48 - u32::from(bits.min(48));
                range(site_key(address.to_bits()), free).map_or(Self::AllIpv6, Self::Sites)
            }
        }
    }
}

#[inline]
fn link_key(address: u128) -> u64 {
    (address >> 64) as u64
}

#[inline]
fn site_key(address: u128) -> u64 {
    (address >> 80) as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn has(targets: &Targets, address: &str) -> bool {
        targets.view().may_have(hosts(address.parse().unwrap()))
    }

    /// Of a packet to the address, from one that is no target.
    fn hosts(address: IpAddr) -> Hosts {
        match address {
            IpAddr::V4(address) => Hosts::V4(0, address.to_bits()),
            IpAddr::V6(address) => Hosts::V6(0, address.to_bits()),
        }
    }

    #[test]
    fn addresses_and_networks_come_and_go() {
        let targets = Targets::new(3);
        assert!(targets.is_empty());
        for (network, bits, inside, outside) in [
            ("192.0.2.7", 32, "192.0.2.7", "192.0.2.8"),
            ("192.0.2.0", 28, "192.0.2.15", "192.0.2.16"),
            ("10.16.0.0", 20, "10.16.15.255", "10.16.16.0"),
            ("2001:db8:7::1", 128, "2001:db8:7::1", "2001:db8:7:1::1"),
            ("2001:db8:7:3::", 64, "2001:db8:7:3:ffff::1", "2001:db8:7:4::1"),
            ("2001:db8:7:100::", 56, "2001:db8:7:1ff::1", "2001:db8:8::1"),
            ("2001:db8:10::", 44, "2001:db8:1f:ffff::1", "2001:db8:20::1"),
        ] {
            targets.add(network.parse().unwrap(), bits);
            assert!(!targets.is_empty());
            assert!(has(&targets, inside) && !has(&targets, outside), "{network}/{bits}");
            targets.add(network.parse().unwrap(), bits);
            targets.remove(network.parse().unwrap(), bits);
            assert!(has(&targets, inside), "{network}/{bits} was added twice");
            targets.remove(network.parse().unwrap(), bits);
            assert!(!has(&targets, inside) && targets.is_empty(), "{network}/{bits}");
        }
    }

    #[test]
    fn a_network_too_wide_for_a_filter_has_every_packet_offered() {
        let targets = Targets::new(3);
        targets.add("10.0.0.0".parse().unwrap(), 8);
        assert!(has(&targets, "192.0.2.1") && !has(&targets, "2001:db8::1"));
        targets.add("2001:db8::".parse().unwrap(), 32);
        assert!(has(&targets, "2001:dead::1"));
        targets.remove("10.0.0.0".parse().unwrap(), 8);
        assert!(!has(&targets, "10.0.0.1") && has(&targets, "2001:db8::1"));
    }

    #[test]
    fn an_endpoint_of_media_is_wanted_by_its_port() {
        for address in ["192.0.2.7", "2001:db8:7::1"] {
            let targets = Targets::new(3);
            let end = Endpoint::new(address.parse().unwrap(), 4000);
            let wants = |ports| targets.view().may_be_media(hosts(end.ip), ports);
            targets.add_media(end);
            targets.add_media(end);
            assert!(wants(Some((9, 4000))) && wants(None) && !wants(Some((9, 4001))), "{address}");
            assert_eq!(targets.additions(), 1, "{address} was there when it was added again");
            targets.remove_media(end);
            assert!(wants(Some((9, 4000))), "{address} was added twice");
            targets.remove_media(end);
            assert!(!wants(Some((9, 4000))) && !wants(None) && targets.is_empty(), "{address}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_inside_a_network_is_found(seed: u64, address: IpAddr, bits in 0u8..=128, host: u128) {
            let inside: IpAddr = match address {
                IpAddr::V4(own) => {
                    let free = u32::MAX.checked_shr(bits.min(32).into()).unwrap_or(0);
                    (own.to_bits() & !free | host as u32 & free).to_be_bytes().into()
                }
                IpAddr::V6(own) => {
                    let free = u128::MAX.checked_shr(bits.into()).unwrap_or(0);
                    (own.to_bits() & !free | host & free).to_be_bytes().into()
                }
            };
            let targets = Targets::new(seed);
            targets.add(address, bits);
            prop_assert!(targets.view().may_have(hosts(inside)));
            targets.remove(address, bits);
            prop_assert!(!targets.view().may_have(hosts(inside)));
        }
    }
}
