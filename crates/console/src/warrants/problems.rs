//! What the register refuses, as an answer. Nothing of it is logged: what is refused tells of the register.

use ringtap_warrant::{Error, Refused};

use crate::problem::{FieldMistake, Problem};

/// An error of the register, for somebody who is logged in.
pub(crate) fn problem_of(error: &Error) -> Problem {
    let said = error.to_string();
    match error {
        Error::Wrong => Problem::refused_login(said, false),
        Error::Wait(wait) => Problem::busy(said, wait.0.div_ceil(1_000_000_000).max(1)),
        Error::Refused(refused) => problem_of_refused(*refused, said),
        _ => Problem::unavailable(said),
    }
}

fn problem_of_refused(refused: Refused, said: String) -> Problem {
    let field = |field: &str| Problem::fields(vec![FieldMistake::of(field, said.clone())]);
    match refused {
        Refused::MustChange => Problem::passphrase_first(),
        Refused::NotAnOfficer => Problem::officers_only(said),
        Refused::NoWarrant | Refused::NoProposal | Refused::Nobody => Problem::not_found(said),
        Refused::Name | Refused::NameUsed => field("name"),
        Refused::Period | Refused::NotLater => field("ends_us"),
        Refused::Targets => field("targets"),
        Refused::LiidUsed => field("liid"),
        Refused::Passphrase(_) => field("passphrase"),
        Refused::Field { field: name, .. } => field(key_of(name)),
        _ => Problem::conflict(said),
    }
}

/// The field of a request that the register calls so.
fn key_of(name: &str) -> &str {
    match name {
        "case number" => "case",
        "legal basis" => "legal_basis",
        "reason" => "why",
        "reference of the order" => "reference",
        "note" => "text",
        other => other,
    }
}

/// For those who are not let in: it says nothing of what is wrong with the register.
pub(crate) fn unusable() -> Problem {
    Problem::unavailable(
        "the register of warrants cannot be used: whoever runs the console finds out why with `ringtap \
         warrant verify`",
    )
}
