//! Reads targets.

use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

use ringtap_model::Network;

use super::{Shape, Target, TargetKind, normal};

/// Why a text is no target. It does not have the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is no target{}: {problem}", of_kind(*kind))]
pub struct NotATarget {
    /// Which kind it is, as far as that is known.
    pub kind: Option<TargetKind>,
    /// What is wrong, and what would be right.
    pub problem: &'static str,
}

fn of_kind(kind: Option<TargetKind>) -> String {
    kind.map_or(String::new(), |kind| format!(" of the kind `{}:`", kind.name()))
}

impl FromStr for Target {
    type Err = NotATarget;

    fn from_str(text: &str) -> Result<Self, NotATarget> {
        let (name, value) = text.trim().split_once(':').ok_or(NotATarget { kind: None, problem: NO_KIND })?;
        let kind = TargetKind::ALL.into_iter().find(|kind| kind.name() == name);
        let kind = kind.ok_or(NotATarget { kind: None, problem: NO_KIND })?;
        let wrong = |problem| NotATarget { kind: Some(kind), problem };
        let value = value.trim();
        if value.is_empty() {
            return Err(wrong("nothing follows the colon"));
        }
        if value.len() > LONGEST {
            return Err(wrong("it has more than 253 bytes"));
        }
        if value.chars().any(char::is_control) {
            return Err(wrong("it has control characters"));
        }
        let takes_star = matches!(kind, TargetKind::Sip | TargetKind::Number);
        let (shape, value) = if takes_star { shape(value).map_err(wrong)? } else { (Shape::Whole, value) };
        let value = match kind {
            TargetKind::Sip => sip(value, shape),
            TargetKind::Number => number(value, shape),
            _ => of_session(kind, value),
        };
        let value = value.map_err(wrong)?;
        if shape != Shape::Whole && value.chars().filter(|c| *c != '@').count() < FEWEST {
            return Err(wrong(
                "beside the star, name at least 3 characters: it would be about too many people",
            ));
        }
        Ok(Self { kind, value: value.into(), shape })
    }
}

/// The normal form of a name of a session.
fn of_session(kind: TargetKind, value: &str) -> Result<String, &'static str> {
    let digits = |least: usize, most: usize, text: Option<String>| {
        text.filter(|digits| (least..=most).contains(&digits.len()))
    };
    match kind {
        TargetKind::UserAnyCase => {
            let normal::UserName { bare, realms } = normal::user_name(value);
            let [behind, before] = realms;
            let is_one = !bare.contains('@') && (behind.is_none() || before.is_none());
            match behind.or(before) {
                _ if bare.is_empty() || bare.starts_with('@') => Err("no user is named"),
                None if is_one => Ok(bare),
                Some(realm) if is_one && !realm.contains(['\\', '/']) => Ok(format!("{bare}@{realm}")),
                _ => Err("name one user and one realm at most: `user~:alice@example.org`"),
            }
        }
        TargetKind::Calling | TargetKind::Called => Some(normal::station(value))
            .filter(|text| !text.is_empty())
            .ok_or("it has no letter and no digit"),
        TargetKind::Mac => normal::mac(value).ok_or("write 12 hex digits: `mac:02:00:5e:10:00:01`"),
        TargetKind::Imsi => digits(6, 15, normal::digits(value)).ok_or("write 6 to 15 digits"),
        TargetKind::Msisdn => digits(3, 15, normal::number(value))
            .ok_or("write 3 to 15 digits with the country code: `msisdn:+441601234567`"),
        TargetKind::Imei => imei(value),
        TargetKind::Address => address(value),
        _ => Ok(value.to_owned()),
    }
}

fn imei(value: &str) -> Result<String, &'static str> {
    let all = normal::digits(value).unwrap_or_default();
    let digits = normal::imei(value).ok_or("write 14, 15 or 16 digits")?;
    // Spare digits are sent as 0 (3GPP TS 23.003 clause 6.2.1).
    if all.len() == 15 && !all.ends_with(check_digit(&digits)) && !all.ends_with('0') {
        return Err("its check digit, the last one, does not fit the others: is a digit wrong?");
    }
    Ok(digits)
}

/// The check digit of 14 digits (3GPP TS 23.003 annex B).
fn check_digit(digits: &str) -> char {
    let sum: u32 = digits
        .bytes()
        .map(|byte| u32::from(byte - b'0'))
        .enumerate()
        .map(|(at, digit)| if at % 2 == 0 { digit } else { digit * 2 % 10 + digit / 5 })
        .sum();
    char::from_digit((10 - sum % 10) % 10, 10).unwrap_or('0')
}

