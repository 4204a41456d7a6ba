//! SIP transactions outside of calls, counted by method and final code.

use ringtap_wire::sip::Method;

/// The methods that are counted, in order.
const METHODS: [Method; 6] =
    [Method::Register, Method::Subscribe, Method::Notify, Method::Options, Method::Publish, Method::Message];

/// Codes that are counted on their own, and what all others count as: so many series at most, whatever is
/// sent.
const CODES: [Code; 29] = [
    Code { label: "none", first: 0, last: 0 },
    Code { label: "200", first: 200, last: 200 },
    Code { label: "202", first: 202, last: 202 },
    Code { label: "2xx", first: 200, last: 299 },
    Code { label: "3xx", first: 300, last: 399 },
    Code { label: "400", first: 400, last: 400 },
    Code { label: "401", first: 401, last: 401 },
    Code { label: "403", first: 403, last: 403 },
    Code { label: "404", first: 404, last: 404 },
    Code { label: "405", first: 405, last: 405 },
    Code { label: "406", first: 406, last: 406 },
    Code { label: "407", first: 407, last: 407 },
    Code { label: "408", first: 408, last: 408 },
    Code { label: "412", first: 412, last: 412 },
    Code { label: "415", first: 415, last: 415 },
    Code { label: "423", first: 423, last: 423 },
    Code { label: "480", first: 480, last: 480 },
    Code { label: "481", first: 481, last: 481 },
    Code { label: "483", first: 483, last: 483 },
    Code { label: "486", first: 486, last: 486 },
    Code { label: "489", first: 489, last: 489 },
    Code { label: "4xx", first: 400, last: 499 },
    Code { label: "500", first: 500, last: 500 },
    Code { label: "501", first: 501, last: 501 },
    Code { label: "503", first: 503, last: 503 },
    Code { label: "504", first: 504, last: 504 },
    Code { label: "5xx", first: 500, last: 599 },
    Code { label: "603", first: 603, last: 603 },
    // 600 and above, which no class of RFC 3261 lies behind.
    Code { label: "6xx", first: 600, last: u16::MAX },
];

/// The first that has a code counts it.
struct Code {
    label: &'static str,
    first: u16,
    last: u16,
}

/// REGISTER, SUBSCRIBE, NOTIFY, OPTIONS, PUBLISH and MESSAGE transactions outside of calls, by method and
/// final code. A challenge that was answered is no final code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TransactionCounts([[u64; CODES.len()]; METHODS.len()]);

impl TransactionCounts {
    /// Counts a transaction; `code` is that of its final answer, 0 for none.
    pub(crate) fn add(&mut self, method: Method, code: u16) {
        let row = METHODS.iter().position(|other| *other == method);
        let column = CODES.iter().position(|known| (known.first..=known.last).contains(&code));
        // INVARIANT: only these methods are followed, and only codes from 200 on are final.
        if let (Some(row), Some(column)) = (row, column) {
            self.0[row][column] += 1;
        }
    }

    /// Method, code or class of codes (`none` without a final answer), and count, in a fixed order.
    pub fn rows(&self) -> impl Iterator<Item = (&'static str, &'static str, u64)> {
        METHODS.iter().zip(&self.0).flat_map(|(method, counts)| {
            CODES.iter().zip(counts).map(|(code, count)| (method.name(), code.label, *count))
        })
    }
}

impl std::ops::AddAssign<&Self> for TransactionCounts {
    fn add_assign(&mut self, other: &Self) {
        let counts = self.0.iter_mut().flatten().zip(other.0.iter().flatten());
        counts.for_each(|(sum, count)| *sum += count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_final_code_is_counted_once_and_by_its_class_where_it_is_rare() {
        let mut counts = TransactionCounts::default();
        let codes = (200..=u16::MAX).chain([0]);
        codes.clone().for_each(|code| counts.add(Method::Options, code));
        assert_eq!(counts.rows().map(|(.., count)| count).sum::<u64>(), codes.count() as u64);
        let label = |code| {
            let mut counts = TransactionCounts::default();
            counts.add(Method::Options, code);
            let counted = counts.rows().filter(|(.., count)| *count > 0);
            counted.map(|(_, label, _)| label).collect::<Vec<_>>().join(" ")
        };
        let labels = [0, 200, 204, 302, 403, 499, 503, 599, 604, 999].map(label);
        assert_eq!(labels, ["none", "200", "2xx", "3xx", "403", "4xx", "503", "5xx", "6xx", "6xx"]);
    }

    #[test]
    fn sums_are_by_method_and_code() {
        let mut sum = TransactionCounts::default();
        sum.add(Method::Register, 401);
        let mut other = sum.clone();
        other.add(Method::Message, 202);
        sum += &other;
        let counted: Vec<_> = sum.rows().filter(|(.., count)| *count > 0).collect();
        assert_eq!(counted, [("REGISTER", "401", 2), ("MESSAGE", "202", 1)]);
    }
}
