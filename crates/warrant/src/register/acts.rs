//! Acts as officers and auditors see them.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use ringtap_model::Nanos;
use serde::Serialize;

use super::ledger::read_act;
use crate::error::Error;
use crate::log::files;
use crate::log::key::Keys;
use crate::log::line::{ActLine, LONGEST};
use crate::secret_text::SecretText;
use crate::state::{Act, AdmfAct, By, Look, ProducedFile, RequestAct, TaskAct, What};
use crate::uuid::Uuid;

/// Which acts to show.
#[derive(Clone, Debug, Default)]
pub struct ActQuery {
    /// At this time or later.
    pub since: Option<Nanos>,
    /// Before this time.
    pub until: Option<Nanos>,
    /// Of this person, or of `service`.
    pub who: Option<String>,
    /// About this warrant.
    pub warrant: Option<u32>,
    /// With a lower number than this.
    pub before: Option<u64>,
    /// So many at most: the newest.
    pub most: Option<usize>,
}

/// An act, in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ActView {
    /// Its number, from 0.
    pub number: u64,
    /// When, by the register.
    #[serde(rename = "time_us")]
    pub time: Nanos,
    /// What the clock said, where that was earlier.
    #[serde(rename = "clock_us")]
    pub clock: Option<Nanos>,
    /// The name of a person, or `service`.
    pub who: SecretText,
    /// The kind of the act.
    pub act: &'static str,
    /// The warrant that it is about.
    pub warrant: Option<u32>,
    /// The request for retained data that it is about.
    pub request: Option<u32>,
    /// What else is to be said. Targets and identifiers are shown with the warrant alone, subjects with the
    /// request.
    pub detail: SecretText,
}

/// The acts of a log that was read before, so that it is as it was written.
pub(super) fn read(path: &Path, keys: &Keys, query: &ActQuery) -> Result<Vec<ActView>, Error> {
    let failed = |error| Error::io(path, "read", error);
    let mut reader = BufReader::new(files::open_to_read(path).map_err(failed)?);
    let (mut line, mut views) = (Vec::new(), VecDeque::new());
    let most = query.most.unwrap_or(usize::MAX);
    loop {
        line.clear();
        if Read::take(&mut reader, LONGEST).read_until(b'\n', &mut line).map_err(failed)? == 0 {
            return Ok(views.into());
        }
        // The rest of an act that is being written.
        let Ok(line) = ActLine::parse(&line) else { return Ok(views.into()) };
        let Ok(act) = read_act(keys, &line) else { return Ok(views.into()) };
        views.extend(Some(view(line.number(), &act)).filter(|view| query.selects(view)));
        if views.len() > most {
            views.pop_front();
        }
    }
}

impl ActQuery {
    fn selects(&self, view: &ActView) -> bool {
        self.since.is_none_or(|since| view.time >= since)
            && self.until.is_none_or(|until| view.time < until)
            && self.who.as_ref().is_none_or(|who| **who == *view.who)
            && self.warrant.is_none_or(|id| view.warrant == Some(id))
            && self.before.is_none_or(|before| view.number < before)
    }
}

fn view(number: u64, act: &Act) -> ActView {
    let who = match &act.by {
        By::Person(name) => name.clone(),
        By::Admf(identifier) => format!("admf:{identifier}").into(),
        By::Service => "service".into(),
    };
    let (kind, warrant, detail) = told(&act.what);
    let (request, detail) = (request_of(&act.what), detail.into());
    ActView { number, time: act.time, clock: act.clock, who, act: kind, warrant, request, detail }
}

