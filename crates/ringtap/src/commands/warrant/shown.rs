//! A warrant, for people and for programs.

use std::io::{self, Write};

use ringtap_daemon::{FunctionFigures, OrderFigures, ProductReport, SnifferFigures};
use ringtap_model::Nanos;
use ringtap_report::text::{counted, shown};
use ringtap_report::time;
use ringtap_warrant::{PayloadKey, Warrant};
use serde_json::json;

/// Writes all of it, a line a field, with what the service reports of its product.
pub(super) fn write(
    warrant: &Warrant,
    at: Nanos,
    report: Option<&ProductReport>,
    out: &mut dyn Write,
) -> io::Result<()> {
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
    if let Some(task) = &warrant.task {
        let replaces = task.replaces.map(|id| format!("; its approval ends warrant {id}"));
        line("task", &format!("{} of ADMF {}{}", task.xid, task.admf, replaces.unwrap_or_default()))?;
    }
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
    report.map_or(Ok(()), |report| write_product(warrant, report, out))?;
    // Last: whoever approves it looks there.
    writeln!(out, "{:<16}{}", "hash", warrant.hash())
}

/// What the service has given it since it started.
fn write_product(warrant: &Warrant, report: &ProductReport, out: &mut dyn Write) -> io::Result<()> {
    let mut line = |name: &str, text: &str| writeln!(out, "{name:<16}{}", shown(text));
    let Some(figures) = figures_of(warrant, report) else { return Ok(()) };
    let OrderFigures { events, packets, octets, recalled, lost, unwritten, undelivered, .. } = figures;
    let at = |micros: u64| time::full(Nanos::from_micros(micros));
    line("product", &format!("of {} to {}", at(report.since_us), at(report.at_us)))?;
    line(
        "given",
        &format!("{}, {}, {octets} octets", counted(*events, "event"), counted(*packets, "packet")),
    )?;
    let back = report.remembers_ms.map_or("no frames are remembered".to_owned(), |millis| {
        format!("frames of the last {:.1} s are remembered", millis as f64 / 1e3)
    });
    line("recalled", &format!("{}; {back}", counted(*recalled, "packet")))?;
    if report.remembered_too_little > 0 {
        let times = counted(report.remembered_too_little, "time");
        line("gaps", &format!("{times}, somebody became a target before what is remembered: raise `ring`"))?;
    }
    if report.activations > 0 {
        let (mean, slowest) = (report.activation_us as f64 / 1e3, report.slowest_activation_us as f64 / 1e3);
        line(
            "activation",
            &format!("{mean:.1} ms after the packet that names an address, {slowest:.1} at most"),
        )?;
    }
    for (name, count, what) in [
        ("unattributed", figures.unattributed, "packets of shared addresses, without ports: not given"),
        ("cut", figures.cut, "packets, given as far as they were captured"),
        ("not followed", figures.dropped, "sessions, calls and packets: too many at once"),
        ("lost", *lost, "frames of anybody, for which the service was too slow: some may be missing"),
        ("unwritten", *unwritten, "PDUs and frames: look for room on the disk of the product"),
        ("undelivered", *undelivered, "PDUs, for which the buffer had no room: files have them"),
    ] {
        if count > 0 {
            line(name, &format!("{count} {what}"))?;
        }
    }
    if let Some(manifest) = &figures.manifest {
        line("signed", &format!("files up to manifest {manifest}"))?;
    }
    if let Some(why) = &figures.not_delivered {
        line("not delivered", why)?;
    }
    for FunctionFigures { name, is_connected, arrived, waiting } in &report.functions {
        let connected = if *is_connected { "connected" } else { "not connected" };
        let agency: &str = &warrant.entered.agency;
        if name.split(' ').next().is_some_and(|function| function.eq_ignore_ascii_case(agency)) {
            line("function", &format!("{name}: {connected}, {arrived} PDUs arrived, {waiting} octets wait"))?;
        }
    }
    if report.gaps > 0 {
        line(
            "gaps",
            &format!("{} sniffers that come later are not told of", counted(report.gaps, "session")),
        )?;
    }
    for sniffer in &report.sniffers {
        for text in sniffer_lines(warrant, sniffer) {
            line("sniffer", &text)?;
        }
    }
    Ok(())
}

