//! The token of an Identity header: PASSporT, RFC 8225, with the claims of SHAKEN, RFC 8588.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use jiff::fmt::rfc2822;
use ringtap_model::{Attestation, Call, IdentityHeader};
use ringtap_wire::sip::{Identity, unfolded};
use serde::Deserialize;

use crate::numbers::{canonical, is_same};

/// Signatures of one header that are compared: what a compact form stands for may be in one of two headers
/// each for either party.
pub const MOST_SIGNATURES: usize = 4;

/// A token that could be read.
#[derive(Debug)]
pub(crate) struct Passport {
    /// URI of its certificate.
    pub(crate) certificate: String,
    /// What may have been signed: one text, or several of which a compact form is one.
    pub(crate) signed: Vec<Vec<u8>>,
    /// The two numbers of an ES256 signature, RFC 7518 section 3.4.
    pub(crate) signature: [u8; 64],
    /// When it was signed, in seconds since 1970.
    pub(crate) issued: u64,
    pub(crate) attestation: Option<Attestation>,
    pub(crate) origination_id: Option<String>,
    /// None in the compact form, whose numbers are those of the call.
    pub(crate) parties: Option<(Party, Parties)>,
}

/// RFC 8225 section 4.
#[derive(Debug, Deserialize)]
struct TokenHeader {
    alg: String,
    typ: String,
    x5u: String,
    ppt: Option<String>,
}

/// RFC 8225 section 5, RFC 8588 section 4.
#[derive(Debug, Deserialize)]
struct Claims {
    iat: serde_json::Value,
    orig: Party,
    dest: Parties,
    attest: Option<String>,
    origid: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct Party {
    tn: Option<String>,
    uri: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct Parties {
    #[serde(default)]
    tn: Vec<String>,
    #[serde(default)]
    uri: Vec<String>,
}

impl Passport {
    /// Reads the header of a call. The error says what is wrong with it.
    pub(crate) fn read(header: &IdentityHeader, value: &str, call: &Call) -> Result<Self, &'static str> {
        let value: Vec<u8> = unfolded(value.as_bytes()).collect();
        let identity = Identity::parse(&value).ok_or("it does not have three parts")?;
        let is_shaken = |extension: &str| extension.eq_ignore_ascii_case("shaken");
        let extension = identity.extension.map(String::from_utf8_lossy);
        if identity.algorithm.is_some_and(|name| name != b"ES256") {
            return Err("its algorithm is not ES256");
        }
        if extension.is_some_and(|extension| !is_shaken(&extension)) {
            return Err("its extension is not shaken");
        }
        let info = identity.info.map(|info| String::from_utf8_lossy(info).into_owned());
        let signature = decode(identity.signature).ok_or("its signature is no base64")?;
        let signature = signature.try_into().map_err(|_| "its signature does not have 64 bytes")?;
        if identity.is_compact() {
            let info = info.ok_or("its compact form does not name a certificate")?;
            return Self::compact(info, signature, header, call);
        }
        let token: TokenHeader = json(identity.header).ok_or("its header cannot be read")?;
        if token.alg != "ES256" || !token.typ.eq_ignore_ascii_case("passport") {
            return Err("its header is not that of a passport signed with ES256");
        }
        if token.ppt.is_some_and(|extension| !is_shaken(&extension)) {
            return Err("its extension is not shaken");
        }
        if info.is_some_and(|info| info != token.x5u) {
            return Err("it names two certificates");
        }
        let claims: Claims = json(identity.claims).ok_or("its claims cannot be read")?;
        let attestation = claims.attest.as_deref().map(|name| Attestation::from_name(name).ok_or(()));
        Ok(Self {
            certificate: token.x5u,
            signed: vec![[identity.header, b".", identity.claims].concat()],
            signature,
            issued: seconds(&claims.iat).ok_or("its date cannot be read")?,
            attestation: attestation.transpose().map_err(|()| "its attestation is not A, B or C")?,
            origination_id: claims.origid.map(shortened),
            parties: Some((claims.orig, claims.dest)),
        })
    }

    /// What a compact form stands for, RFC 8225 section 7: of the numbers and the date of the same message,
    /// keys in order, without white space (section 9).
    fn compact(
        info: String,
        signature: [u8; 64],
        header: &IdentityHeader,
        call: &Call,
    ) -> Result<Self, &'static str> {
        let date = header.date.as_deref().ok_or("its compact form needs a Date header")?;
        let date = rfc2822::DateTimeParser::new().relaxed_weekday(true).parse_timestamp(date);
        let issued = date.ok().and_then(|date| u64::try_from(date.as_second()).ok());
        let issued = issued.ok_or("the Date header that its compact form needs cannot be read")?;
        let token = serde_json::json!({ "alg": "ES256", "typ": "passport", "x5u": info });
        let mut signed = Vec::new();
        for origin in callers(call) {
            for destination in callees(call) {
                let text = format!(
                    "{{\"dest\":{{{}}},\"iat\":{issued},\"orig\":{{{}}}}}",
                    destination.claim(true),
                    origin.claim(false)
                );
                let encode = |text: &str| BASE64_URL_SAFE_NO_PAD.encode(text);
                signed.push(format!("{}.{}", encode(&token.to_string()), encode(&text)).into_bytes());
            }
        }
        signed.dedup();
        signed.truncate(MOST_SIGNATURES);
        let (attestation, origination_id, parties) = (None, None, None);
        Ok(Self { certificate: info, signed, signature, issued, attestation, origination_id, parties })
    }

