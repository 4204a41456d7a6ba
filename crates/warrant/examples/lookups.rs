//! Measures how long a look-up takes with one target and with 100,000: `cargo run --release --example lookups
//! -p ringtap-warrant`. Prints nanoseconds a look-up and the ratio, for each kind of name.

#![expect(clippy::print_stdout, reason = "a program for a terminal")]

use std::hint::black_box;
use std::time::Instant;

use ringtap_warrant::{Liid, Name, Target, TargetIndex};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let many = 100_000_u64;
    println!("{:<34}{:>10}{:>14}{:>8}", "targets", "1: ns", "100,000: ns", "ratio");
    for (what, target, name) in kinds() {
        let (one, all) = (nanos_of(1, target, name)?, nanos_of(many, target, name)?);
        println!("{what:<34}{one:>10.0}{all:>14.0}{:>8.2}", all / one);
    }
    Ok(())
}

type Made<T> = Result<T, String>;
/// A target with a number, and a name that it may be.
type Kind = (&'static str, fn(u64) -> String, fn(u64) -> (bool, String));

fn kinds() -> [Kind; 5] {
    [
        ("user~:", |n| format!("user~:subscriber{n}"), |n| (true, format!("Subscriber{n}@example.org"))),
        (
            "sip:",
            |n| format!("sip:user{n}@example.org"),
            |n| (false, format!("sip:User{n}@example.org:5060")),
        ),
        (
            "sip: with a star behind",
            |n| format!("sip:user{n}@*"),
            |n| (false, format!("<sip:user{n}@a.example>")),
        ),
        (
            "sip: with a star in front",
            |n| format!("sip:*{n}x@a.example"),
            |n| (false, format!("sip:u{n}x@a.example")),
        ),
        (
            "number: with a star behind",
            |n| format!("number:+44160{n:07}*"),
            |n| (false, format!("sip:0044160{n:07}12@192.0.2.1;user=phone")),
        ),
    ]
}

/// Nanoseconds a look-up takes with so many targets: half of the names are found.
fn nanos_of(count: u64, target: fn(u64) -> String, name: fn(u64) -> (bool, String)) -> Made<f64> {
    let made = (0..count).map(|n| -> Made<(Target, Liid)> {
        let target = target(n).parse::<Target>().map_err(|error| format!("{error}"))?;
        Ok((target, format!("L{n}").parse::<Liid>().map_err(|error| format!("{error}"))?))
    });
    let made = made.collect::<Made<Vec<_>>>()?;
    let index = TargetIndex::new(made.iter().map(|(target, liid)| (target, liid)));
    // The same names for both: what is found is one of them at least.
    let names: Vec<(bool, String)> =
        (0..1_000).flat_map(|n| [name(n % count), name(n + 1_000_000)]).collect();
    let round = || {
        let begun = Instant::now();
        let mut found = 0;
        for (is_user, text) in &names {
            let name = if *is_user { Name::User(text) } else { Name::Sip(text) };
            found += black_box(index.find([black_box(name)])).len();
        }
        (begun.elapsed().as_nanos() as f64 / names.len() as f64, found)
    };
    let mut rounds: Vec<(f64, usize)> = (0..21).map(|_| round()).collect();
    if rounds.iter().any(|(_, found)| *found < names.len() / 2) {
        return Err("a name was not found".to_owned());
    }
    rounds.sort_by(|one, other| one.0.total_cmp(&other.0));
    Ok(rounds[rounds.len() / 2].0)
}
