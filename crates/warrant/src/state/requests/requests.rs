//! The requests of a register, and the rules by which their acts follow each other.

use std::collections::{BTreeMap, HashMap};

use ringtap_model::Nanos;
use serde::{Deserialize, Serialize};

use super::request::{Answer, GivenAnswer, NewRequest, Refusal, RefusalReason, Request, RequestStatus};
use crate::error::Refused;
use crate::secret_text::SecretText;
use crate::state::text::check_text;

/// What somebody did with a request.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RequestAct {
    Entered {
        id: u32,
        request: Box<NewRequest>,
    },
    Approved {
        id: u32,
        hash: String,
    },
    /// Retained data is about to be read for it.
    Searched {
        id: u32,
    },
    /// Files with this content are about to be given.
    Answered {
        id: u32,
        answer: Box<Answer>,
    },
    Refused {
        id: u32,
        reason: RefusalReason,
        text: SecretText,
    },
    Noted {
        id: u32,
        text: SecretText,
    },
}

impl RequestAct {
    /// The number of the request.
    pub(crate) fn id(&self) -> u32 {
        match self {
            Self::Entered { id, .. }
            | Self::Approved { id, .. }
            | Self::Searched { id }
            | Self::Answered { id, .. }
            | Self::Refused { id, .. }
            | Self::Noted { id, .. } => *id,
        }
    }
}

/// All requests.
#[derive(Clone, Debug, Default)]
pub(crate) struct Requests {
    pub(crate) all: BTreeMap<u32, Request>,
    /// The hash under which each person saw each request last.
    seen: HashMap<(u32, SecretText), String>,
}

impl Requests {
    /// The number of the next one.
    pub(crate) fn next_id(&self) -> u32 {
        self.all.last_key_value().map_or(1, |(id, _)| id.saturating_add(1))
    }

    /// Takes the act of an officer in.
    ///
    /// # Errors
    ///
    /// It is against the rules, and nothing is changed.
    pub(crate) fn admit(&mut self, by: &SecretText, act: &RequestAct, time: Nanos) -> Result<(), Refused> {
        match act {
            RequestAct::Entered { id, request } => self.enter(*id, by, request, time),
            RequestAct::Approved { id, hash } => self.approve(*id, by, hash, time),
            RequestAct::Searched { id } => {
                let request = self.open(*id)?;
                request.searches = request.searches.saturating_add(1);
                request.searched = Some((by.clone(), time));
                Ok(())
            }
            RequestAct::Answered { id, answer } => {
                let request = self.open(*id)?;
                answer.check()?;
                // Who gives something has recorded before that it is looked for.
                if request.searched.as_ref().is_none_or(|(who, _)| who != by) {
                    return Err(Refused::NotSearched);
                }
                if request.answers.len() >= MOST_NOTES {
                    return Err(Refused::Full("answers to one request"));
                }
                request.answers.push(GivenAnswer { answer: (**answer).clone(), by: by.clone(), at: time });
                request.searched = None;
                Ok(())
            }
            RequestAct::Refused { id, reason, text } => {
                check_text("reason", text, 2048)?;
                let request = self.all.get_mut(id).ok_or(Refused::NoRequest)?;
                if !request.status().is_waiting() {
                    return Err(Refused::Closed);
                }
                let (text, by) = (text.clone(), by.clone());
                request.refused = Some(Refusal { reason: *reason, text, by, at: time });
                Ok(())
            }
            RequestAct::Noted { id, text } => {
                check_text("note", text, 4096)?;
                let request = self.all.get_mut(id).ok_or(Refused::NoRequest)?;
                if request.notes.len() >= MOST_NOTES {
                    return Err(Refused::Full("notes on one request"));
                }
                request.notes.push((by.clone(), time, text.clone()));
                Ok(())
            }
        }
    }

    fn enter(&mut self, id: u32, by: &SecretText, entered: &NewRequest, time: Nanos) -> Result<(), Refused> {
        if id != self.next_id() {
            return Err(Refused::Impossible);
        }
        if self.all.len() >= MOST_REQUESTS {
            return Err(Refused::Full("requests"));
        }
        entered.check(time)?;
        self.all.insert(id, Request::new(id, entered.clone(), by.clone(), time));
        Ok(())
    }

    /// Another officer than the one who entered it has seen the record as it is.
    fn approve(&mut self, id: u32, by: &SecretText, hash: &str, time: Nanos) -> Result<(), Refused> {
        let request = self.all.get_mut(&id).ok_or(Refused::NoRequest)?;
        match request.status() {
            RequestStatus::Received => {}
            RequestStatus::Approved => return Err(Refused::RequestApproved),
            _ => return Err(Refused::Closed),
        }
        let present = request.hash();
        if present != hash {
            return Err(Refused::OtherHash);
        }
        if self.seen.get(&(id, by.clone())).is_none_or(|seen| *seen != present) {
            return Err(Refused::NotSeen);
        }
        if request.entered_by == *by {
            return Err(Refused::SamePerson);
        }
        (request.approved_by, request.approved_at) = (Some(by.clone()), Some(time));
        Ok(())
    }

    /// Somebody has seen it whole.
    pub(crate) fn look(&mut self, id: u32, by: &SecretText, time: Nanos) -> Result<(), Refused> {
        let request = self.all.get_mut(&id).ok_or(Refused::NoRequest)?;
        request.looks = request.looks.saturating_add(1);
        request.last_look = Some((by.clone(), time));
        self.seen.insert((id, by.clone()), request.hash());
        Ok(())
    }

    /// One that may be answered: approved, and not refused. An answer may be given again.
    fn open(&mut self, id: u32) -> Result<&mut Request, Refused> {
        let request = self.all.get_mut(&id).ok_or(Refused::NoRequest)?;
        match request.status() {
            RequestStatus::Received => Err(Refused::RequestNotApproved),
            RequestStatus::Refused => Err(Refused::Closed),
            _ => Ok(request),
        }
    }
}

const MOST_REQUESTS: usize = 100_000;
/// Notes on one request, and answers to it.
const MOST_NOTES: usize = 10_000;
