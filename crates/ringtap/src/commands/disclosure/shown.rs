//! A request, for people and for programs.

use std::io::{self, Write};

use ringtap_model::Nanos;
use ringtap_report::text::{counted, shown};
use ringtap_report::time;
use ringtap_warrant::{GivenAnswer, Request};

/// Writes all of it, a line a field.
pub(super) fn write(request: &Request, out: &mut dyn Write) -> io::Result<()> {
    let entered = &request.entered;
    let mut line = |name: &str, text: &str| writeln!(out, "{name:<16}{}", shown(text));
    line("number", &request.id.to_string())?;
    line("status", request.status().name())?;
    line("case", &entered.case_number)?;
    line("authority", &entered.authority)?;
    line("legal basis", &entered.legal_basis)?;
    line("received", &time::full(entered.received))?;
    line("from", &time::full(entered.from))?;
    line("until", &time::full(entered.until))?;
    for category in &entered.categories {
        line("category", category.name())?;
    }
    for subject in &entered.subjects {
        line("subject", &subject.text())?;
    }
    let person = |name: &str, at: Nanos| format!("{name}, {}", time::full(at));
    line("entered", &person(&request.entered_by, request.entered_at))?;
    if let (Some(by), Some(at)) = (&request.approved_by, request.approved_at) {
        line("approved", &person(by, at))?;
    }
    if let Some((by, at)) = &request.searched {
        line(
            "searched",
            &format!(
                "{}, last by {}, and not answered since",
                counted(request.searches, "time"),
                person(by, *at)
            ),
        )?;
    }
    for GivenAnswer { answer, by, at } in &request.answers {
        let counts = format!("{}, {}", counted(answer.calls, "call"), counted(answer.accesses, "session"));
        line("answered", &format!("{}: {counts}", person(by, *at)))?;
        if let (Some(earliest), Some(latest)) = (answer.earliest, answer.latest) {
            let age = days(entered.received.since(earliest));
            let span = format!("from {} to {}", time::full(earliest), time::full(latest));
            line("  data", &format!("{span}; the earliest {age:.1} days old at the request"))?;
        }
        for file in &answer.files {
            line("  file", &format!("{}, {} octets, SHA-256 {}", &*file.name, file.octets, file.sha256))?;
        }
    }
    if let Some(refusal) = &request.refused {
        let by = person(&refusal.by, refusal.at);
        line("refused", &format!("{by}: {}: {}", refusal.reason, &*refusal.text))?;
    }
    for (by, at, text) in &request.notes {
        line("note", &format!("{}: {}", person(by, *at), &**text))?;
    }
    if let Some((by, at)) = &request.last_look {
        line("looked at", &format!("{}, last by {}", counted(request.looks, "time"), person(by, *at)))?;
    }
    // Last: whoever approves it looks there.
    writeln!(out, "{:<16}{}", "hash", request.hash())
}

/// Writes it as a line of JSON, with status and hash.
pub(super) fn json(request: &Request, out: &mut dyn Write) -> io::Result<()> {
    let mut value = serde_json::to_value(request)?;
    value["status"] = request.status().name().into();
    value["hash"] = request.hash().into();
    serde_json::to_writer(&mut *out, &value)?;
    writeln!(out)
}

/// A span in days.
pub(super) fn days(span: Nanos) -> f64 {
    span.0 as f64 / 86_400e9
}