/// How a sniffer stands, and what it has given.
fn sniffer_lines(warrant: &Warrant, sniffer: &SnifferFigures) -> Vec<String> {
    let SnifferFigures { name, is_connected, restarts, unconfirmed, behind_ms, report, .. } = sniffer;
    let Some(report) = report else { return vec![format!("{name}: it has never told anything")] };
    let seconds = *behind_ms as f64 / 1e3;
    let apart = sniffer.clocks_apart_us.map_or(0.0, |apart| apart as f64 / 1e3);
    let slowest = sniffer.slowest_us as f64 / 1e3;
    let mut lines = vec![match is_connected {
        true => format!(
            "{name}: connected, {seconds:.1} s behind the wire, clock within {apart:.1} ms of ours, changes \
             applied within {slowest:.1} ms, {unconfirmed} are not; told all {}",
            counted(*restarts, "time"),
        ),
        false => format!("{name}: not connected; it has looked at packets until {seconds:.1} s ago"),
    }];
    let missing = [
        (report.gaps, "times it is not known what happened while the probe was not heard"),
        (report.remembered_too_little, "times a session began before what is remembered: raise `ring`"),
    ];
    if let Some(figures) = figures_of(warrant, report) {
        let (events, packets) = (counted(figures.events, "event"), counted(figures.packets, "packet"));
        let (octets, recalled, lost) = (figures.octets, figures.recalled, figures.lost);
        lines.push(format!(
            "{name}: {events}, {packets}, {octets} octets; {recalled} recalled, {lost} frames of anybody \
             lost, {} unwritten, {} undelivered; activation {:.1} ms after the packet that names an address, \
             {:.1} at most",
            figures.unwritten,
            figures.undelivered,
            report.activation_us as f64 / 1e3,
            report.slowest_activation_us as f64 / 1e3,
        ));
        lines.extend(figures.manifest.as_ref().map(|manifest| {
            format!("{name}: signed up to manifest {manifest}, by the key {}", report.public_key)
        }));
    }
    let missing = missing.into_iter().filter(|(count, _)| *count > 0);
    lines.extend(missing.map(|(count, what)| format!("{name}: {count} {what}")));
    lines
}

fn figures_of<'a>(warrant: &Warrant, report: &'a ProductReport) -> Option<&'a OrderFigures> {
    let liid = warrant.entered.liid.text();
    report.orders.iter().find(|order| order.liid == *liid)
}

/// As [`json`], with what the service reports of its product as `product`.
pub(super) fn json_with(
    warrant: &Warrant,
    at: Nanos,
    report: Option<&ProductReport>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut value = value_of(warrant, at)?;
    if let Some((report, figures)) = report.and_then(|report| Some((report, figures_of(warrant, report)?))) {
        value["product"] = serde_json::to_value(figures)?;
        value["product"]["at_us"] = report.at_us.into();
        value["product"]["remembers_ms"] = report.remembers_ms.into();
        let of_sniffer = |sniffer: &SnifferFigures| {
            let figures = sniffer.report.as_ref().and_then(|report| figures_of(warrant, report));
            json!({
                "name": sniffer.name,
                "is_connected": sniffer.is_connected,
                "behind_ms": sniffer.behind_ms,
                "clocks_apart_us": sniffer.clocks_apart_us,
                "slowest_us": sniffer.slowest_us,
                "unconfirmed": sniffer.unconfirmed,
                "gaps": sniffer.report.as_ref().map(|report| report.gaps),
                "public_key": sniffer.report.as_ref().map(|report| &report.public_key),
                "product": figures,
            })
        };
        value["product"]["sniffers"] = report.sniffers.iter().map(of_sniffer).collect();
    }
    serde_json::to_writer(&mut *out, &value)?;
    writeln!(out)
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
    serde_json::to_writer(&mut *out, &value_of(warrant, at)?)?;
    writeln!(out)
}

fn value_of(warrant: &Warrant, at: Nanos) -> io::Result<serde_json::Value> {
    let mut value = serde_json::to_value(warrant)?;
    value["status"] = warrant.status(at).name().into();
    value["hash"] = warrant.hash().into();
    value["entered"]["payload_key"] = cipher(warrant).into();
    Ok(value)
}

/// Why results could not be printed.
pub(in crate::commands) const WRITING: &str = "cannot write the results";
