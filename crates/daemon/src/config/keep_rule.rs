//! One `[[keep]]` rule as it is written, with the files of numbers that it names.

use std::fs;
use std::path::Path;

use ringtap_spool::rules::{MAX_PATTERNS, Numbers, Rule};

use super::key::section;
use super::values::{Keep, Net, Share};

section! {
    /// A rule for what is recorded of a call, as it is written.
    #[name = "[keep]"]
    pub(crate) struct KeepRule {
        /// A name for people: in the log, the metrics and `ringtap rules`.
        #[live = true]
        #[accepts = "a text, such as \"emergency calls\""]
        pub(super) name: String = String::new(),
        /// One of the caller's numbers (From, P-Asserted-Identity) is one of these. `*` stands for anything;
        /// spaces, dashes, dots and brackets do not count. `@FILE` is a file of them, one a line, `#` begins
        /// a remark.
        #[live = true]
        #[accepts = "a list of numbers, such as [\"112\", \"+4930*\", \"@/etc/ringtap/numbers\"]"]
        caller: Vec<String> = Vec::new(),
        /// One of the callee's numbers (To, Request-URI) is one of these.
        #[live = true]
        #[accepts = "a list of numbers, such as [\"112\", \"+4930*\", \"@/etc/ringtap/numbers\"]"]
        callee: Vec<String> = Vec::new(),
        /// A number of either party is one of these.
        #[live = true]
        #[accepts = "a list of numbers, such as [\"112\", \"+4930*\", \"@/etc/ringtap/numbers\"]"]
        number: Vec<String> = Vec::new(),
        /// The first message, or a later one before the rule is decided, comes from or goes to one of these
        /// networks.
        #[live = true]
        pub(super) trunk: Vec<Net> = Vec::new(),
        /// Signalling or media come from or go to one of these networks, as far as messages tell until the
        /// answer.
        #[live = true]
        address: Vec<Net> = Vec::new(),
        /// The SDP of the answer names one of these codecs first. Names as in SDP, in any case.
        #[live = true]
        #[accepts = "a list of codecs, such as [\"G729\", \"opus\"]"]
        codec: Vec<String> = Vec::new(),
        /// The call is answered. Its signalling from the INVITE on is recorded, and its early media.
        #[live = true]
        answered: bool = false,
        /// The worst MOS of the call is below this, which is known at its end. Until then the call is on the
        /// disk; if its MOS was better, it is erased.
        #[live = true]
        #[accepts = "a MOS from 1 to 5, such as 3.6"]
        mos_below: Option<f64> = None,
        /// Share of the calls that match otherwise, chosen at random but the same for all legs of a call: see
        /// `legs`.
        #[live = true]
        pub(super) share: Option<Share> = None,
        /// What is recorded of a call that matches: as in [spool]. Every rule has it.
        #[live = true]
        pub(super) keep: Option<Keep> = None,
        /// Digits that are pressed are not recorded: telephone-events without their payload, INFO without its
        /// body, the record's `dtmf` without digits.
        #[live = true]
        mask_dtmf: bool = false,
        /// The parties may pause the recording by `pause_digits` or `pause_header`.
        #[live = true]
        may_pause: bool = true,
        /// The rule intercepts, for this case (a LIID): see [interception
        /// product](spool.md#interception-product). It records a copy of its own; the other rules are asked
        /// as if it were not there. It records from the beginning of the call, or from the moment at which
        /// the rule takes effect, without pauses.
        #[live = true]
        #[accepts = "an identifier of at most 25 letters, digits, -, _ and ., such as \"LI-2026-17\""]
        pub(super) product: String = String::new(),
    }
}

