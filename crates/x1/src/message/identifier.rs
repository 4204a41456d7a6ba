//! Identifiers of targets (table 6.2.1.2-2), and the targets of the register that they are.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ringtap_warrant::{SecretText, Target};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::fault::{Fault, TARGET};
use crate::xml::{Element, Fields, Writer};

/// An identifier as it was sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Identifier {
    /// The name of its element.
    pub(crate) name: String,
    /// The element of TS 103 280 within it, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    inner: Option<String>,
    value: SecretText,
}

impl Identifier {
    /// Reads a `targetIdentifier`.
    pub(crate) fn read(element: &Element) -> Result<Self, Fault> {
        let mut fields = Fields::of(element);
        let chosen = fields.any().ok_or_else(|| Fault::schema("a `targetIdentifier` is empty"))?;
        fields.end()?;
        let Some(name) = NAMES.into_iter().find(|name| chosen.is(name)) else {
            return Err(Fault::new(TARGET, "this network element finds no targets by such an identifier"));
        };
        let (inner, value) = match &chosen.children[..] {
            [] => (None, chosen.text.clone()),
            [_] if name.ends_with("Cidr") => {
                let inner = ["IPv4CIDR", "IPv6CIDR"].into_iter().find_map(|inner| {
                    let element = Fields::of(chosen).common(inner).ok()?;
                    element.children.is_empty().then(|| (Some(inner.to_owned()), element.text.clone()))
                });
                inner.ok_or_else(|| wrong(name))?
            }
            _ => return Err(wrong(name)),
        };
        if value.is_empty() {
            return Err(wrong(name));
        }
        Ok(Self { name: name.to_owned(), inner, value })
    }

    /// Writes it as it was read.
    pub(crate) fn write(&self, writer: &mut Writer) {
        writer.with("targetIdentifier", |writer| match &self.inner {
            None => writer.leaf(&self.name, &self.value),
            Some(inner) => writer.with(&self.name, |writer| {
                writer.leaf(&format!("c:{inner}"), &self.value);
            }),
        });
    }

    /// The targets that it is: somebody with any of them is who it means.
    pub(crate) fn targets(&self) -> Result<Vec<Target>, Fault> {
        let value: &str = &self.value;
        let digits = |fewest: usize, most: usize| {
            let is_right =
                (fewest..=most).contains(&value.len()) && value.bytes().all(|b| b.is_ascii_digit());
            if is_right { Ok(()) } else { Err(self.wrong()) }
        };
        match self.name.as_str() {
            "e164Number" | "gpsiMsisdn" => {
                digits(1, 15)?;
                self.number(value)
            }
            "imsi" | "supiimsi" => digits(6, 15).and_then(|()| self.one("imsi", value)),
            "imei" | "peiImei" => digits(14, 14).and_then(|()| self.one("imei", value)),
            "peiImeiCheckDigit" => digits(15, 15).and_then(|()| self.one("imei", value)),
            "peiImeisv" => digits(16, 16).and_then(|()| self.one("imei", value)),
            "macAddress" => {
                let is_right = value.len() == 17 && value.bytes().skip(2).step_by(3).all(|byte| byte == b':');
                if is_right { self.one("mac", value) } else { Err(self.wrong()) }
            }
            "ipv4Address" if value.parse::<Ipv4Addr>().is_ok() => self.one("address", value),
            "ipv6Address" if value.parse::<Ipv6Addr>().is_ok() => self.one("address", value),
            "ipv4Cidr" | "ipv6Cidr" => {
                let network = value.split_once('/').and_then(|(address, _)| address.parse::<IpAddr>().ok());
                let is_right =
                    network.is_some_and(|network| network.is_ipv4() == self.name.starts_with("ipv4"));
                if is_right { self.one("address", value) } else { Err(self.wrong()) }
            }
            "sipUri" => self.sip(value),
            "telUri" => self.tel(value),
            "impu" if value.starts_with("tel:") => self.tel(value),
            "impu" if value.starts_with("sip") => self.sip(value),
            "nai" | "supinai" | "gpsiNai" => match value.contains('@') {
                true => self.one("user~", value),
                // Without its realm it would be a user of any.
                false => self.one("user", value),
            },
            "radiusAttribute" => self.attribute(),
            _ => Err(self.wrong()),
        }
    }

    /// A number with its country code: of SIP, and of a session.
    fn number(&self, digits: &str) -> Result<Vec<Target>, Fault> {
        let digits = Zeroizing::new(format!("+{digits}"));
        Ok([self.one("number", &digits)?, self.one("msisdn", &digits)?].concat())
    }

