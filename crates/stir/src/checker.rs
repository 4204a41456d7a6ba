//! What is checked of the Identity header of a call: RFC 8224 section 6.2.

use std::sync::Arc;

use ringtap_model::{Call, CallState, IdentityStatus, Nanos, Note, NoteCode};

use crate::certificates::{Certificates, Signed};
use crate::counts::Counts;
use crate::passport::Passport;

/// What is checked, and what is remarked.
#[derive(Debug)]
pub struct Settings {
    /// Certificates to check signatures with; None to check none.
    pub certificates: Option<Certificates>,
    /// How far the date of a header may be from the INVITE: 60 s in RFC 8224 section 6.2.
    pub freshness: Nanos,
    /// Signatures that are checked of the calls that end within one second; further ones are not checked.
    pub most_per_second: u32,
    /// Calls without a header get a note.
    pub note_missing: bool,
    /// Calls whose header does not hold get a note.
    pub note_broken: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            certificates: None,
            freshness: Nanos::from_secs(60),
            most_per_second: u32::MAX,
            note_missing: false,
            note_broken: true,
        }
    }
}

/// Checks the Identity headers of calls, off the path of packets.
#[derive(Debug)]
pub struct Checker {
    settings: Settings,
    counts: Arc<Counts>,
    /// The second of the last call, and signatures checked in it.
    second: (u64, u32),
}

impl Checker {
    /// With these settings.
    pub fn new(settings: Settings) -> Self {
        Self { settings, counts: Arc::default(), second: (0, 0) }
    }

    /// What became of the headers so far.
    pub fn counts(&self) -> Arc<Counts> {
        Arc::clone(&self.counts)
    }

    /// Checks the header of a call and completes its record. Call it once for each record, when it is made.
    pub fn check(&mut self, call: &mut Call) {
        let Some(header) = call.identity.take() else { return self.missing(call) };
        let (status, reason) = match &header.value {
            Some(value) => match Passport::read(&header, value, call) {
                Ok(passport) => self.judge(call, passport),
                Err(reason) => (IdentityStatus::Malformed, reason.to_owned()),
            },
            None => (IdentityStatus::NotChecked, "it is too long".to_owned()),
        };
        call.identity_status = Some(status);
        self.counts.count(status);
        let is_broken = !matches!(status, IdentityStatus::Verified | IdentityStatus::NotChecked);
        if is_broken && self.settings.note_broken {
            let evidence = format!("the Identity header vouches for nothing: {reason}");
            call.notes.push(Note { since: call.invite, ..Note::new(NoteCode::BadIdentity, evidence) });
        }
    }

    /// A record that is made of what is left after a restart or a kill has lost its header.
    fn missing(&mut self, call: &mut Call) {
        let is_whole = call.unmonitored_ms.is_none() && call.state != CallState::Interrupted;
        if call.identity_status.is_some() || call.invite.is_none() || !is_whole {
            return;
        }
        self.counts.count_missing();
        // The record may come again, amended.
        let is_noted = call.notes.iter().any(|note| note.code == NoteCode::NoIdentity);
        if self.settings.note_missing && !is_noted {
            let evidence = "the INVITE had no Identity header".to_owned();
            call.notes.push(Note { since: call.invite, ..Note::new(NoteCode::NoIdentity, evidence) });
        }
    }

    /// A token that could be read: its signature, where there is a certificate for it, then its date and its
    /// numbers.
    fn judge(&mut self, call: &mut Call, passport: Passport) -> (IdentityStatus, String) {
        let invite = call.start().unwrap_or(Nanos::ZERO);
        let signed = self.signed(call, &passport, invite);
        let other = passport.other_party(call);
        call.attestation = passport.attestation;
        call.origination_id = passport.origination_id;
        let issued = Nanos::from_secs(passport.issued);
        let apart = issued.since(invite).max(invite.since(issued));
        let certificate = passport.certificate;
        match (signed, other) {
            (Signed::Untrusted, _) => {
                let reason =
                    format!("its certificate {certificate} does not lead to a root that is configured");
                (IdentityStatus::Untrusted, reason)
            }
            (Signed::Bad, _) => (IdentityStatus::BadSignature, format!("{certificate} did not sign it")),
            _ if apart > self.settings.freshness => {
                let reason = format!("it was signed {:.0} s from the INVITE", apart.millis_f64() / 1e3);
                (IdentityStatus::Stale, reason)
            }
            (_, Some(party)) => (IdentityStatus::OtherNumbers, format!("it was signed for another {party}")),
            (Signed::Good, None) => (IdentityStatus::Verified, String::new()),
            (Signed::Unknown, None) => (IdentityStatus::NotChecked, String::new()),
        }
    }

    fn signed(&mut self, call: &Call, passport: &Passport, invite: Nanos) -> Signed {
        let Some(certificates) = &mut self.settings.certificates else { return Signed::Unknown };
        let second = call.end.unwrap_or(invite).micros() / 1_000_000;
        if self.second.0 != second {
            self.second = (second, 0);
        }
        if self.second.1 >= self.settings.most_per_second {
            self.counts.count_too_many();
            return Signed::Unknown;
        }
        self.second.1 += 1;
        let time = invite.micros() / 1_000_000;
        certificates.check(&passport.certificate, &passport.signed, &passport.signature, time)
    }
}
