//! One user while its records are counted.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use ringtap_model::{Endpoint, Failure, MethodCount, Nanos, User};

/// Different final codes of one user that are counted on their own, and different methods.
const MOST: usize = 32;

/// A user whose records are counted.
#[derive(Debug)]
pub(crate) struct Entry {
    /// What only adds up; the rest is beside it.
    pub(crate) user: User,
    pub(crate) display_name: Newest<String>,
    pub(crate) contact: Newest<String>,
    pub(crate) user_agent: Newest<String>,
    pub(crate) address: Newest<Endpoint>,
    pub(crate) registered_until: Newest<Option<Nanos>>,
    methods: BTreeMap<String, u32>,
    failures: BTreeMap<u16, u32>,
}

/// The value of the newest record that has one. Of two at the same time the greater counts, so that their
/// order does not.
#[derive(Debug)]
pub(crate) struct Newest<T>(Option<(Nanos, T)>);

impl<T: Clone + Ord> Newest<T> {
    /// A record of that time has this value, or none.
    pub(crate) fn set(&mut self, value: Option<&T>, time: Nanos) {
        let Some(value) = value else { return };
        if self.0.as_ref().is_none_or(|(other, old)| (*other, old) < (time, value)) {
            self.0 = Some((time, value.clone()));
        }
    }

    fn value(self) -> Option<T> {
        self.0.map(|(_, value)| value)
    }
}

impl Entry {
    /// Seen from `first` to `last`.
    pub(crate) fn new(aor: String, first: Nanos, last: Nanos) -> Self {
        let user = User {
            aor,
            display_name: None,
            contact: None,
            user_agent: None,
            address: None,
            registered_until: None,
            registrations: 0,
            registrations_failed: 0,
            calls_made: 0,
            calls_made_answered: 0,
            calls_made_rejected: 0,
            calls_received: 0,
            calls_received_answered: 0,
            calls_received_rejected: 0,
            messages_received: 0,
            methods: Vec::new(),
            failures: Vec::new(),
            first,
            last,
        };
        Self {
            user,
            display_name: Newest(None),
            contact: Newest(None),
            user_agent: Newest(None),
            address: Newest(None),
            registered_until: Newest(None),
            methods: BTreeMap::new(),
            failures: BTreeMap::new(),
        }
    }

    /// It began so many transactions of a method.
    pub(crate) fn method(&mut self, method: &str, times: u32) {
        if let Some(count) = self.methods.get_mut(method) {
            add(count, times);
        } else if self.methods.len() < MOST && times > 0 {
            self.methods.insert(method.to_owned(), times);
        }
    }

    /// It failed so often with a final code.
    pub(crate) fn fail(&mut self, code: u16, times: u32) {
        if times > 0 && (self.failures.len() < MOST || self.failures.contains_key(&code)) {
            add(self.failures.entry(code).or_default(), times);
        }
    }

    /// Its record.
    pub(crate) fn into_record(self) -> User {
        let methods = self.methods.into_iter().map(|(method, count)| MethodCount { method, count });
        let mut methods: Vec<MethodCount> = methods.collect();
        methods.sort_by_key(|method| Reverse(method.count));
        let failures = self.failures.into_iter().map(|(code, count)| Failure { code, count });
        let mut failures: Vec<Failure> = failures.collect();
        failures.sort_by_key(|failure| Reverse(failure.count));
        User {
            display_name: self.display_name.value(),
            contact: self.contact.value(),
            user_agent: self.user_agent.value(),
            address: self.address.value(),
            registered_until: self.registered_until.value().flatten(),
            methods,
            failures,
            ..self.user
        }
    }
}

/// Adds to a count, which stops at its highest value.
pub(crate) fn add(count: &mut u32, times: u32) {
    *count = count.saturating_add(times);
}
