//! Destinations (clause 6.3.1.2).

use std::net::{IpAddr, SocketAddr};

use ringtap_warrant::{SecretText, Uuid};
use serde::{Deserialize, Serialize};

use crate::fault::{ADDRESS, CREATE_DESTINATION, Fault};
use crate::xml::{Element, Fields, Writer};

/// Where product is delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DestinationDetails {
    pub(crate) did: Uuid,
    pub(crate) known: KnownDestination,
}

/// What the register keeps of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KnownDestination {
    pub(crate) name: Option<SecretText>,
    pub(crate) delivery: Delivery,
    pub(crate) address: SocketAddr,
}

/// `DeliveryType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Delivery {
    X2Only,
    X3Only,
    X2andX3,
}

impl Delivery {
    pub(crate) fn read(text: &str) -> Result<Self, Fault> {
        let all = [Self::X2Only, Self::X3Only, Self::X2andX3];
        let wrong = || Fault::schema("a `deliveryType` is X2Only, X3Only or X2andX3");
        all.into_iter().find(|one| one.name() == text).ok_or_else(wrong)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::X2Only => "X2Only",
            Self::X3Only => "X3Only",
            Self::X2andX3 => "X2andX3",
        }
    }

    pub(crate) fn iri(self) -> bool {
        self != Self::X3Only
    }

    pub(crate) fn content(self) -> bool {
        self != Self::X2Only
    }
}

impl DestinationDetails {
    /// Reads a `destinationDetails`.
    pub(crate) fn read(element: &Element) -> Result<Self, Fault> {
        let mut fields = Fields::of(element);
        let did = fields.uuid("dId")?;
        let name = fields.optional("friendlyName").map(|name| name.text.clone());
        if name.as_ref().is_some_and(|name| name.len() > LONGEST_NAME) {
            return Err(Fault::schema("a `friendlyName` has at most 255 bytes here"));
        }
        let delivery = Delivery::read(fields.text("deliveryType")?)?;
        let address = address(fields.required("deliveryAddress")?)?;
        if fields.optional("destinationDetailsExtensions").is_some() {
            let why = "extensions of a destination are not supported";
            return Err(Fault::new(CREATE_DESTINATION, why));
        }
        fields.end()?;
        Ok(Self { did, known: KnownDestination { name, delivery, address } })
    }

    /// Writes it.
    pub(crate) fn write(&self, writer: &mut Writer) {
        let KnownDestination { name, delivery, address } = &self.known;
        writer.with("destinationDetails", |writer| {
            writer.leaf("dId", &self.did.to_string());
            name.iter().for_each(|name| writer.leaf("friendlyName", name));
            writer.leaf("deliveryType", delivery.name());
            writer.with("deliveryAddress", |writer| {
                writer.with("ipAddressAndPort", |writer| {
                    writer.with("c:address", |writer| match address.ip() {
                        IpAddr::V4(four) => writer.leaf("c:IPv4Address", &four.to_string()),
                        IpAddr::V6(six) => {
                            let groups: Vec<String> =
                                six.segments().iter().map(|group| format!("{group:04x}")).collect();
                            writer.leaf("c:IPv6Address", &groups.join(":"));
                        }
                    });
                    writer.with("c:port", |writer| writer.leaf("c:TCPPort", &address.port().to_string()));
                });
            });
        });
    }
}

/// An address and a port of TCP.
fn address(element: &Element) -> Result<SocketAddr, Fault> {
    let mut fields = Fields::of(element);
    let Some(chosen) = fields.optional("ipAddressAndPort") else {
        let why = "product is delivered to an address and a port of TCP alone";
        return Err(Fault::new(ADDRESS, why));
    };
    fields.end()?;
    let mut fields = Fields::of(chosen);
    let (address, port) = (fields.common("address")?, fields.common("port")?);
    fields.end()?;
    let wrong = || Fault::schema("`ipAddressAndPort` has no address or no port");
    let ip = ["IPv4Address", "IPv6Address"].into_iter().find_map(|name| {
        let text = &Fields::of(address).common(name).ok()?.text;
        text.parse::<IpAddr>().ok().filter(|ip| ip.is_ipv4() == (name == "IPv4Address"))
    });
    let Ok(port) = Fields::of(port).common("TCPPort") else {
        return Err(Fault::new(ADDRESS, "product is delivered over TCP alone"));
    };
    let port = port.text.parse::<u16>().ok().filter(|port| *port > 0);
    Ok(SocketAddr::new(ip.ok_or_else(wrong)?, port.ok_or_else(wrong)?))
}

const LONGEST_NAME: usize = 255;
