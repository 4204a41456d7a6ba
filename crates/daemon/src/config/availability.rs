//! `[availability]`: outages of telephone services, and failovers.

use ringtap_availability::{Settings, T1};
use ringtap_model::{Nanos, Network};

use super::key::{Bounds, DAY, KeyProblem, MILLISECOND, section};
use super::values::{NetworkPrefix, Span};

section! {
    /// Outages of telephone services and failovers, which `ringtap availability --store` shows: when a
    /// service answered nobody, and how long each was available.
    #[name = "availability"]
    pub(crate) struct Availability {
        /// Follow services. What gives a failover its cause is seen only where the filter of `[capture]` lets
        /// ARP and ICMPv6 through, too: `arp or icmp6`.
        follow: bool = false,
        /// How long nothing may be answered, while requests wait, before that is an outage.
        #[bounds = Bounds::between(50 * MILLISECOND, 600_000 * MILLISECOND).example("500ms")]
        after: Span = Span(T1),
        /// For how long after an answer a service that nobody asks still counts as observed.
        #[bounds = Bounds::between(1_000 * MILLISECOND, DAY).example("60s")]
        observe: Span = Span(Nanos::from_secs(10)),
        /// Addresses of our services: outages of others are not shown. Empty shows all.
        services: Vec<NetworkPrefix> = Vec::new(),
        /// Services that are followed at once. Requests to others are counted, and not followed.
        #[bounds = Bounds::between(100, 10_000_000).unit("services")]
        max_services: usize = 100_000,
        /// Requests that are remembered at once, for twice 32 seconds each. Beyond that, the oldest give way.
        #[bounds = Bounds::between(1_000, 50_000_000).unit("requests")]
        max_requests: usize = 500_000,
        /// Calls that are remembered at once, for what failovers do to them: those in progress and those of
        /// the last minutes. What becomes of further ones is not told.
        #[bounds = Bounds::between(100, 10_000_000).unit("calls")]
        max_calls: usize = 250_000,
    }
}

impl Availability {
    /// How services are followed, and which addresses are ours; None where they are not.
    pub(crate) fn settings(&self) -> Option<(Settings, Vec<Network>)> {
        let settings = Settings {
            after: self.after.0,
            observe: self.observe.0,
            services: self.max_services,
            transactions: self.max_requests,
            calls: self.max_calls,
            forget: Some(Nanos::from_secs(86_400)),
            ..Settings::default()
        };
        let ours = self.services.iter().map(|network| network.0).collect();
        self.follow.then_some((settings, ours))
    }

    /// What is set must have an effect.
    pub(super) fn check(&self) -> Result<(), KeyProblem> {
        if !self.services.is_empty() && !self.follow {
            let problem = "has no effect without follow = true: set both, or neither";
            return Err(("availability", "services", problem.to_owned()));
        }
        Ok(())
    }
}
