//! Generated conversations of known truth, between few hosts and with few numbers, so that many calls at once
//! look alike: what is unique is joined, and nothing is joined that does not belong together.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

mod conversations;

use std::collections::HashMap;

use conversations::{Conversation, Evidence, Generator};
use ringtap_conversation::{Joiner, Settings};
use ringtap_model::{Call, Id};

/// The conversation of each leg after all records.
fn joined(calls: &[Call]) -> HashMap<Id, Id> {
    let mut joiner = Joiner::new(Settings::default());
    let mut found = HashMap::new();
    for call in calls {
        let mut call = call.clone();
        let amendments = joiner.add(&mut call);
        found.insert(call.id, call.conversation.unwrap());
        for amendment in amendments {
            found.insert(amendment.call, amendment.conversation);
        }
    }
    found
}

/// Of one kind of evidence.
#[derive(Debug, Default)]
struct Score {
    /// Legs beyond the first of their conversation.
    legs: u32,
    /// Those that have the conversation of the first.
    joined: u32,
}

fn scores(all: &[Conversation], found: &HashMap<Id, Id>) -> HashMap<Evidence, Score> {
    let mut scores: HashMap<Evidence, Score> = HashMap::new();
    for conversation in all {
        let score = scores.entry(conversation.evidence).or_default();
        let of = |call: &Call| found[&call.id];
        let first = of(&conversation.legs[0]);
        score.legs += conversation.legs.len() as u32 - 1;
        score.joined += conversation.legs[1..].iter().filter(|leg| of(leg) == first).count() as u32;
    }
    scores
}

/// Legs whose conversation has a leg of another one.
fn wrong(all: &[Conversation], found: &HashMap<Id, Id>) -> Vec<[Evidence; 2]> {
    let mut owners: HashMap<Id, usize> = HashMap::new();
    let mut wrong = Vec::new();
    for (number, conversation) in all.iter().enumerate() {
        for leg in &conversation.legs {
            let owner = *owners.entry(found[&leg.id]).or_insert(number);
            if owner != number {
                wrong.push([conversation.evidence, all[owner].evidence]);
            }
        }
    }
    wrong
}

/// As records are made: in the order in which calls end.
fn in_order(all: &[Conversation]) -> Vec<Call> {
    let mut calls: Vec<Call> = all.iter().flat_map(|conversation| conversation.legs.clone()).collect();
    calls.sort_by_key(|call| (call.end, call.id));
    calls
}

#[test]
fn what_is_unique_is_joined_and_nothing_else() {
    let all = Generator::new(1).conversations(100_000);
    let calls = in_order(&all);
    assert!(calls.len() >= 100_000);
    let began = std::time::Instant::now();
    let found = joined(&calls);
    println!("{:.1} us a call", began.elapsed().as_secs_f64() * 1e6 / calls.len() as f64);
    let wrong = wrong(&all, &found);
    let scores = scores(&all, &found);
    let mut kinds: Vec<_> = scores.iter().collect();
    kinds.sort_by_key(|(evidence, _)| format!("{evidence:?}"));
    let table: Vec<String> = kinds
        .iter()
        .map(|(evidence, score)| format!("{evidence:?}: {} of {}", score.joined, score.legs))
        .collect();
    println!("{} legs; {}", calls.len(), table.join("; "));
    assert!(wrong.is_empty(), "{} of {} legs are joined wrongly: {wrong:?}", wrong.len(), calls.len());
    let session = &scores[&Evidence::SessionId];
    assert_eq!(session.joined, session.legs, "with Session-ID");
    let unique = scores.iter().filter(|(evidence, _)| evidence.is_unique());
    let (joined, legs) = unique.fold((0, 0), |sum, (_, score)| (sum.0 + score.joined, sum.1 + score.legs));
    let share = f64::from(joined) / f64::from(legs);
    assert!(share >= 0.995, "{joined} of {legs} legs with unique evidence are joined: {table:?}");
}

/// The leg into a box of a call that is transferred behind it is joined to the transferred one, and to no
/// other call.
#[test]
fn the_leg_before_a_transfer_is_joined() {
    let all = Generator::with_through(2).conversations(100_000);
    let found = joined(&in_order(&all));
    let wrong: Vec<_> =
        wrong(&all, &found).into_iter().filter(|pair| pair.contains(&Evidence::Through)).collect();
    assert!(wrong.is_empty(), "{} legs are joined wrongly: {wrong:?}", wrong.len());
    let Score { legs, joined } = scores(&all, &found)[&Evidence::Through];
    println!("{joined} of {legs} legs of transfers");
    assert!(joined * 100 >= legs * 98, "{joined} of {legs} legs of transfers are joined");
}

/// Other orders of the same records: the same legs belong together, where evidence is unique.
#[test]
fn the_order_of_records_changes_nothing() {
    let all = Generator::new(7).conversations(4_000);
    let sets = |found: &HashMap<Id, Id>| -> Vec<bool> {
        let of_unique = all.iter().filter(|conversation| conversation.evidence.is_unique());
        of_unique
            .map(|conversation| {
                let first = found[&conversation.legs[0].id];
                conversation.legs.iter().all(|leg| found[&leg.id] == first)
            })
            .collect()
    };
    let calls = in_order(&all);
    let expected = sets(&joined(&calls));
    for seed in 0..8 {
        let mut shuffled = calls.clone();
        let mut random = Generator::new(seed + 100);
        // Within the time for which calls are remembered.
        for start in (0..shuffled.len()).step_by(200) {
            let end = (start + 200).min(shuffled.len());
            for place in start..end {
                let other = start + random.below((end - start) as u64) as usize;
                shuffled.swap(place, other);
            }
        }
        let found = joined(&shuffled);
        // Where numbers alone tell, a rival may come after more than are compared.
        let mut wrong = wrong(&all, &found);
        wrong.retain(|pair| pair.iter().any(|evidence| evidence.is_unique()));
        assert_eq!(wrong, [[Evidence::Nothing; 2]; 0], "seed {seed}");
        let different = sets(&found).iter().zip(&expected).filter(|(one, other)| one != other).count();
        assert_eq!(different, 0, "seed {seed}");
    }
}