/// Where a rule is wrong: its number from 0, the key, and what would be right.
pub(crate) type WrongRule = (usize, &'static str, String);

impl KeepRule {
    pub(super) fn compile(&self, place: usize) -> Result<Rule, WrongRule> {
        let wrong = |key, problem: &str| (place, key, problem.to_owned());
        let Some(keep) = self.keep else {
            return Err(wrong("keep", "is missing: say what is kept, such as keep = \"full\""));
        };
        if self.mos_below.is_some_and(|mos| !(1.0..=5.0).contains(&mos)) {
            return Err(wrong("mos_below", "must be from 1 to 5, for example 3.6"));
        }
        if self.codec.iter().any(|codec| codec.trim().is_empty()) {
            return Err(wrong("codec", "a name in it is empty; write names as in SDP, such as \"G729\""));
        }
        if !self.product.is_empty() {
            self.check_product(keep, &wrong)?;
        }
        let numbers = |key, list: &[String]| {
            (!list.is_empty()).then(|| read(list)).transpose().map_err(|problem| (place, key, problem))
        };
        Ok(Rule {
            name: if self.name.is_empty() { format!("rule {}", place + 1) } else { self.name.clone() },
            caller: numbers("caller", &self.caller)?,
            callee: numbers("callee", &self.callee)?,
            number: numbers("number", &self.number)?,
            trunk: self.trunk.iter().map(|net| net.0).collect(),
            address: self.address.iter().map(|net| net.0).collect(),
            codec: self.codec.clone(),
            answered: self.answered,
            mos_below: self.mos_below,
            part: self.share.map(|share| share.0),
            what: keep.of_call(),
            mask_digits: self.mask_dtmf,
            may_pause: self.may_pause,
            product: (!self.product.is_empty()).then(|| self.product.clone()),
        })
    }

    /// What an interception cannot ask, or keep.
    fn check_product(
        &self,
        keep: Keep,
        wrong: &dyn Fn(&'static str, &str) -> WrongRule,
    ) -> Result<(), WrongRule> {
        if !is_liid(&self.product) {
            return Err(wrong(
                "product",
                "must be 1 to 25 letters, digits, -, _ or . of a case, for example LI-2026-17",
            ));
        }
        if !matches!(keep, Keep::Signalling | Keep::Headers | Keep::Full) {
            return Err(wrong(
                "keep",
                "must be \"signalling\", \"headers\" or \"full\" where there is a `product`",
            ));
        }
        if self.mos_below.is_some() {
            return Err(wrong(
                "mos_below",
                "is known when a call has ended, and `product` is kept from its beginning: leave it out",
            ));
        }
        if self.share.is_some() {
            return Err(wrong(
                "share",
                "a case is of certain calls, not of a share of them: leave it out, or `product`",
            ));
        }
        if self.mask_dtmf {
            return Err(wrong("mask_dtmf", "`product` is what was sent, digits as well: leave it out"));
        }
        Ok(())
    }
}

/// A lawful interception identifier, as ETSI TS 102 232-1 has it (LIID, 25 octets at most, section 5.2.2), of
/// characters that name a file.
fn is_liid(text: &str) -> bool {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    (1..=25).contains(&text.len()) && !text.starts_with('.') && text.bytes().all(known)
}

/// Numbers, and files of them.
fn read(list: &[String]) -> Result<Numbers, String> {
    let mut numbers = Numbers::default();
    let too_many = || {
        format!(
            "more than {MAX_PATTERNS} patterns have a `*` in another place than the end: each is tried for \
             each call; write beginnings"
        )
    };
    for text in list {
        let Some(path) = text.strip_prefix('@') else {
            if text.trim().is_empty() {
                return Err("a number in it is empty; `*` is any".to_owned());
            }
            if !numbers.add(text) {
                return Err(too_many());
            }
            continue;
        };
        let path = Path::new(path);
        let file = path.display();
        let size = fs::metadata(path).map_err(|error| format!("{file} cannot be read: {error}"))?.len();
        if size > MAX_FILE {
            return Err(format!("{file} has {size} bytes, {MAX_FILE} at most: is it a list of numbers?"));
        }
        let content = fs::read_to_string(path).map_err(|error| format!("{file} cannot be read: {error}"))?;
        for line in content.lines() {
            let number = line.split('#').next().unwrap_or_default().trim();
            if !number.is_empty() && !numbers.add(number) {
                return Err(format!("{file}: {}", too_many()));
            }
        }
    }
    Ok(numbers)
}

/// Of a file of numbers: some millions of them.
const MAX_FILE: u64 = 64 << 20;
