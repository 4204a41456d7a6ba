//! How much cross traffic a scenario has, and of what kinds: traffic other than telephony.

use std::str::FromStr;

use crate::error::Error;
use crate::share::Mix;

/// Rate and kinds of cross traffic. Its addresses are reserved for benchmarks (198.18.0.0/15, RFC 2544;
/// 2001:2::/48, RFC 5180); calls do not use them.
#[derive(Clone, Debug, PartialEq)]
pub struct Cross {
    /// Mean rate: packets are independent of each other.
    pub rate: Rate,
    /// Kinds, by share of the flows.
    pub kinds: Mix<CrossKind>,
}

/// A rate of frames. Written `100M` or `100Mbit` (bits per second), or `50kpps` (packets per second); k, M
/// and G are 1000 each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rate {
    /// Bits of frames per second, from the Ethernet header on, without preamble and check sequence.
    Bits(f64),
    /// Frames per second.
    Packets(f64),
}

/// The kind of a flow of cross traffic. Written in lower case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrossKind {
    /// TCP connections to port 443 that are opened, fetch something and are closed.
    Web,
    /// UDP to port 443, mostly full packets.
    Quic,
    /// Questions and answers, UDP port 53.
    Dns,
    /// UDP datagrams in the shortest frames that Ethernet has.
    Small,
}

impl Cross {
    /// Cross traffic at that rate: web, QUIC, DNS and small packets in the ratio 5 : 3 : 1 : 1.
    pub fn new(rate: Rate) -> Self {
        let kinds =
            [(CrossKind::Web, 5.0), (CrossKind::Quic, 3.0), (CrossKind::Dns, 1.0), (CrossKind::Small, 1.0)];
        let kinds = Mix::new(kinds.to_vec()).unwrap_or_else(|| Mix::only(CrossKind::Web));
        Self { rate, kinds }
    }
}

impl FromStr for Rate {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = || Error::Model { given: text.to_owned(), right: RIGHT };
        let (number, packets) = match text.strip_suffix("pps") {
            Some(number) => (number, true),
            None => (text.strip_suffix("bit/s").or(text.strip_suffix("bit")).unwrap_or(text), false),
        };
        let (number, factor) = match number.char_indices().last() {
            Some((at, 'k' | 'K')) => (&number[..at], 1e3),
            Some((at, 'M')) => (&number[..at], 1e6),
            Some((at, 'G')) => (&number[..at], 1e9),
            _ => (number, 1.0),
        };
        let rate = number.trim().parse::<f64>().map_err(|_| wrong())? * factor;
        match packets {
            true if (1e-3..=1e9).contains(&rate) => Ok(Self::Packets(rate)),
            false if (1.0..=1e12).contains(&rate) => Ok(Self::Bits(rate)),
            _ => Err(wrong()),
        }
    }
}

impl FromStr for CrossKind {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "web" => Ok(Self::Web),
            "quic" => Ok(Self::Quic),
            "dns" => Ok(Self::Dns),
            "small" => Ok(Self::Small),
            _ => Err(Error::Model { given: text.to_owned(), right: "web, quic, dns or small" }),
        }
    }
}

const RIGHT: &str = "bits per second as 100M or 2.5G, or packets per second as 50kpps, up to 1000G or 1Gpps";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_written_with_units() {
        let cases = [
            ("100M", Rate::Bits(1e8)),
            ("2.5Gbit/s", Rate::Bits(2.5e9)),
            ("64kbit", Rate::Bits(64e3)),
            ("1000", Rate::Bits(1e3)),
            ("50kpps", Rate::Packets(5e4)),
            ("1.5Mpps", Rate::Packets(1.5e6)),
        ];
        for (text, rate) in cases {
            assert_eq!(text.parse(), Ok(rate), "{text}");
        }
        for wrong in ["", "M", "fast", "-1M", "0", "NaN", "5T", "pps"] {
            let error = wrong.parse::<Rate>().unwrap_err().to_string();
            assert!(error.contains("50kpps"), "{error}");
        }
    }
}
