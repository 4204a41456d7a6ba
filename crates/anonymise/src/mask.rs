//! Replaces text that contains addresses.

use std::collections::HashSet;
use std::net::{IpAddr, Ipv6Addr};

use ringtap_model::Endpoint;

use crate::key::Key;
use crate::names::Names;
use crate::network::Networks;

/// Replaces everything that identifies people. Replacements are consistent within one mask, and between masks
/// with the same key.
pub struct Mask {
    pub(crate) names: Names,
    networks: Networks,
    common: HashSet<&'static [u8]>,
}

impl Mask {
    /// A mask whose replacements depend on the key.
    pub fn new(key: &Key) -> Self {
        let common = COMMON.split(' ').map(str::as_bytes).collect();
        Self { names: Names::new(key), networks: Networks::new(key), common }
    }

    /// Replaces an address, preserving common prefixes between addresses. Private and link-local addresses
    /// stay in their ranges; loopback, multicast and `0.0.0.0` stay unchanged.
    pub fn ip(&mut self, ip: IpAddr) -> IpAddr {
        self.networks.ip(ip)
    }

    /// Replaces the address of an endpoint; the port stays.
    pub fn endpoint(&mut self, endpoint: Endpoint) -> Endpoint {
        Endpoint::new(self.ip(endpoint.ip), endpoint.port)
    }

    /// Replaces every letter and digit of a text, and addresses by addresses; separators stay, as do words
    /// such as "anonymous".
    pub fn text(&mut self, text: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(text.len() + 8);
        self.text_into(text, &mut out);
        out
    }

    pub(crate) fn text_into(&mut self, text: &[u8], out: &mut Vec<u8>) {
        let mut at = 0;
        while let Some(&byte) = text.get(at) {
            let rest = &text[at..];
            // Only at the start of a word: `a1.2.3.4` is not an address.
            if let Some((ip, len)) = address(rest) {
                out.extend_from_slice(self.ip(ip).to_string().as_bytes());
                at += len;
                continue;
            }
            if !is_word(byte) {
                out.push(byte);
                at += 1;
                continue;
            }
            let len = word(rest);
            if NOBODY.iter().any(|nobody| rest[..len].eq_ignore_ascii_case(nobody.as_bytes())) {
                out.extend_from_slice(&rest[..len]);
            } else {
                self.names.word(&rest[..len], out);
            }
            at += len;
        }
    }

    /// Replaces a reason phrase; common words of signalling stay.
    pub(crate) fn phrase(&mut self, text: &[u8], out: &mut Vec<u8>) {
        let mut rest = text;
        while let Some(&byte) = rest.first() {
            let letters = rest.iter().take_while(|byte| is_word(**byte)).count();
            if letters == 0 {
                out.push(byte);
                rest = &rest[1..];
                continue;
            }
            let (word, behind) = rest.split_at(letters);
            let lower = word.to_ascii_lowercase();
            let is_common = self.common.contains(&lower[..]);
            let is_code = word.len() <= 3 && word.iter().all(u8::is_ascii_digit);
            match is_common || is_code {
                true => out.extend_from_slice(word),
                false => self.text_into(word, out),
            }
            rest = behind;
        }
    }

    /// Replaces only what looks like a number, a hardware address or a mailbox, for text such as product
    /// names.
    pub(crate) fn product(&mut self, text: &[u8], out: &mut Vec<u8>) {
        for word in text.split_inclusive(|byte| *byte == b' ') {
            let digits = word.iter().filter(|byte| byte.is_ascii_digit()).count();
            let run = longest(word, u8::is_ascii_digit);
            let hex = longest(word, u8::is_ascii_hexdigit);
            let pairs = word.split(|byte| matches!(byte, b':' | b'-')).filter(|part| is_pair(part)).count();
            let tells = run >= 9 || hex >= 12 && digits > 0 || pairs >= 5 || word.contains(&b'@');
            match tells {
                true => self.text_into(word, out),
                false => out.extend_from_slice(word),
            }
        }
    }
}

/// Two hexadecimal digits, as in a hardware address.
fn is_pair(part: &[u8]) -> bool {
    part.iter().filter(|byte| byte.is_ascii_hexdigit()).count() == 2 && part.len() <= 3
}

fn longest(word: &[u8], is: fn(&u8) -> bool) -> usize {
    word.split(|byte| !is(byte)).map(<[u8]>::len).max().unwrap_or(0)
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte >= 0x80
}