    fn sip(&self, value: &str) -> Result<Vec<Target>, Fault> {
        let rest = value.strip_prefix("sip:").or_else(|| value.strip_prefix("sips:"));
        let rest = rest.ok_or_else(|| self.wrong())?;
        // A star has a meaning in targets, and none in a URI.
        if rest.contains('*') { Err(self.wrong()) } else { self.one("sip", rest) }
    }

    fn tel(&self, value: &str) -> Result<Vec<Target>, Fault> {
        let number = value.strip_prefix("tel:+").ok_or_else(|| {
            Fault::new(TARGET, format!("`{}` is no number with its country code: `tel:+...`", self.name))
        })?;
        let number = number.split(';').next().unwrap_or_default();
        let digits: Zeroizing<String> =
            Zeroizing::new(number.chars().filter(|c| !matches!(c, '-' | '.' | '(' | ')')).collect());
        let is_right = (1..=15).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
        if is_right { self.number(&digits) } else { Err(self.wrong()) }
    }

    /// One attribute of RADIUS: type, length and value (RFC 2865 section 5).
    fn attribute(&self) -> Result<Vec<Target>, Fault> {
        let digits: Vec<u8> = self.value.chars().filter_map(|c| c.to_digit(16)).map(|d| d as u8).collect();
        let digits = Zeroizing::new(digits);
        let (pairs, []) = digits.as_chunks::<2>() else { return Err(self.wrong()) };
        let bytes = Zeroizing::new(pairs.iter().map(|[high, low]| high << 4 | low).collect::<Vec<u8>>());
        let [kind, length, value @ ..] = &bytes[..] else { return Err(self.wrong()) };
        let is_whole = digits.len() == self.value.len() && usize::from(*length) == bytes.len();
        if !is_whole || value.is_empty() {
            return Err(self.wrong());
        }
        let text = || std::str::from_utf8(value).map_err(|_| self.wrong());
        match (kind, value) {
            (1, _) => self.one("user", text()?),
            (30, _) => self.one("called", text()?),
            (31, _) => self.one("calling", text()?),
            (8, [a, b, c, d]) => self.one("address", &Ipv4Addr::new(*a, *b, *c, *d).to_string()),
            _ => Err(Fault::new(
                TARGET,
                "of RADIUS, targets are found by User-Name, Calling-Station-Id, Called-Station-Id and \
                 Framed-IP-Address",
            )),
        }
    }

    fn one(&self, kind: &str, value: &str) -> Result<Vec<Target>, Fault> {
        let text = Zeroizing::new(format!("{kind}:{value}"));
        let target = text.parse::<Target>();
        target.map(|target| vec![target]).map_err(|error| {
            Fault::new(TARGET, format!("`{}` cannot be a target: {}", self.name, error.problem))
        })
    }

    fn wrong(&self) -> Fault {
        wrong(&self.name)
    }
}

fn wrong(name: &str) -> Fault {
    Fault::schema(format!("`{name}` is not as the schema has it"))
}

