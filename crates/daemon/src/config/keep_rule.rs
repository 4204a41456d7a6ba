//! One `[[keep]]` rule as it is written, with the files of numbers that it names.

use std::fs;
use std::path::Path;

use ringtap_spool::rules::{MAX_PATTERNS, Numbers, Rule};

use super::key::{Keys, section};
use super::values::{CallSharePercent, KeepScope, NetworkPrefix};

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
        pub(super) trunk: Vec<NetworkPrefix> = Vec::new(),
        /// Signalling or media come from or go to one of these networks, as far as messages tell until the
        /// answer.
        #[live = true]
        address: Vec<NetworkPrefix> = Vec::new(),
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
        pub(super) share: Option<CallSharePercent> = None,
        /// What is recorded of a call that matches: as in [spool]. Every rule has it.
        #[live = true]
        pub(super) keep: Option<KeepScope> = None,
        /// Digits that are pressed are not recorded: telephone-events without their payload, INFO and NOTIFY
        /// without their body, the record's `dtmf` without digits.
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

/// A mistake in a rule: its index, the key, and how to correct it.
pub(crate) type RuleProblem = (usize, &'static str, String);

impl KeepRule {
    pub(super) fn compile(&self, place: usize) -> Result<Rule, RuleProblem> {
        let wrong = |key, problem: &str| (place, key, problem.to_owned());
        let Some(keep) = self.keep else {
            return Err(wrong("keep", "is missing: add what to record, such as keep = \"full\""));
        };
        if self.name.len() > MAX_NAME || self.name.chars().any(char::is_control) {
            return Err(wrong("name", "must be at most 100 bytes long and of one line: shorten it"));
        }
        if self.mos_below.is_some_and(|mos| !(1.0..=5.0).contains(&mos)) {
            return Err(wrong("mos_below", "must be from 1 to 5, for example 3.6"));
        }
        if self.codec.iter().any(|codec| codec.trim().is_empty()) {
            return Err(wrong("codec", "has an empty name: write names as in SDP, such as \"G729\""));
        }
        if !self.product.is_empty() {
            self.check_product(keep, &wrong)?;
        }
        let numbers = |key, list: &[String]| {
            (!list.is_empty()).then(|| read(list)).transpose().map_err(|problem| (place, key, problem))
        };
        Ok(Rule {
            name: self.name.clone(),
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

    /// Checks the keys that a rule with `product` cannot have.
    fn check_product(
        &self,
        keep: KeepScope,
        wrong: &dyn Fn(&'static str, &str) -> RuleProblem,
    ) -> Result<(), RuleProblem> {
        if !is_liid(&self.product) {
            return Err(wrong(
                "product",
                "must be a case of 1 to 25 letters, digits, -, _ and ., for example LI-2026-17",
            ));
        }
        if !matches!(keep, KeepScope::Signalling | KeepScope::Headers | KeepScope::Full) {
            return Err(wrong(
                "keep",
                "must be \"signalling\", \"headers\" or \"full\" in a rule with `product`",
            ));
        }
        if self.mos_below.is_some() {
            return Err(wrong(
                "mos_below",
                "cannot be combined with `product`, which is recorded from the beginning of a call: remove \
                it",
            ));
        }
        if self.share.is_some() {
            return Err(wrong(
                "share",
                "cannot be combined with `product`, which covers all calls that match: remove one of the two",
            ));
        }
        if self.mask_dtmf {
            return Err(wrong(
                "mask_dtmf",
                "cannot be combined with `product`, which is recorded as it was sent: remove it",
            ));
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

impl KeepRule {
    /// Whether it intercepts.
    pub(crate) fn intercepts(&self) -> bool {
        !self.product.is_empty()
    }

    /// The keys that it sets, as they are written below `[[keep]]`, a line each.
    pub(crate) fn lines(&self) -> String {
        self.written().into_iter().map(|(key, value)| format!("{key} = {value}\n")).collect()
    }

    /// The files of numbers that it names, each with its key.
    pub(crate) fn number_files(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let lists = [("caller", &self.caller), ("callee", &self.callee), ("number", &self.number)];
        let texts = lists.into_iter().flat_map(|(key, list)| list.iter().map(move |text| (key, text)));
        texts.filter_map(|(key, text)| Some((key, Path::new(text.strip_prefix('@')?))))
    }
}

/// Reads numbers, and the files of numbers among them.
fn read(list: &[String]) -> Result<Numbers, String> {
    let mut numbers = Numbers::default();
    let too_many = || {
        format!(
            "more than {MAX_PATTERNS} patterns have a `*` before their end, and each is tried for each call: \
            put \
             the `*` at the end"
        )
    };
    for text in list {
        let Some(path) = text.strip_prefix('@') else {
            if text.trim().is_empty() {
                return Err("has an empty number: `*` matches any".to_owned());
            }
            if !numbers.add(text) {
                return Err(too_many());
            }
            continue;
        };
        let path = Path::new(path);
        let file = path.display();
        let size = fs::metadata(path).map_err(|error| format!("cannot read {file}: {error}"))?.len();
        if size > MAX_FILE {
            return Err(format!("{file} has {size} bytes, more than {MAX_FILE}: is it a list of numbers?"));
        }
        let content = fs::read_to_string(path).map_err(|error| format!("cannot read {file}: {error}"))?;
        for line in content.lines() {
            let number = line.split('#').next().unwrap_or_default().trim();
            if !number.is_empty() && !numbers.add(number) {
                return Err(format!("{file}: {}", too_many()));
            }
        }
    }
    Ok(numbers)
}

/// Longest name, which stands in tables, log lines and metrics.
const MAX_NAME: usize = 100;
/// Largest file of numbers: some millions of them.
const MAX_FILE: u64 = 64 << 20;
