//! The order in which calls are listed.

use std::cmp::Ordering;

use ringtap_model::Call;

use crate::problem::Problem;

/// An order: by time, the newest first, unless another is named.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sort {
    key: Key,
    ascending: bool,
}

type Key = Option<Value>;

/// What a call has.
type Value = fn(&Call) -> Option<f64>;

impl Sort {
    /// The order of that name: a field, `-` in front for the greatest first.
    pub(crate) fn named(text: &str) -> Result<Self, Problem> {
        let (name, ascending) = match text.strip_prefix('-') {
            Some(name) => (name, false),
            None => (text, true),
        };
        let wrong = || {
            let names: Vec<&str> = KEYS.iter().map(|(name, _)| *name).collect();
            Problem::request(
                format!("calls cannot be sorted by `{text}`"),
                format!("`sort` is one of began, {}; `-` in front puts the greatest first", names.join(", ")),
            )
        };
        if name == "began" {
            // The earliest first would need all of them: it is an order like any other.
            let key: Key =
                if ascending { Some(|call| call.start().map(|start| start.micros() as f64)) } else { None };
            return Ok(Self { key, ascending });
        }
        let (_, key) = KEYS.iter().find(|(known, _)| *known == name).ok_or_else(wrong)?;
        Ok(Self { key: Some(*key), ascending })
    }

    /// Whether it is that of time, the newest first: calls come in it.
    pub(crate) fn is_of_time(self) -> bool {
        self.key.is_none()
    }

    /// A page of so many calls.
    pub(crate) fn page(self, limit: usize) -> Page {
        Page { sort: self, limit, calls: Vec::new() }
    }

    /// What is not known comes last.
    fn compare(self, one: &Call, other: &Call) -> Ordering {
        let Some(key) = self.key else { return Ordering::Equal };
        match (key(one), key(other)) {
            (Some(one), Some(other)) if self.ascending => one.total_cmp(&other),
            (Some(one), Some(other)) => other.total_cmp(&one),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => Ordering::Equal,
        }
    }
}

/// The first calls of an order, chosen one by one.
pub(crate) struct Page {
    sort: Sort,
    limit: usize,
    calls: Vec<Call>,
}

impl Page {
    /// Adds a call; false if no further one can be on the page.
    pub(crate) fn add(&mut self, call: Call) -> bool {
        if self.sort.is_of_time() {
            if self.calls.len() == self.limit {
                return false;
            }
            self.calls.push(call);
            return true;
        }
        self.calls.push(call);
        if self.calls.len() >= 2 * self.limit.max(64) {
            self.cut();
        }
        true
    }

    fn cut(&mut self) {
        let sort = self.sort;
        self.calls.sort_by(|one, other| sort.compare(one, other));
        self.calls.truncate(self.limit);
    }

    /// The page.
    pub(crate) fn finish(mut self) -> Vec<Call> {
        if !self.sort.is_of_time() {
            self.cut();
        }
        self.calls
    }
}

const KEYS: &[(&str, Value)] = &[
    ("dur", |call| call.duration_ms),
    ("pdd", |call| call.pdd_ms),
    ("mos", |call| call.mos),
    ("mosworst", |call| call.mos_worst_interval),
    ("code", |call| (call.final_code > 0).then_some(f64::from(call.final_code))),
    ("retrans", |call| Some(f64::from(call.retransmissions))),
    ("drops", |call| Some(call.capture_drops as f64)),
    ("ended", |call| call.end.map(|end| end.micros() as f64)),
];

#[cfg(test)]
mod tests {
    use ringtap_testing::samples;

    use super::*;

    fn call(mos: Option<f64>) -> Call {
        Call { mos, ..samples::call() }
    }

    #[test]
    fn the_first_of_an_order_stay_and_the_unknown_come_last() {
        let mut page = Sort::named("mos").unwrap().page(3);
        for number in 0..500 {
            assert!(page.add(call((number % 7 != 0).then(|| 4.0 - f64::from(number) / 200.0))));
        }
        let found: Vec<_> = page.finish().iter().map(|call| call.mos.unwrap()).collect();
        assert_eq!(found, [4.0 - 499.0 / 200.0, 4.0 - 498.0 / 200.0, 4.0 - 496.0 / 200.0]);
        let mut page = Sort::named("-mos").unwrap().page(3);
        assert!([None, Some(1.0), Some(2.0)].into_iter().all(|mos| page.add(call(mos))));
        let found: Vec<_> = page.finish().iter().map(|call| call.mos).collect();
        assert_eq!(found, [Some(2.0), Some(1.0), None]);
    }

    #[test]
    fn by_time_a_page_ends_when_it_is_full() {
        let mut page = Sort::default().page(2);
        assert!(page.add(call(None)) && page.add(call(None)) && !page.add(call(None)));
        assert_eq!(page.finish().len(), 2);
        assert!(Sort::named("from").is_err());
    }
}
