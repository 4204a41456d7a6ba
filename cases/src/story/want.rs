//! The expected records, worked out by hand.

use serde::Serialize;
use serde_json::Value;

use crate::run::Records;

/// Values worked out by hand must agree within a nanosecond, and long durations within seven digits.
const TOLERANCE: f64 = 1.5e-6;
const RELATIVE: f64 = 1e-7;

/// Exactly the expected records of each kind, and expected counters.
#[derive(Debug, Default)]
pub struct Want {
    pub(super) calls: Vec<Value>,
    pub(super) streams: Vec<Value>,
    pub(super) registrations: Vec<Value>,
    pub(super) messages: Vec<Value>,
    pub(super) transactions: Vec<Value>,
    pub(super) counters: Vec<(&'static str, u64)>,
}

impl Want {
    /// One sentence per difference.
    pub(super) fn disagreements(&self, records: &Records) -> Vec<String> {
        let mut found = Vec::new();
        compare("call", &self.calls, in_order(&records.calls, "invite_us"), &mut found);
        compare("stream", &self.streams, in_order(&records.streams, "first_us"), &mut found);
        let registrations = in_order(&records.registrations, "first_us");
        compare("registration", &self.registrations, registrations, &mut found);
        compare("message", &self.messages, in_order(&records.messages, "time_us"), &mut found);
        let transactions = in_order(&records.transactions, "time_us");
        compare("transaction", &self.transactions, transactions, &mut found);
        let mut counters = records.counters.kinds();
        counters.extend(records.counters.drops());
        for &(name, value) in &self.counters {
            match counters.iter().find(|(other, _)| *other == name) {
                Some(&(_, ours)) if ours == value => {}
                Some((_, ours)) => found.push(format!("counter {name}: wanted {value}, found {ours}")),
                None => found.push(format!("counter {name}: there is none of that name")),
            }
        }
        found
    }
}

/// Records as JSON, sorted by a time, and by the engine's order if times are equal.
fn in_order<T: Serialize>(records: &[T], time: &str) -> Vec<Value> {
    let mut values: Vec<Value> =
        records.iter().filter_map(|record| serde_json::to_value(record).ok()).collect();
    values.sort_by_key(|value| value[time].as_u64());
    values
}

fn compare(kind: &str, wanted: &[Value], ours: Vec<Value>, found: &mut Vec<String>) {
    if wanted.len() != ours.len() {
        found.push(format!("wanted {} {kind} records, found {}", wanted.len(), ours.len()));
    }
    for (index, (wanted, ours)) in wanted.iter().zip(&ours).enumerate() {
        differ(&format!("{kind} {}", index + 1), wanted, ours, found);
    }
    for (index, ours) in ours.iter().enumerate().skip(wanted.len()) {
        found.push(format!("{kind} {}: not wanted: {ours}", index + 1));
    }
}

/// Compares each expected field of an object, element of a list, or value.
fn differ(place: &str, wanted: &Value, ours: &Value, found: &mut Vec<String>) {
    match (wanted, ours) {
        (Value::Object(wanted), Value::Object(ours)) => {
            for (field, wanted) in wanted {
                let place = format!("{place}, {field}");
                match ours.get(field) {
                    Some(ours) => differ(&place, wanted, ours, found),
                    None => found.push(format!("{place}: there is no such field")),
                }
            }
        }
        (Value::Array(wanted), Value::Array(ours)) if wanted.len() == ours.len() => {
            for (index, (wanted, ours)) in wanted.iter().zip(ours).enumerate() {
                differ(&format!("{place}[{index}]"), wanted, ours, found);
            }
        }
        _ if same(wanted, ours) => {}
        _ => found.push(format!("{place}: wanted {wanted}, found {ours}")),
    }
}

fn same(wanted: &Value, ours: &Value) -> bool {
    match (wanted, ours) {
        (Value::Number(wanted), Value::Number(ours)) if wanted.is_f64() || ours.is_f64() => {
            let close = |a: f64, b: f64| (a - b).abs() <= TOLERANCE.max(RELATIVE * a.abs());
            wanted.as_f64().zip(ours.as_f64()).is_some_and(|(a, b)| close(a, b))
        }
        _ => wanted == ours,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(wanted: Value, ours: Value) -> Vec<String> {
        let mut found = Vec::new();
        compare("call", &[wanted], vec![ours], &mut found);
        found
    }

    #[test]
    fn what_is_not_named_may_be_anything() {
        assert_eq!(found(json!({"a": 1}), json!({"a": 1, "b": 2})), [""; 0]);
        assert_eq!(found(json!({"a": 0.25}), json!({"a": 0.250_000_4})), [""; 0]);
        assert_eq!(found(json!({"a": 20.0}), json!({"a": 20})), [""; 0]);
    }

    #[test]
    fn what_differs_is_named() {
        assert_eq!(found(json!({"a": null}), json!({"a": 0})), ["call 1, a: wanted null, found 0"]);
        assert_eq!(found(json!({"a": 1}), json!({})), ["call 1, a: there is no such field"]);
        assert_eq!(found(json!({"a": [1]}), json!({"a": []})), ["call 1, a: wanted [1], found []"]);
        assert_eq!(
            found(json!({"a": [{"b": "x"}]}), json!({"a": [{"b": "y"}]})),
            ["call 1, a[0], b: wanted \"x\", found \"y\""]
        );
    }

    #[test]
    fn one_record_more_or_less_is_a_disagreement() {
        let mut found = Vec::new();
        compare("call", &[], vec![json!({})], &mut found);
        compare("call", &[json!({})], vec![], &mut found);
        assert_eq!(found.len(), 3);
    }

    #[test]
    fn a_counter_that_does_not_exist_is_a_disagreement() {
        let want = Want { counters: vec![("no such", 0), ("sip", 0)], ..Want::default() };
        assert_eq!(want.disagreements(&Records::default()).len(), 1);
    }
}
