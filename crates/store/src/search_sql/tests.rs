use std::path::Path;

use ringtap_search::{Context, parse};
use rusqlite::{Connection, params_from_iter};

use super::*;

/// 2026-11-21 16:00 UTC.
const NOW: Nanos = Nanos(1_795_276_800_000_000_000);

fn bounds(text: &str) -> Bounds {
    let expression = parse(text, &Context::utc(NOW)).unwrap();
    of_day(&expression, &Filter::default(), Day::of(NOW), true, None)
}

fn plan(text: &str) -> Vec<String> {
    let mut connection = Connection::open_in_memory().unwrap();
    schema::create(&mut connection, Path::new("memory")).unwrap();
    let Bounds { condition, values, .. } = bounds(text);
    let sql = format!("EXPLAIN QUERY PLAN {}", crate::day_reader::select_calls(&condition));
    let mut statement = connection.prepare(&sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let steps = statement.query_map(params_from_iter(values), |row| row.get::<_, String>(3)).unwrap();
    steps.map(Result::unwrap).collect()
}

/// Numbers, Call-IDs and ids are looked up, whatever else there is; a time alone by its index.
#[test]
fn plans() {
    for text in [
        "0138",
        "number:[*0138,+4420*] at:15:00",
        "0138 began:-2h mos<3",
        "from:*0138 or to:alice",
        "(0138 at:yesterday) or callid:abc*",
        "alice@example.org",
        "0138 -codec:G729",
        "id:abababababababababababababababab",
        "conversation:abababababababababababababababab",
        "abababababababababababababababab",
    ] {
        let plan = plan(text);
        let is_found = |step: &String| step.starts_with("SEARCH calls USING INTEGER PRIMARY KEY");
        assert!(plan.iter().any(is_found), "{text}: {plan:?}");
        assert!(!plan.iter().any(|step| step == "SCAN calls"), "{text}: {plan:?}");
    }
    for text in ["at:15:00", "began:14:00..15:00 mos<3", "at:15:00 or began:14:00..15:00"] {
        let plan = plan(text);
        assert!(plan[0].starts_with("SEARCH calls USING INDEX calls_start"), "{text}: {plan:?}");
    }
    let ordered = plan("mos<3 or state:failed");
    assert!(ordered[0].starts_with("SCAN calls USING INDEX calls_start"), "{ordered:?}");
}

#[test]
fn values_are_bound() {
    let hostile = "'; DROP TABLE calls; --";
    for field in ["number", "callid", "codec", "ua", "reason", "uri"] {
        let Bounds { condition, .. } = bounds(&format!("{field}:\"{hostile}\""));
        assert!(!condition.contains("DROP"), "{condition}");
    }
}

/// What columns cannot tell leaves nothing out, on either side of a `not`.
#[test]
fn what_is_not_known_is_not_left_out() {
    for text in
        ["", "yealink", "trunk:a", "attest:A", "-codec:G729", "-0138", "a or state:failed", "-at:15:00"]
    {
        assert_eq!(bounds(text).condition, "1", "{text}");
        assert_eq!(bounds(text).values, [], "{text}");
    }
    assert!(bounds("-state:failed").condition.ends_with("IS NOT TRUE"));
}