/// Those by which targets are found. Ports, tunnels, roles of a call, mail addresses and hashes are not among
/// them.
const NAMES: [&str; 20] = [
    "e164Number",
    "gpsiMsisdn",
    "imsi",
    "supiimsi",
    "imei",
    "peiImei",
    "peiImeiCheckDigit",
    "peiImeisv",
    "macAddress",
    "ipv4Address",
    "ipv6Address",
    "ipv4Cidr",
    "ipv6Cidr",
    "sipUri",
    "telUri",
    "impu",
    "nai",
    "supinai",
    "gpsiNai",
    "radiusAttribute",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::xml::{X1, read};

    fn identifier(inner: &str) -> Result<Identifier, Fault> {
        let common = crate::xml::COMMON;
        let text = format!("<targetIdentifier xmlns='{X1}' xmlns:c='{common}'>{inner}</targetIdentifier>");
        Identifier::read(&read(text.as_bytes()).unwrap())
    }

    fn targets(inner: &str) -> Vec<String> {
        let identifier = identifier(inner).unwrap();
        identifier.targets().unwrap().iter().map(|target| target.text().to_string()).collect()
    }

    #[test]
    fn identifiers_are_targets_of_the_register() {
        let number = ["number:441601234567", "msisdn:441601234567"];
        assert_eq!(targets("<e164Number>441601234567</e164Number>"), number);
        assert_eq!(targets("<gpsiMsisdn>441601234567</gpsiMsisdn>"), number);
        assert_eq!(targets("<telUri>tel:+44-160-1234567;isub=1</telUri>"), number);
        assert_eq!(targets("<impu>tel:+441601234567</impu>"), number);
        assert_eq!(targets("<imsi>234150999999999</imsi>"), ["imsi:234150999999999"]);
        assert_eq!(targets("<supiimsi>234150999999999</supiimsi>"), ["imsi:234150999999999"]);
        assert_eq!(targets("<imei>35152304010184</imei>"), ["imei:35152304010184"]);
        assert_eq!(targets("<peiImeisv>3515230401018401</peiImeisv>"), ["imei:35152304010184"]);
        assert_eq!(targets("<macAddress>02:00:5e:10:00:01</macAddress>"), ["mac:02:00:5e:10:00:01"]);
        assert_eq!(targets("<ipv4Address>203.0.113.7</ipv4Address>"), ["address:203.0.113.7/32"]);
        let six = "2001:0db8:0000:0000:0000:0000:0000:0001";
        assert_eq!(targets(&format!("<ipv6Address>{six}</ipv6Address>")), ["address:2001:db8::1/128"]);
        let four = "<c:IPv4CIDR>203.0.113.0/24</c:IPv4CIDR>";
        assert_eq!(targets(&format!("<ipv4Cidr>{four}</ipv4Cidr>")), ["address:203.0.113.0/24"]);
        assert_eq!(targets(&format!("<ipv6Cidr>{six}/56</ipv6Cidr>")), ["address:2001:db8::/56"]);
        assert_eq!(
            targets("<sipUri>sips:Alice@example.org;transport=tcp</sipUri>"),
            ["sip:alice@example.org"]
        );
        assert_eq!(targets("<impu>sip:alice@example.org</impu>"), ["sip:alice@example.org"]);
        assert_eq!(targets("<nai>alice@example.org</nai>"), ["user~:alice@example.org"]);
        assert_eq!(targets("<nai>alice</nai>"), ["user:alice"]);
        assert_eq!(targets("<radiusAttribute>0107416c696365</radiusAttribute>"), ["user:Alice"]);
        assert_eq!(targets("<radiusAttribute>0806CB007107</radiusAttribute>"), ["address:203.0.113.7/32"]);
        assert_eq!(targets("<radiusAttribute>1F0641422d31</radiusAttribute>"), ["calling:ab1"]);
    }

    #[test]
    fn what_is_not_found_is_refused_and_not_repeated() {
        let code = |inner: &str| {
            let fault = identifier(inner).and_then(|identifier| identifier.targets()).unwrap_err();
            assert!(!fault.text.contains("zebra") && !fault.text.contains("1601"), "{fault:?}");
            fault.code
        };
        for unsupported in [
            "<tcpPort>5060</tcpPort>",
            "<emailAddress>zebra@example.org</emailAddress>",
            "<h323Uri>h323:zebra</h323Uri>",
            "<impi>zebra@example.org</impi>",
            "<callPartyRole>Originating</callPartyRole>",
            "<gtpuTunnelId>7</gtpuTunnelId>",
            "<c:e164Number>441601234567</c:e164Number>",
            "<telUri>tel:1601234567;phone-context=+44</telUri>",
            "<ipv4Cidr><c:IPv4CIDR>10.0.0.0/8</c:IPv4CIDR></ipv4Cidr>",
            "<sipUri>sip:example.org</sipUri>",
            "<radiusAttribute>0406c0000201</radiusAttribute>",
        ] {
            assert_eq!(code(unsupported), TARGET, "{unsupported}");
        }
        for wrong in [
            "",
            "<e164Number>+441601234567</e164Number>",
            "<e164Number></e164Number>",
            "<e164Number><c:digits>1601</c:digits></e164Number>",
            "<imsi>23415</imsi>",
            "<imei>351523040101841</imei>",
            "<macAddress>02-00-5e-10-00-01</macAddress>",
            "<ipv4Address>2001:db8::1</ipv4Address>",
            "<ipv4Address>203.0.113.0/24</ipv4Address>",
            "<ipv6Cidr>203.0.113.0/24</ipv6Cidr>",
            "<ipv4Cidr><c:IPv4CIDR>203.0.113.0/24</c:IPv4CIDR><c:IPv4CIDR/></ipv4Cidr>",
            "<sipUri>zebra@example.org</sipUri>",
            "<sipUri>sip:zebra*@example.org</sipUri>",
            "<impu>zebra</impu>",
            "<radiusAttribute>0108416c696365</radiusAttribute>",
            "<radiusAttribute>zz</radiusAttribute>",
            "<radiusAttribute>010</radiusAttribute>",
            "<imsi>234150999999999</imsi><imsi>234150999999998</imsi>",
        ] {
            assert_eq!(code(wrong), crate::fault::SCHEMA, "{wrong}");
        }
    }
}