/// Kind, warrant, and the rest.
fn told(what: &What) -> (&'static str, Option<u32>, String) {
    match what {
        What::SetUp(entry) => ("set-up", None, format!("first officer {}", &*entry.name)),
        What::PersonProposed(change) => {
            ("people", None, format!("propose: {} {}", change.action(), change.name()))
        }
        What::PersonConfirmed(proposal) => ("people", None, format!("confirm act {proposal}")),
        What::PassphraseChanged(_) => ("passphrase", None, "changed by its owner".to_owned()),
        What::PassphraseWrong(name) => ("refused", None, format!("wrong passphrase for {:?}", &**name)),
        What::Entered { id, warrant } => ("enter", Some(*id), format!("case {}", &*warrant.case_number)),
        What::Approved { id, hash } => ("approve", Some(*id), format!("record {hash}")),
        What::ExtensionEntered { id, extension } => {
            ("extend", Some(*id), format!("order {} of {}", &*extension.reference, &*extension.authority))
        }
        What::ExtensionApproved { id, hash } => ("approve-extension", Some(*id), format!("record {hash}")),
        What::Withdrawn { id, reason } => ("withdraw", Some(*id), reason.to_string()),
        What::Noted { id, text } => ("note", Some(*id), text.to_string()),
        What::CapturesRead { id, why } => ("captures", Some(*id), why.to_string()),
        What::Produced { id, files } => ("product", Some(*id), listed(files)),
        What::Looked { at, why } => {
            let (at, id) = match at {
                Look::Show(id) => ("show", Some(*id)),
                Look::List => ("list", None),
                Look::Acts => ("acts", None),
                Look::Verify => ("verify", None),
                Look::People => ("people", None),
                Look::Request(_) => ("show", None),
                Look::Requests => ("requests", None),
                Look::Statistics => ("statistics", None),
                Look::Admfs => ("admfs", None),
            };
            ("look", id, format!("{at}: {}", &**why))
        }
        What::Request(act) => {
            let (kind, detail) = told_of_request(act);
            (kind, None, detail)
        }
        What::Admf(act) => ("admf", None, told_of_admf(act)),
        What::Task { transaction, act } => told_of_task(*transaction, act),
        What::AdmfRefused(identifier) => {
            ("refused", None, format!("another certificate than that of ADMF {identifier}"))
        }
        What::Begun { id } => ("begin", Some(*id), "interception has begun".to_owned()),
        What::Ended { id, late } => ("end", Some(*id), late_by(*late)),
        What::Stopped { id, proof } => ("stop", Some(*id), stopped(&proof.by, proof.last_content.is_some())),
        What::ClockBack { latest, .. } => {
            let back = "the clock was set back; time goes on from";
            ("clock-back", None, format!("{back} {} us since 1970", latest.micros()))
        }
        What::Recovered { bytes } => {
            ("recovered", None, format!("{bytes} bytes of an act that was never acknowledged were cut off"))
        }
    }
}

/// The request that an act is about.
fn request_of(what: &What) -> Option<u32> {
    match what {
        What::Looked { at: Look::Request(id), .. } => Some(*id),
        What::Request(act) => Some(act.id()),
        _ => None,
    }
}

fn told_of_admf(act: &AdmfAct) -> String {
    match act {
        AdmfAct::Proposed(entry) => {
            let right = if entry.activates { "activates tasks" } else { "enters drafts" };
            let agencies = entry.agencies.join(", ");
            format!("propose: {}, which {right}, for {agencies}", entry.identifier)
        }
        AdmfAct::Confirmed(proposal) => format!("confirm act {proposal}"),
        AdmfAct::Disabled(identifier) => format!("disable: {identifier}"),
    }
}

/// Kind, warrant, and the rest.
fn told_of_task(transaction: Uuid, act: &TaskAct) -> (&'static str, Option<u32>, String) {
    let (kind, warrant, detail) = match act {
        TaskAct::Entered { id, xid, modifies, .. } => {
            let kind = if *modifies { "task-modify" } else { "task-activate" };
            (kind, Some(*id), format!("XID {xid}"))
        }
        TaskAct::Amended { id, extension, .. } => {
            let longer = if extension.is_some() { "a later end" } else { "the same, in other words" };
            ("task-modify", Some(*id), longer.to_owned())
        }
        TaskAct::Ended { xid: Some(xid) } => ("task-deactivate", None, format!("XID {xid}")),
        TaskAct::Ended { xid: None } => ("task-deactivate", None, "all tasks".to_owned()),
        TaskAct::DestinationSet { did, destination, .. } => {
            ("destination", None, format!("DID {did} of {}", destination.agency))
        }
        TaskAct::DestinationRemoved { did: Some(did) } => ("destination", None, format!("remove DID {did}")),
        TaskAct::DestinationRemoved { did: None } => ("destination", None, "remove all".to_owned()),
    };
    (kind, warrant, format!("{detail}; transaction {transaction}"))
}

/// Kind, and the rest.
fn told_of_request(act: &RequestAct) -> (&'static str, String) {
    match act {
        RequestAct::Entered { request, .. } => ("request-enter", format!("case {}", &*request.case_number)),
        RequestAct::Approved { hash, .. } => ("request-approve", format!("record {hash}")),
        RequestAct::Searched { .. } => ("request-search", "retained data is read".to_owned()),
        RequestAct::Answered { answer, .. } => {
            let files = listed(&answer.files);
            ("request-answer", format!("calls {}, sessions {}: {files}", answer.calls, answer.accesses))
        }
        RequestAct::Refused { reason, text, .. } => ("request-refuse", format!("{reason}: {}", &**text)),
        RequestAct::Noted { text, .. } => ("request-note", text.to_string()),
    }
}

fn listed(files: &[ProducedFile]) -> String {
    let file =
        |file: &ProducedFile| format!("{} ({} octets, SHA-256 {})", &*file.name, file.octets, file.sha256);
    files.iter().map(file).collect::<Vec<_>>().join("; ")
}

fn late_by(late: Nanos) -> String {
    match late.0 / 1_000_000_000 {
        0..60 => "its time is over".to_owned(),
        seconds => format!("its time was over {seconds} s ago: nothing has looked since, as after a restart"),
    }
}

fn stopped(by: &str, has_content: bool) -> String {
    let content = if has_content { "the time of the last content is with the warrant" } else { "no content" };
    format!("stopped by {by}; {content}")
}