/// Length of the word that `text` begins with; hyphens between digits belong to it.
fn word(text: &[u8]) -> usize {
    let mut len = 0;
    while let Some(&byte) = text.get(len) {
        let hyphen = byte == b'-'
            && len > 0
            && text[len - 1].is_ascii_digit()
            && text.get(len + 1).is_some_and(u8::is_ascii_digit);
        if !is_word(byte) && !hyphen {
            break;
        }
        len += 1;
    }
    len
}

/// The address that `text` begins with, and its length.
fn address(text: &[u8]) -> Option<(IpAddr, usize)> {
    let ends = |len: usize| !text.get(len).is_some_and(|byte| is_word(*byte));
    let parsed = |len: usize| std::str::from_utf8(text.get(..len)?).ok()?.parse::<IpAddr>().ok();
    let first = *text.first()?;
    if first.is_ascii_digit() {
        let run = text.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
        let len = run - text[..run].iter().rev().take_while(|byte| **byte == b'.').count();
        if (7..16).contains(&len)
            && ends(len)
            && let Some(ip @ IpAddr::V4(_)) = parsed(len)
        {
            return Some((ip, len));
        }
    }
    if !first.is_ascii_hexdigit() && first != b':' {
        return None;
    }
    let run = text
        .iter()
        .take(46)
        .take_while(|byte| byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.'))
        .count();
    let colons = text[..run].iter().filter(|byte| **byte == b':').count();
    if colons < 2 {
        return None;
    }
    // The text after it may look like a part of it: a port, a full stop.
    (2..=run).rev().filter(|len| ends(*len)).find_map(|len| match parsed(len) {
        Some(IpAddr::V6(ip)) if ip != Ipv6Addr::UNSPECIFIED || len > 1 => Some((IpAddr::V6(ip), len)),
        _ => None,
    })
}

/// RFC 3323 section 4.1.1.3, RFC 3325, and what switches write for unknown callers.
const NOBODY: [&str; 9] = [
    "anonymous",
    "invalid",
    "localhost",
    "nobody",
    "private",
    "restricted",
    "unavailable",
    "unknown",
    "withheld",
];

/// Words of reason phrases (RFC 3261 section 21 and others').
const COMMON: &str = "\
a ability able accept acceptable accepted access account ack active address addresses admission again \
already also ambiguous an and answer answered any anywhere are at attended audio auth authenticate \
authentication authorization available away bad bandwidth be been being body bridge broken busy but by bye \
call callee caller calling calls can cancel canceled cancelled cannot capabilities capacity cause \
certificate channel channels chunked circuit cleared clearing client close closed code codec codecs complete \
completed conditional conference conflict congestion connect connected connection consent contact could \
credentials daily database date decline declined declines denied destination device dialog did diverted does \
domain down dtmf due duplicate duration early elsewhere emergency empty end ended entity error establishing \
establishment event everywhere exceeded exist exists expired expires explicit extension extensions extn \
facility failed failing failure fallback fatal feature final first flow for forbidden forked format forward \
forwarded forwarding forwards found from fxs gateway general given global gone group handled hang hangup has \
header here hold hop hops host hung ice id identity ietf if in inactive incoming incompatible incomplete \
info inserted insufficient interaction internal interval invalid invalidated invite invited is ivr known \
large lasting leg length level limit line local location logged long lookup loop many max maximum media \
member message method minimum missing mobile moved multiple name nat negotiation network new no nobody node \
none normal not notification notify number of off offer offered offline ok on only operator option optional \
or order origin other out outgoing overload overloaded packet parameter parse party password path payment \
pending permanently permission phone pickup point policy port position precondition preemption presence \
prevented privacy proceeding process processing progress protocol provide provisional proxy public q q850 \
queue queued quota ran range rate re reach reached realm reason received recipient record redirect refer \
referral referred refused register registered registering registrar registration reject rejected release \
released remote replaced request requested requestor require required reset resource resources response \
restricted retries retry rfc ring ringing route routing rtp sdp security see seizure sent sequence server \
service services session set shutdown shutting signaling sip size slow small some source spam specified \
spiral srtp state status step stopped subscribed subscriber subscription success successful suppress \
switching tag take target tcp template temporarily temporary terminated terminating termination the then \
there this time timeout timer tls to token tone too transaction transfer transferred transit transport trunk \
try trying type udp un unable unacceptable unallocated unanswered unassigned unauthorized unavailable \
undecipherable unexpected unknown unreachable unregistered unresponsive unspecified unsuccessful unsupported \
unwanted up update upgrade uri usage use used user username valid value version via video voice voicemail \
wait was while with within without wrong yet you your";
