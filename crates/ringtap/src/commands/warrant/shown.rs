//! A warrant, for people and for programs.

use std::io::{self, Write};

use ringtap_model::Nanos;
use ringtap_report::text::{counted, shown};
use ringtap_report::time;
use ringtap_warrant::{PayloadKey, Warrant};

/// Writes all of it, a line a field.
pub(super) fn write(warrant: &Warrant, at: Nanos, out: &mut dyn Write) -> io::Result<()> {
    let entered = &warrant.entered;
    let mut line = |name: &str, text: &str| writeln!(out, "{name:<16}{}", shown(text));
    line("number", &warrant.id.to_string())?;
    line("status", warrant.status(at).name())?;
    line("LIID", &entered.liid.text())?;
    line("case", &entered.case_number)?;
    line("authority", &entered.authority)?;
    line("legal basis", &entered.legal_basis)?;
    line("requester", &entered.requester)?;
    line(
        "countries",
        &format!("by law of {}, to {}", entered.authorisation_country, entered.delivery_country),
    )?;
    line("agency", &entered.agency)?;
    if let Some(number) = entered.mediation_function {
        line("mediation", &format!("function {number}"))?;
    }
    line("operator", &entered.operator)?;
    line("begins", &time::full(entered.begins))?;
    line("ends", &time::full(entered.ends))?;
    line("delivers", entered.delivers.name())?;
    line("payload", cipher(warrant))?;
    for target in &entered.targets {
        line("target", &target.text())?;
    }
    let person = |name: &str, at: Nanos| format!("{name}, {}", time::full(at));
    line("entered", &person(&warrant.entered_by, warrant.entered_at))?;
    if let (Some(by), Some(at)) = (&warrant.approved_by, warrant.approved_at) {
        line("approved", &person(by, at))?;
    }
    for (extension, by, approved) in warrant.extensions() {
        let approved =
            approved.map_or("waits for another officer".to_owned(), |by| format!("approved by {by}"));
        let (to, order) = (time::full(extension.ends), &*extension.reference);
        line(
            "extension",
            &format!("to {to}, {order}, {}; entered by {by}; {approved}", &*extension.authority),
        )?;
    }
    if let Some((by, at, reason)) = &warrant.withdrawn {
        line("withdrawn", &format!("{}: {}", person(by, *at), &**reason))?;
    }
    for (name, at) in [("begun", warrant.begun), ("ended", warrant.ended)] {
        at.map_or(Ok(()), |at| line(name, &time::full(at)))?;
    }
    for proof in &warrant.stopped {
        let last = proof
            .last_content
            .map_or("no content".to_owned(), |at| format!("last content {}", time::full(at)));
        line("stopped", &format!("{}; {last}", person(&proof.by, proof.at)))?;
    }
    for (by, at, text) in &warrant.notes {
        line("note", &format!("{}: {}", person(by, *at), &**text))?;
    }
    if let Some((by, at)) = &warrant.last_look {
        line("looked at", &format!("{}, last by {}", counted(warrant.looks, "time"), person(by, *at)))?;
    }
    line("hash", &warrant.hash())
}

fn cipher(warrant: &Warrant) -> &'static str {
    match &warrant.entered.payload_key {
        None => "not encrypted",
        Some(PayloadKey::Aes192Cbc(_)) => "encrypted, AES-192-CBC",
        Some(_) => "encrypted, AES-256-CBC",
    }
}

/// Writes it as a line of JSON, with status and hash, and without the payload key.
pub(super) fn json(warrant: &Warrant, at: Nanos, out: &mut dyn Write) -> io::Result<()> {
    let mut value = serde_json::to_value(warrant)?;
    value["status"] = warrant.status(at).name().into();
    value["hash"] = warrant.hash().into();
    value["entered"]["payload_key"] = cipher(warrant).into();
    serde_json::to_writer(&mut *out, &value)?;
    writeln!(out)
}

/// Why results could not be printed.
pub(super) const WRITING: &str = "cannot write the results";