fn address(value: &str) -> Result<String, &'static str> {
    const WRONG: &str = "write an address or a network: `address:203.0.113.0/24`, `address:2001:db8::/56`";
    let network: Network = value.parse().map_err(|_| WRONG)?;
    let bits: u8 = match value.split_once('/') {
        Some((_, bits)) => bits.parse().map_err(|_| WRONG)?,
        None => {
            if network.ends().0.is_ipv4() {
                32
            } else {
                128
            }
        }
    };
    let (first, bits) = match network.ends().0 {
        // An IPv4 address within IPv6 (RFC 4291 section 2.5.5.2) is that IPv4 address.
        IpAddr::V6(six) if bits >= 96 => match six.to_ipv4_mapped() {
            Some(four) => (IpAddr::V4(four), bits - 96),
            None => (IpAddr::V6(six), bits),
        },
        other => (other, bits),
    };
    let fewest = if first.is_ipv4() { WIDEST_IPV4 } else { WIDEST_IPV6 };
    if bits < fewest {
        return Err("the network is too wide for a target: at least /16 of IPv4, /32 of IPv6; write several");
    }
    Ok(format!("{first}/{bits}"))
}

/// Takes the star off.
fn shape(value: &str) -> Result<(Shape, &str), &'static str> {
    let (shape, rest) = match (value.strip_prefix('*'), value.strip_suffix('*')) {
        (None, None) => (Shape::Whole, value),
        (Some(rest), None) => (Shape::Ending, rest),
        (None, Some(rest)) => (Shape::Beginning, rest),
        (Some(_), Some(_)) => return Err("a star stands at one end: name the beginning or the end"),
    };
    if rest.contains('*') {
        return Err("a star stands at one end alone");
    }
    Ok((shape, rest))
}

fn number(value: &str, shape: Shape) -> Result<String, &'static str> {
    let digits = if shape == Shape::Ending { last_digits(value) } else { normal::number(value) };
    digits.ok_or("write a telephone number, with a star at one end if need be: `number:+44160*`")
}

/// The digits at the end of a number, where `00` is no prefix.
fn last_digits(value: &str) -> Option<String> {
    let digits = normal::number(&format!("1{value}"))?[1..].to_owned();
    (!digits.is_empty()).then_some(digits)
}

fn sip(value: &str, shape: Shape) -> Result<String, &'static str> {
    const NO_HOST: &str = "name a host, too: `sip:alice@example.org`, or `sip:alice@*` for any";
    let (user, host) = match value.rsplit_once('@') {
        Some((user, host)) => (user, Some(host)),
        None => (value, None),
    };
    const WRONG_HOST: &str = "the host is no name and no address";
    match (shape, host) {
        (Shape::Whole, Some(_)) => {
            let name = normal::sip(value).ok_or(NO_HOST)?.whole;
            match name.split_once('@').unwrap_or_default() {
                (_, "") => Err(NO_HOST),
                ("", _) => Err("name a user, or a star for every user of the host: `sip:*@example.org`"),
                (_, host) if !is_host(host) => Err(WRONG_HOST),
                _ => Ok(name),
            }
        }
        (Shape::Whole, None) => Err(NO_HOST),
        (Shape::Beginning, Some(host)) if !host.is_empty() && !is_host(host.trim_end_matches('.')) => {
            Err(WRONG_HOST)
        }
        (Shape::Beginning, Some(host)) => Ok(format!("{}@{}", normal::sip_user(user), normal::lower(host))),
        (Shape::Beginning, None) => Ok(normal::sip_user(user)),
        (Shape::Ending, Some(host)) => {
            let (user, host) =
                (last_digits(user).unwrap_or_else(|| normal::user_text(user)), normal::host(host));
            if is_host(&host) { Ok(format!("{user}@{host}")) } else { Err(WRONG_HOST) }
        }
        (Shape::Ending, None) if last_digits(user).is_some() => {
            Err("name the host, too, as in `sip:*6789@example.org`, or write `number:*6789`")
        }
        (Shape::Ending, None) if is_host(user.trim_start_matches('.')) => Ok(normal::lower(user)),
        (Shape::Ending, None) => Err(WRONG_HOST),
    }
}

/// Whether it can be a host in its normal form.
fn is_host(host: &str) -> bool {
    let is_name = host.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'));
    is_name && !host.is_empty() && !host.ends_with('.') || host.parse::<Ipv6Addr>().is_ok()
}

const NO_KIND: &str = "begin with what it is about: user:, user~:, calling:, called:, mac:, imsi:, msisdn:, \
                       imei:, address:, sip: or number:";
/// Bytes of the longest value: an attribute of RADIUS has no more (RFC 2865 section 5).
const LONGEST: usize = 253;
/// Characters beside a star.
const FEWEST: usize = 3;
/// Bits of the widest networks.
const WIDEST_IPV4: u8 = 16;
/// See [`WIDEST_IPV4`].
const WIDEST_IPV6: u8 = 32;
