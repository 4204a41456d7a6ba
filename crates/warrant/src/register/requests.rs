//! What officers and auditors do with requests for retained data.

use std::collections::BTreeMap;

use ringtap_model::Nanos;

use super::register::{Register, end_due};
use super::session::Session;
use crate::error::{Error, Refused};
use crate::state::{
    Answer, By, Look, NewRequest, RefusalReason, Request, RequestAct, RequestStatistics, What,
};

impl Register {
    /// Enters a request for retained data, which another officer has to approve. Returns its number.
    ///
    /// # Errors
    ///
    /// It is not complete, or the session is no officer's.
    pub fn enter_request(
        &mut self,
        session: &Session,
        request: NewRequest,
        clock: Nanos,
    ) -> Result<u32, Error> {
        let request = Box::new(request.normalised());
        let by = By::Person(session.name.clone());
        self.ledger.locked(|ledger| {
            end_due(ledger, clock)?;
            let id = ledger.state.requests.next_id();
            ledger.record(by, What::Request(RequestAct::Entered { id, request }), clock)?;
            Ok(id)
        })
    }

    /// Approves a request. `hash` is that of the record as [`show_request`](Self::show_request) gave it to
    /// the same person.
    ///
    /// # Errors
    ///
    /// The person has entered it or has not seen it as it is now, or it was approved or refused before.
    pub fn approve_request(
        &mut self,
        session: &Session,
        id: u32,
        hash: &str,
        clock: Nanos,
    ) -> Result<(), Error> {
        self.of_request(session, RequestAct::Approved { id, hash: hash.to_owned() }, clock)
    }

    /// Records that retained data is about to be read for a request, and gives the request: before anything
    /// is read.
    ///
    /// # Errors
    ///
    /// It is not approved, or was refused, or the session is no officer's.
    pub fn search_for_request(&mut self, session: &Session, id: u32, clock: Nanos) -> Result<Request, Error> {
        self.of_request(session, RequestAct::Searched { id }, clock)?;
        self.request(id)
    }

    /// Records what is given, by the same person who has searched: before the files are where they can be
    /// taken.
    ///
    /// # Errors
    ///
    /// The request is not approved or was refused, the same person has not searched since its last answer, or
    /// the figures do not agree.
    pub fn answer_request(
        &mut self,
        session: &Session,
        id: u32,
        answer: Answer,
        clock: Nanos,
    ) -> Result<(), Error> {
        self.of_request(session, RequestAct::Answered { id, answer: Box::new(answer) }, clock)
    }

    /// Records that a request is refused, or cannot be met.
    ///
    /// # Errors
    ///
    /// It was answered or refused before, no reason is given, or the session is no officer's.
    pub fn refuse_request(
        &mut self,
        session: &Session,
        id: u32,
        reason: RefusalReason,
        text: &str,
        clock: Nanos,
    ) -> Result<(), Error> {
        self.of_request(session, RequestAct::Refused { id, reason, text: text.into() }, clock)
    }

    /// Adds a note to a request.
    ///
    /// # Errors
    ///
    /// There is no such request, or the session is no officer's.
    pub fn note_request(
        &mut self,
        session: &Session,
        id: u32,
        text: &str,
        clock: Nanos,
    ) -> Result<(), Error> {
        self.of_request(session, RequestAct::Noted { id, text: text.into() }, clock)
    }

    /// A request, whole.
    ///
    /// # Errors
    ///
    /// There is no such request, or no reason is given.
    pub fn show_request(
        &mut self,
        session: &Session,
        id: u32,
        why: &str,
        clock: Nanos,
    ) -> Result<Request, Error> {
        self.look(session, Look::Request(id), why, clock)?;
        self.request(id)
    }

    /// All requests, in the order in which they were entered.
    ///
    /// # Errors
    ///
    /// No reason is given.
    pub fn list_requests(
        &mut self,
        session: &Session,
        why: &str,
        clock: Nanos,
    ) -> Result<Vec<Request>, Error> {
        self.look(session, Look::Requests, why, clock)?;
        Ok(self.ledger.state.requests.all.values().cloned().collect())
    }

    /// Figures of requests, by the period that `period_of` names for the time at which one was received, such
    /// as a year; those for which it names none are left out.
    ///
    /// # Errors
    ///
    /// No reason is given.
    pub fn request_statistics(
        &mut self,
        session: &Session,
        period_of: impl Fn(Nanos) -> Option<String>,
        why: &str,
        clock: Nanos,
    ) -> Result<BTreeMap<String, RequestStatistics>, Error> {
        self.look(session, Look::Statistics, why, clock)?;
        let mut periods: BTreeMap<String, Vec<&Request>> = BTreeMap::new();
        for request in self.ledger.state.requests.all.values() {
            if let Some(period) = period_of(request.entered.received) {
                periods.entry(period).or_default().push(request);
            }
        }
        let of = |requests: Vec<&Request>| RequestStatistics::of(requests);
        Ok(periods.into_iter().map(|(period, requests)| (period, of(requests))).collect())
    }

    fn of_request(&mut self, session: &Session, act: RequestAct, clock: Nanos) -> Result<(), Error> {
        Register::act(self, session, What::Request(act), clock).map(drop)
    }

    fn request(&self, id: u32) -> Result<Request, Error> {
        Ok(self.ledger.state.requests.all.get(&id).cloned().ok_or(Refused::NoRequest)?)
    }
}
