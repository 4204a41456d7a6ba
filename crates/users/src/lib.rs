//! Users: what each address of record did, counted from records.
//!
//! Not here: packets. A user's registration and its calls have different Call-IDs, so several workers see
//! them; the records of all workers meet where they are printed or stored, and there is one of each.
//!
//! The one invariant: never more users than the ceiling; those that were not seen for longest give way, and
//! are returned. Below the ceiling the order of records changes nothing.
//!
//! ```
//! use ringtap_users::Users;
//!
//! let users = Users::new(1_000);
//! assert_eq!(users.into_records().len(), 0);
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `entry` | one user while its records are counted |
#![forbid(unsafe_code)]

mod entry;

use std::collections::HashMap;

use ringtap_model::{Call, CallState, Message, Nanos, Registration, RegistrationState, Transaction, User};

use entry::{Entry, add};

/// The share of users that give way at the ceiling: finding those costs a look at all.
const SHARE: usize = 8;

/// Users by their address of record.
#[derive(Debug)]
pub struct Users {
    ceiling: usize,
    users: HashMap<String, Entry>,
    evicted: Vec<User>,
}

impl Users {
    /// For up to `ceiling` users at once, 1 or more.
    pub fn new(ceiling: usize) -> Self {
        Self { ceiling: ceiling.max(1), users: HashMap::new(), evicted: Vec::new() }
    }

    /// Counts a registration.
    pub fn registration(&mut self, registration: &Registration) {
        let Registration { first, last, code, attempts, failed, .. } = *registration;
        let entry = self.entry(address(&registration.aor), first, last);
        // Records of earlier versions count requests alone.
        let (attempts, failed) = (attempts.unwrap_or(1), failed.unwrap_or_default());
        // Which codes the others had is not in the record.
        let last_failed = failed > 0 && code >= 300;
        entry.fail(code, u32::from(last_failed));
        entry.fail(0, failed - u32::from(last_failed));
        entry.method("REGISTER", attempts);
        add(&mut entry.user.registrations, attempts);
        add(&mut entry.user.registrations_failed, failed);
        entry.contact.set(registration.contact.as_ref(), last);
        entry.user_agent.set(registration.user_agent.as_ref(), last);
        entry.address.set(Some(&registration.src), last);
        let is_bound = matches!(registration.state, RegistrationState::Active | RegistrationState::Expired);
        entry.registered_until.set(Some(&registration.expires.filter(|_| is_bound)), last);
    }

    /// Counts a call, for both of its users: those of From and of To.
    pub fn call(&mut self, call: &Call) {
        let Some(start) = call.start() else { return };
        let last = call.end.or(call.answer).unwrap_or(start);
        let answered = u32::from(call.answer.is_some());
        let rejected = u32::from(call.state == CallState::Failed);
        if let Some(from) = party(call.from_user.as_deref(), call.from_host.as_deref()) {
            let entry = self.entry(from, start, last);
            let has_failed = matches!(call.state, CallState::Failed | CallState::Timeout) && answered == 0;
            entry.fail(call.final_code, u32::from(has_failed));
            entry.method("INVITE", 1);
            add(&mut entry.user.calls_made, 1);
            add(&mut entry.user.calls_made_answered, answered);
            add(&mut entry.user.calls_made_rejected, rejected);
            entry.display_name.set(call.from_display.as_ref(), start);
            entry.user_agent.set(call.user_agent_caller.as_ref(), start);
            entry.address.set(Some(&call.src), start);
        }
        if let Some(to) = party(call.to_user.as_deref(), call.to_host.as_deref()) {
            let entry = self.entry(to, start, last);
            add(&mut entry.user.calls_received, 1);
            add(&mut entry.user.calls_received_answered, answered);
            add(&mut entry.user.calls_received_rejected, rejected);
            // Of a call that nobody answered it may be a server's.
            entry.user_agent.set(call.user_agent_callee.as_ref().filter(|_| answered > 0), start);
        }
    }

    /// Counts a SIP MESSAGE, for both of its users.
    pub fn message(&mut self, message: &Message) {
        let Message { time, code, src, .. } = *message;
        if let Some(from) = message.from.as_deref().and_then(user_of) {
            let entry = self.entry(from, time, time);
            entry.fail(code, u32::from(is_failure(code)));
            entry.method("MESSAGE", 1);
            entry.address.set(Some(&src), time);
        }
        if let Some(to) = message.to.as_deref().and_then(user_of) {
            add(&mut self.entry(to, time, time).user.messages_received, 1);
        }
    }

    /// Counts another transaction outside of calls, for the user of From.
    pub fn transaction(&mut self, transaction: &Transaction) {
        let Transaction { time, code, src, .. } = *transaction;
        let Some(from) = transaction.from.as_deref().and_then(user_of) else { return };
        let entry = self.entry(from, time, time);
        entry.fail(code, u32::from(is_failure(code)));
        entry.method(&transaction.method, 1);
        entry.user_agent.set(transaction.user_agent.as_ref(), time);
        entry.address.set(Some(&src), time);
    }

    /// Those that had to give way since this was last asked, the earliest seen first.
    pub fn take_evicted(&mut self) -> Vec<User> {
        std::mem::take(&mut self.evicted)
    }

    /// All users that are left, by address.
    pub fn into_records(self) -> Vec<User> {
        let mut users: Vec<User> = self.users.into_values().map(Entry::into_record).collect();
        users.sort_by(|one, other| one.aor.cmp(&other.aor));
        users
    }

    /// The user of an address, seen from `first` to `last`.
    fn entry(&mut self, aor: String, first: Nanos, last: Nanos) -> &mut Entry {
        if self.users.len() >= self.ceiling && !self.users.contains_key(&aor) {
            self.make_room();
        }
        let entry = self.users.entry(aor).or_insert_with_key(|aor| Entry::new(aor.clone(), first, last));
        entry.user.first = entry.user.first.min(first);
        entry.user.last = entry.user.last.max(last);
        entry
    }

    /// The eighth that was not seen for longest gives way.
    #[cold]
    fn make_room(&mut self) {
        let mut seen: Vec<(Nanos, String)> =
            self.users.iter().map(|(aor, entry)| (entry.user.last, aor.clone())).collect();
        seen.sort_unstable();
        for (_, aor) in seen.into_iter().take(self.ceiling.div_ceil(SHARE)) {
            self.evicted.extend(self.users.remove(&aor).map(Entry::into_record));
        }
    }
}

/// Whether a transaction with that final code failed: it has none, or one of 4xx, 5xx, 6xx.
fn is_failure(code: u16) -> bool {
    code == 0 || code >= 400
}

/// `user@host`, the host in lower case (RFC 3261 section 19.1.4); None without a user.
fn party(user: Option<&str>, host: Option<&str>) -> Option<String> {
    let user = user.filter(|user| !user.is_empty())?;
    // A `tel:` URI has no host (RFC 3966).
    let host = host.filter(|host| !host.is_empty());
    Some(host.map_or_else(|| user.to_owned(), |host| format!("{user}@{}", host.to_lowercase())))
}

/// The same of `user@host`. A server that asks under its own name is no user.
fn user_of(text: &str) -> Option<String> {
    let (user, host) = text.rsplit_once('@')?;
    party(Some(user), Some(host))
}

/// The address of record of a registration, which may be a host alone.
fn address(aor: &str) -> String {
    user_of(aor).unwrap_or_else(|| aor.to_lowercase())
}

#[cfg(test)]
mod tests;