    /// The first claim about a party that is not true of the call.
    pub(crate) fn other_party(&self, call: &Call) -> Option<&'static str> {
        let (origin, destinations) = self.parties.as_ref()?;
        // A caller that is withheld cannot be compared.
        let callers = callers(call);
        let is_origin = callers.iter().all(Address::is_withheld)
            || callers.iter().any(|caller| {
                origin.tn.as_deref().is_some_and(|number| caller.is_number(number))
                    || origin.uri.as_deref().is_some_and(|uri| caller.is_uri(uri))
            });
        let is_destination = callees(call).iter().any(|callee| {
            destinations.tn.iter().any(|number| callee.is_number(number))
                || destinations.uri.iter().any(|uri| callee.is_uri(uri))
        });
        match (is_origin, is_destination) {
            (false, _) => Some("caller"),
            (true, false) => Some("callee"),
            (true, true) => None,
        }
    }
}

/// A party as the headers of the call name it.
#[derive(Debug)]
struct Address {
    /// Its digits, where it is a number.
    number: Option<String>,
    user: String,
    host: String,
}

impl Address {
    fn of(user: Option<&String>, host: Option<&String>) -> Option<Self> {
        let (user, host) = (user.cloned().unwrap_or_default(), host.cloned().unwrap_or_default());
        (!user.is_empty() || !host.is_empty()).then(|| Self { number: canonical(&user), user, host })
    }

    /// RFC 3323 section 4.1.1.3, and what boxes write.
    fn is_withheld(&self) -> bool {
        let name = self.user.to_ascii_lowercase();
        let names = ["", "anonymous", "unavailable", "restricted", "unknown", "private"];
        names.contains(&name.as_str()) || self.host.eq_ignore_ascii_case("anonymous.invalid")
    }

    fn is_number(&self, signed: &str) -> bool {
        let Some(signed) = canonical(signed) else { return false };
        self.number.as_deref().is_some_and(|number| is_same(&signed, number))
    }

    fn is_uri(&self, signed: &str) -> bool {
        let uri = signed.split(';').next().unwrap_or_default();
        let own = format!("{}@{}", self.user, self.host);
        let rest = uri.split_once(':').map_or(uri, |(_, rest)| rest);
        // The host without regard to case, the user with it (RFC 3261 section 19.1.4).
        match (rest.rsplit_once('@'), own.rsplit_once('@')) {
            (Some((user, host)), Some((own_user, own_host))) => {
                user == own_user && host.eq_ignore_ascii_case(own_host)
            }
            _ => false,
        }
    }

    /// The claim that a compact form has of it.
    fn claim(&self, is_list: bool) -> String {
        let (name, value) = match &self.number {
            Some(number) => ("tn", number.clone()),
            None => ("uri", format!("sip:{}@{}", self.user, self.host)),
        };
        let value = serde_json::Value::from(value);
        if is_list { format!("\"{name}\":[{value}]") } else { format!("\"{name}\":{value}") }
    }
}

fn callers(call: &Call) -> Vec<Address> {
    let from = Address::of(call.from_user.as_ref(), call.from_host.as_ref());
    let asserted = Address::of(call.asserted_identity.as_ref(), call.from_host.as_ref());
    from.into_iter().chain(asserted).collect()
}

fn callees(call: &Call) -> Vec<Address> {
    let to = Address::of(call.to_user.as_ref(), call.to_host.as_ref());
    let uri = Address::of(call.ruri_user.as_ref(), call.ruri_host.as_ref());
    to.into_iter().chain(uri).collect()
}

fn decode(text: &[u8]) -> Option<Vec<u8>> {
    BASE64_URL_SAFE_NO_PAD.decode(text).ok()
}

fn json<T: for<'de> Deserialize<'de>>(text: &[u8]) -> Option<T> {
    serde_json::from_slice(&decode(text)?).ok()
}

/// A NumericDate (RFC 7519 section 2); drafts of RFC 8225 and some signers write it as text.
fn seconds(date: &serde_json::Value) -> Option<u64> {
    let text = || date.as_str()?.parse().ok();
    date.as_u64().or_else(|| date.as_f64().filter(|date| *date >= 0.0).map(|date| date as u64)).or_else(text)
}

/// Longest text of an origination id that a record keeps: an UUID has 36 characters.
const LONGEST_ID: usize = 128;

fn shortened(mut text: String) -> String {
    let end = (0..=LONGEST_ID.min(text.len())).rev().find(|&end| text.is_char_boundary(end));
    text.truncate(end.unwrap_or(0));
    text
}
