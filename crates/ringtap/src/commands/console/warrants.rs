//! The register of warrants, for the officers and auditors who use it in a browser.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use ringtap_console::{ProductOf, WarrantFunction, WarrantProduct, WarrantSniffer, Warrants};
use ringtap_daemon::{OrderFigures, ProductReport, SnifferFigures, WarrantConfig, forbid_dumps};
use ringtap_warrant::{Error, Register, RegisterKey, Warrant};

use crate::screen::Screen;

/// What the configuration names, with the master key, which is read now.
///
/// # Errors
///
/// The key cannot be read.
pub(super) fn of(config: WarrantConfig, screen: &mut Screen) -> anyhow::Result<Warrants> {
    forbid_dumps();
    let WarrantConfig { register, key, key_command, product } = config;
    let (named, key) = match key_command {
        Some(command) => ("key_command", RegisterKey::of_command(&command)),
        None => ("key", RegisterKey::read(&key)),
    };
    let key = key.with_context(|| format!("the register of warrants cannot be used: [warrants] {named}"))?;
    // What is wrong with it is said now, and not to the first who logs in. It may be one to come.
    if let Err(error) = Register::open(&register, &key) {
        let why = match error {
            // How many acts there are is for nobody here.
            Error::Log { .. } => "it is not as it was written: run `ringtap warrant verify`".to_owned(),
            error => error.to_string(),
        };
        screen.remark(format!("until this is mended, no officer can log in: [warrants] register: {why}"));
    }
    let product = product.map(|product| -> ProductOf { Arc::new(move |warrant| given(&product, warrant)) });
    Ok(Warrants { register, key, product })
}

/// What the service says that a warrant has given.
fn given(product: &Path, warrant: &Warrant) -> anyhow::Result<Option<WarrantProduct>> {
    let Some(report) = ProductReport::read(product)? else { return Ok(None) };
    let liid = warrant.entered.liid.text();
    let Some(figures) = report.orders.iter().find(|order| order.liid == *liid).cloned() else {
        return Ok(None);
    };
    let agency: &str = &warrant.entered.agency;
    let is_its = |name: &str| name.split(' ').next().is_some_and(|of| of.eq_ignore_ascii_case(agency));
    let functions = report.functions.iter().filter(|function| is_its(&function.name));
    Ok(Some(WarrantProduct {
        since_us: report.since_us,
        at_us: report.at_us,
        events: figures.events,
        packets: figures.packets,
        octets: figures.octets,
        recalled: figures.recalled,
        remembers_ms: report.remembers_ms,
        remembered_too_little: report.remembered_too_little,
        unattributed: figures.unattributed,
        cut: figures.cut,
        dropped: figures.dropped,
        lost: figures.lost,
        unwritten: figures.unwritten,
        undelivered: figures.undelivered,
        not_delivered: figures.not_delivered,
        functions: functions
            .map(|function| WarrantFunction {
                name: function.name.clone(),
                is_connected: function.is_connected,
                arrived: function.arrived,
                waiting: function.waiting,
            })
            .collect(),
        sniffers: report.sniffers.iter().map(|sniffer| of_sniffer(sniffer, &liid)).collect(),
    }))
}

/// What a sniffer has given to an order.
fn of_sniffer(sniffer: &SnifferFigures, liid: &str) -> WarrantSniffer {
    let report = sniffer.report.as_deref();
    let figures = report.and_then(|report| report.orders.iter().find(|order| order.liid == liid));
    let figure = |of: fn(&OrderFigures) -> u64| figures.map_or(0, of);
    WarrantSniffer {
        name: sniffer.name.clone(),
        is_connected: sniffer.is_connected,
        behind_ms: sniffer.behind_ms,
        packets: figure(|order| order.packets),
        octets: figure(|order| order.octets),
        lost: figure(|order| order.lost),
        gaps: report.map_or(0, |report| report.gaps),
    }
}
