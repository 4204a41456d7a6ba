//! Heads of chains that were noted elsewhere.

use std::fmt;
use std::str::FromStr;

use crate::hex::{hex, unhex};
use crate::segment::name::Category;

/// A seal that was the newest of its chain at some time: its chain must still have it. As text, on one line:
/// `w0-m:17:` and 64 hex digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownHead {
    /// The worker and the category.
    pub worker: u16,
    /// See `worker`.
    pub category: Category,
    /// The number of the seal.
    pub number: u64,
    /// The seal's SHA-256.
    pub sha256: [u8; 32],
}

impl KnownHead {
    /// All heads in a text, such as a log: what else is on its lines does not matter.
    pub fn all_in(text: &str) -> Vec<Self> {
        let words = text.split(|letter: char| letter.is_whitespace() || ",;\"'".contains(letter));
        words.filter_map(|word| word.parse().ok()).collect()
    }
}

impl fmt::Display for KnownHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let chain = chain_name(self.worker, self.category);
        write!(f, "{chain}:{}:{}", self.number, hex(&self.sha256))
    }
}

/// The text is no head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAHead;

impl FromStr for KnownHead {
    type Err = NotAHead;

    fn from_str(text: &str) -> Result<Self, NotAHead> {
        let parsed = || {
            let [chain, number, sha256] = text.split(':').collect::<Vec<_>>().try_into().ok()?;
            let (worker, category) = chain_of(chain)?;
            Some(Self { worker, category, number: number.parse().ok()?, sha256: unhex(sha256)? })
        };
        parsed().ok_or(NotAHead)
    }
}

/// The file with a chain's newest seal.
pub(crate) fn head_name(worker: u16, category: Category) -> String {
    format!("{}.head", chain_name(worker, category))
}

/// The name of a chain: `w0-m`.
pub(crate) fn chain_name(worker: u16, category: Category) -> String {
    format!("w{worker}-{}", category.letter())
}

/// The chain that such a file belongs to.
pub(crate) fn chain_of_head(name: &str) -> Option<(u16, Category)> {
    chain_of(name.strip_suffix(".head")?)
}

/// The chain of that name.
pub(crate) fn chain_of(name: &str) -> Option<(u16, Category)> {
    let (worker, letter) = name.strip_prefix('w')?.split_once('-')?;
    Some((worker.parse().ok()?, Category::of_letter(letter)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_as_it_is_written() {
        let head = KnownHead { worker: 3, category: Category::Media, number: 17, sha256: [0xab; 32] };
        let text = head.to_string();
        assert_eq!(text, format!("w3-m:17:{}", "ab".repeat(32)));
        assert_eq!(text.parse(), Ok(head.clone()));
        let log = format!("10:00 heads of the chains: w3-m:16:{0}, {text}; w3-x:1:{0}", "cd".repeat(32));
        let found: Vec<u64> = KnownHead::all_in(&log).iter().map(|head| head.number).collect();
        assert_eq!(found, [16, 17]);
        for wrong in ["", "w3-m", "w3-m:17:ab", "3-m:17:", &text[..text.len() - 1], &format!("{text}:")] {
            assert_eq!(wrong.parse::<KnownHead>(), Err(NotAHead), "{wrong}");
        }
        assert_eq!(chain_of_head(&head_name(3, Category::Media)), Some((3, Category::Media)));
        assert_eq!((chain_of_head("w3-m.pcap"), chain_of_head("w99999-m.head")), (None, None));
    }
}
