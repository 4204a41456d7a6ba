//! A table that frames come to.

use std::net::IpAddr;

use ringtap_identity::{Holders, Limits, Secrets, Sessions};
use ringtap_model::{Identity, Nanos};
use ringtap_testing::pppoe::Link;

/// A table that frames come to, numbered from 1.
pub(crate) struct Wire {
    pub(crate) sessions: Sessions,
    pub(crate) frame: u64,
}

impl Wire {
    pub(crate) fn new() -> Self {
        Self::with(Limits::default())
    }

    pub(crate) fn with(limits: Limits) -> Self {
        let sessions = Sessions::new(limits, Secrets::default()).noting_changes().following_pppoe();
        Self { sessions, frame: 0 }
    }

    pub(crate) fn frame(&mut self, second: u64, frame: &[u8]) -> u64 {
        self.frame += 1;
        self.sessions.pppoe(ETHERNET, frame, at(second), self.frame);
        self.frame
    }

    /// The number of the last frame.
    pub(crate) fn login(&mut self, second: u64, link: &Link, user: &str, address: [u8; 4]) -> u64 {
        link.login(user, address, &[]).iter().for_each(|frame| _ = self.frame(second, frame));
        self.frame
    }

    /// All records, the earliest first.
    pub(crate) fn close(mut self) -> Vec<Identity> {
        let mut records = self.sessions.close();
        records.sort_by_key(|record| record.start);
        records
    }
}

/// Seconds of the tests begin long after the epoch.
pub(crate) fn at(second: u64) -> Nanos {
    Nanos::from_secs(1_795_226_400 + second)
}

/// Users that had the address half a second after that second.
pub(crate) fn who(records: &[Identity], address: &str, second: u64) -> Vec<String> {
    let at = at(second) + Nanos::from_millis(500);
    let address: IpAddr = address.parse().unwrap();
    let found = Holders::new(records).find(address, None, Some(at));
    found.iter().map(|holder| holder.identity.user.clone().unwrap_or_default()).collect()
}

pub(crate) const ETHERNET: u16 = 1;
