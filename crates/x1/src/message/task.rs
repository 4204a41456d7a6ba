//! Tasks (clause 6.2.1.2).

use ringtap_model::Nanos;
use ringtap_warrant::{Delivers, Liid, NewTask, SecretText, Target, TaskContent, Uuid, Warrant};
use serde::{Deserialize, Serialize};

use super::destination::Delivery;
use super::identifier::Identifier;
use crate::fault::{DELIVERY, Fault, SERVICE, TARGETS_TOGETHER};
use crate::time;
use crate::xml::{Element, Fields, Writer};

/// A task as it was sent.
#[derive(Debug)]
pub(crate) struct TaskDetails {
    pub(crate) xid: Uuid,
    targets: Vec<Target>,
    delivery: Delivery,
    pub(crate) destinations: Vec<Uuid>,
    liid: Liid,
    begins: Option<Nanos>,
    ends: Option<Nanos>,
    known: KnownDetails,
}

/// What the register keeps of it that no warrant has: as it was sent, for `GetTaskDetails`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KnownDetails {
    identifiers: Vec<Identifier>,
    correlation: Option<u64>,
    implicit: Option<bool>,
}

impl TaskDetails {
    /// Reads a `taskDetails`; `generic` is the code of what cannot be done otherwise.
    pub(crate) fn read(element: &Element, generic: u16) -> Result<Self, Fault> {
        let mut fields = Fields::of(element);
        let xid = fields.uuid("xId")?;
        let identifiers = identifiers(fields.required("targetIdentifiers")?)?;
        let targets = targets(&identifiers)?;
        let delivery = Delivery::read(fields.text("deliveryType")?)?;
        let destinations = destinations(fields.required("listOfDIDs")?, generic)?;
        let missing = || {
            let what =
                "`listOfMediationDetails` is missing: this network element hands over, and needs the LIID";
            Fault::new(generic, what)
        };
        let mediation = fields.optional("listOfMediationDetails").ok_or_else(missing)?;
        let (liid, begins, ends) = mediation_details(mediation, delivery, &destinations, generic)?;
        let number = |element: &Element| element.text.parse::<u64>();
        let correlation = fields.optional("correlationID").map(number).transpose();
        let correlation = correlation.map_err(|_| Fault::schema("`correlationID` is no number"))?;
        let implicit = fields.optional("implicitDeactivationAllowed").map(boolean).transpose()?;
        for unsupported in ["productID", "listOfServiceTypes", "taskDetailsExtensions"] {
            if fields.optional(unsupported).is_some() {
                let code = if unsupported == "listOfServiceTypes" { SERVICE } else { generic };
                return Err(Fault::new(code, format!("`{unsupported}` is not supported")));
            }
        }
        fields.end()?;
        let known = KnownDetails { identifiers, correlation, implicit };
        Ok(Self { xid, targets, delivery, destinations, liid, begins, ends, known })
    }

    /// What is delivered.
    pub(crate) fn delivery(&self) -> Delivery {
        self.delivery
    }

    /// The task for the register.
    pub(crate) fn task(self) -> NewTask {
        let delivers = match self.delivery {
            Delivery::X2Only => Delivers::Iri,
            Delivery::X3Only => Delivers::Content,
            Delivery::X2andX3 => Delivers::Both,
        };
        // Serialising texts cannot fail.
        let details: SecretText = serde_json::to_string(&self.known).unwrap_or_default().into();
        NewTask {
            xid: self.xid,
            liid: self.liid,
            targets: self.targets,
            delivers,
            begins: self.begins,
            ends: self.ends,
            content: TaskContent { destinations: self.destinations, details },
        }
    }
}

impl KnownDetails {
    /// What the register has kept of a warrant that is a task.
    pub(crate) fn of(warrant: &Warrant) -> Option<(&ringtap_warrant::Task, Self)> {
        let task = warrant.task.as_ref()?;
        Some((task, serde_json::from_str(&task.content.details).ok()?))
    }

    /// Writes `taskDetails` as it counts now.
    pub(crate) fn write(&self, task: &ringtap_warrant::Task, warrant: &Warrant, writer: &mut Writer) {
        let entered = &warrant.entered;
        let (delivery, mediation) = match entered.delivers {
            Delivers::Iri => (Delivery::X2Only, "HI2Only"),
            Delivers::Content => (Delivery::X3Only, "HI3Only"),
            Delivers::Both => (Delivery::X2andX3, "HI2andHI3"),
        };
        writer.with("taskDetails", |writer| {
            writer.leaf("xId", &task.xid.to_string());
            writer.with("targetIdentifiers", |writer| {
                self.identifiers.iter().for_each(|identifier| identifier.write(writer));
            });
            writer.leaf("deliveryType", delivery.name());
            writer.with("listOfDIDs", |writer| {
                task.content.destinations.iter().for_each(|did| writer.leaf("dId", &did.to_string()));
            });
            writer.with("listOfMediationDetails", |writer| {
                writer.with("mediationDetails", |writer| {
                    writer.leaf("LIID", &liid_text(&entered.liid));
                    writer.leaf("deliveryType", mediation);
                    writer.leaf("StartTime", &time::print(entered.begins));
                    writer.leaf("EndTime", &time::print(entered.ends));
                });
            });
            self.correlation.iter().for_each(|number| writer.leaf("correlationID", &number.to_string()));
            self.implicit.iter().for_each(|is| writer.leaf("implicitDeactivationAllowed", &is.to_string()));
        });
    }
}

