//! When a service counts as out of service, and how much is remembered.

use ringtap_model::Nanos;

/// T1 of RFC 3261 section 17.1.1.1: after this time without an answer a client repeats its request.
pub const T1: Nanos = Nanos::from_millis(500);
/// Timers B and F of RFC 3261 section 17.1: 64 T1, after which a client gives a request up.
pub const GIVEN_UP: Nanos = Nanos::from_secs(32);

/// What the judgement depends on, and ceilings of the tables.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Requests have to wait so long, and nothing may be answered meanwhile, before that is an outage.
    pub after: Nanos,
    /// Between an answer and the next request the service counts as observed for at most so long.
    pub observe: Nanos,
    /// Services that are followed at once.
    pub services: usize,
    /// Transactions that are remembered at once.
    pub transactions: usize,
    /// Outages that are kept until the end.
    pub outages: usize,
    /// Endpoints of telephones, known by their registrations.
    pub telephones: usize,
    /// Calls whose facts are kept until the end, for the effects of failovers.
    pub calls: usize,
    /// REGISTER requests that wait, and that waited.
    pub registers: usize,
    /// Gaps in media that are kept until the end.
    pub gaps: usize,
    /// Addresses that are told apart as clients of services, of all of them together.
    pub clients: usize,
    /// Services and telephones that were silent for so long are forgotten; never where None.
    pub forget: Option<Nanos>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            after: T1,
            observe: Nanos::from_secs(10),
            services: 100_000,
            transactions: 500_000,
            outages: 100_000,
            telephones: 500_000,
            calls: 250_000,
            registers: 100_000,
            gaps: 100_000,
            clients: 4_000_000,
            forget: None,
        }
    }
}