fn identifiers(element: &Element) -> Result<Vec<Identifier>, Fault> {
    let mut fields = Fields::of(element);
    let mut identifiers = vec![Identifier::read(fields.required("targetIdentifier")?)?];
    while let Some(next) = fields.optional("targetIdentifier") {
        if identifiers.len() >= MOST_IDENTIFIERS {
            return Err(Fault::schema("a task has at most 16 identifiers here"));
        }
        identifiers.push(Identifier::read(next)?);
    }
    fields.end()?;
    Ok(identifiers)
}

/// The targets of identifiers that all mean the same.
fn targets(identifiers: &[Identifier]) -> Result<Vec<Target>, Fault> {
    let mut all = None;
    for identifier in identifiers {
        let targets = identifier.targets()?;
        if *all.get_or_insert_with(|| targets.clone()) != targets {
            return Err(Fault::new(
                TARGETS_TOGETHER,
                "several identifiers of one task are not supported, unless they mean the same: activate a \
                 task for each",
            ));
        }
    }
    Ok(all.unwrap_or_default())
}

fn destinations(element: &Element, generic: u16) -> Result<Vec<Uuid>, Fault> {
    let mut fields = Fields::of(element);
    let mut dids = Vec::new();
    while let Some(did) = fields.optional("dId") {
        let did = did.text.parse().map_err(|_| Fault::schema("`dId` is no UUID in lower case"))?;
        if dids.contains(&did) {
            return Err(Fault::schema("a `dId` is there twice"));
        }
        dids.push(did);
    }
    if fields.optional("dSId").is_some() {
        return Err(Fault::new(generic, "sets of destinations (`dSId`) are not supported"));
    }
    fields.end()?;
    if dids.is_empty() {
        return Err(Fault::new(DELIVERY, "`listOfDIDs` names no destination"));
    }
    Ok(dids)
}

/// LIID, begin and end.
fn mediation_details(
    list: &Element,
    delivery: Delivery,
    destinations: &[Uuid],
    generic: u16,
) -> Result<(Liid, Option<Nanos>, Option<Nanos>), Fault> {
    let mut fields = Fields::of(list);
    let (one, other) = (fields.optional("mediationDetails"), fields.optional("mediationDetails"));
    let (Some(details), None) = (one, other) else {
        let why = "`listOfMediationDetails` has to have one `mediationDetails`: a task has one LIID";
        return Err(Fault::new(generic, why));
    };
    fields.end()?;
    let mut fields = Fields::of(details);
    let liid = liid(fields.text("LIID")?)?;
    let expected = match delivery {
        Delivery::X2Only => "HI2Only",
        Delivery::X3Only => "HI3Only",
        Delivery::X2andX3 => "HI2andHI3",
    };
    match fields.text("deliveryType")? {
        given if given == expected => {}
        "HI2Only" | "HI3Only" | "HI2andHI3" => {
            let why = format!("what is handed over has to be what the task delivers: {expected}");
            return Err(Fault::new(DELIVERY, why));
        }
        _ => {
            return Err(Fault::schema(
                "a `deliveryType` of `mediationDetails` is HI2Only, HI3Only or HI2andHI3",
            ));
        }
    }
    let moment = |element: &Element| {
        let wrong = || Fault::schema(format!("`{}` is no time with microseconds and a zone", element.name));
        time::parse(&element.text).ok_or_else(wrong)
    };
    let begins = fields.optional("StartTime").map(moment).transpose()?;
    let ends = fields.optional("EndTime").map(moment).transpose()?;
    if let Some(list) = fields.optional("listOfDIDs")
        && self::destinations(list, generic)? != destinations
    {
        return Err(Fault::new(generic, "`mediationDetails` has to name the destinations of the task"));
    }
    for unsupported in ["mediationDetailsExtensions", "serviceScopingOptions"] {
        if fields.optional(unsupported).is_some() {
            let code = if unsupported == "serviceScopingOptions" { SERVICE } else { generic };
            return Err(Fault::new(code, format!("`{unsupported}` is not supported")));
        }
    }
    fields.end()?;
    Ok((liid, begins, ends))
}

/// 1 to 25 characters, or 26 to 50 hex digits (TS 103 280, `LIID`).
fn liid(text: &str) -> Result<Liid, Fault> {
    let wrong = || Fault::schema("an `LIID` is 1 to 25 printable characters, or 26 to 50 hex digits");
    if text.len() <= 25 {
        let is_right = text.bytes().all(|byte| byte.is_ascii_graphic());
        return Liid::of(text.as_bytes()).ok().filter(|_| is_right).ok_or_else(wrong);
    }
    let is_right = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    format!("0x{text}").parse().ok().filter(|_| is_right).ok_or_else(wrong)
}

/// The same, as it was sent.
fn liid_text(liid: &Liid) -> String {
    let octets = liid.octets();
    if octets.iter().all(u8::is_ascii_graphic) {
        return octets.iter().map(|octet| char::from(*octet)).collect();
    }
    liid.text().trim_start_matches("0x").to_owned()
}

/// `xs:boolean`.
fn boolean(element: &Element) -> Result<bool, Fault> {
    match &*element.text {
        "true" | "1" => Ok(true),
        "false" | "0" => Ok(false),
        _ => Err(Fault::schema(format!("`{}` is neither true nor false", element.name))),
    }
}

const MOST_IDENTIFIERS: usize = 16;
