//! Notes of a call that its signalling alone tells.

use std::fmt;

use ringtap_model::{Nanos, Note, NoteCode, Party};

use crate::Texts;

/// A session that ran out, RFC 4028.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expiry {
    /// When it ran out.
    pub at: Nanos,
    /// The session interval in seconds.
    pub seconds: u32,
    /// Who was to refresh it; None where nobody was named.
    pub refresher: Option<Party>,
    /// A refresh was refused as too short: the interval in seconds that was asked for, 0 if none was.
    pub refused: Option<u32>,
}

/// How often and how long one side put the other on hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HoldFacts {
    /// When it did so first.
    pub first: Option<Nanos>,
    /// How often.
    pub times: u32,
    /// How long in all.
    pub length: Nanos,
    /// It lasted until the call ended.
    pub is_on: bool,
}

/// A transfer that a call asked for, or that it is the result of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// When it was asked for.
    pub at: Nanos,
    /// Who asked for it; None where the call took the place of another.
    pub by: Option<Party>,
    /// To whom, or the Call-ID whose place the call took.
    pub to: Box<str>,
    /// The transferring side has spoken with them (Replaces, RFC 3891).
    pub is_attended: bool,
    /// It was refused with this code.
    pub refused: Option<u16>,
}

/// The session of the call ran out.
pub fn session_expired(expiry: &Expiry, texts: Texts<'_>) -> Note {
    let Expiry { at, seconds, refresher, refused } = *expiry;
    let (before, who, after) = match refresher {
        None => ("", "", ""),
        Some(party) => (", which the ", party.name(), " refreshes,"),
    };
    let refused = fmt::from_fn(|f| match refused {
        None => Ok(()),
        Some(0) => f.write_str("; a refresh was refused with 422"),
        Some(least) => write!(f, "; a refresh was refused with 422, at least {least} s are wanted"),
    });
    let evidence = texts(format_args!(
        "the session of {seconds} s{before}{who}{after} ran out, and no BYE was seen{refused}"
    ));
    let value = Some(f64::from(seconds));
    Note { since: Some(at), value, ..Note::new(NoteCode::SessionExpired, evidence) }
}

/// What one side's holds amount to; None without any.
pub fn hold(by: Party, facts: &HoldFacts, texts: Texts<'_>) -> Option<Note> {
    let since = facts.first?;
    let how_often = fmt::from_fn(|f| match facts.times {
        0 | 1 => f.write_str("once"),
        times => write!(f, "{times} times"),
    });
    let seconds = facts.length.millis_f64() / 1e3;
    let until = if facts.is_on { ", until the end" } else { "" };
    let evidence = texts(format_args!(
        "the {} put the other side on hold {how_often}, for {seconds:.1} s{until}",
        by.name()
    ));
    let value = Some((seconds * 1e3).round() / 1e3);
    Some(Note { since: Some(since), value, ..Note::new(NoteCode::Hold, evidence) })
}

/// To whom the call was transferred.
pub fn transfer(transfer: &Transfer, texts: Texts<'_>) -> Note {
    let Transfer { at, by, to, is_attended, refused } = transfer;
    let how = if *is_attended { "whom it had called before" } else { "without asking" };
    let refused = fmt::from_fn(|f| match refused {
        Some(code) => write!(f, "; refused with {code}"),
        None => Ok(()),
    });
    let evidence = match by {
        Some(party) => {
            texts(format_args!("the {} sent the other side to {to}, {how}{refused}", party.name()))
        }
        None => texts(format_args!("it takes the place of the call {to}{refused}")),
    };
    Note { since: Some(*at), ..Note::new(NoteCode::Transfer, evidence) }
}

#[cfg(test)]
mod tests {
    use std::fmt::format;

    use super::*;

    #[test]
    fn the_evidence_is_a_sentence() {
        let at = Nanos::from_secs(7);
        let expiry = Expiry { at, seconds: 1800, refresher: Some(Party::Caller), refused: Some(3600) };
        let note = session_expired(&expiry, &format);
        assert_eq!(
            note.evidence,
            "the session of 1800 s, which the caller refreshes, ran out, and no BYE was seen; a refresh was \
             refused with 422, at least 3600 s are wanted"
        );
        assert_eq!((note.since, note.value), (Some(at), Some(1800.0)));
        let plain = session_expired(&Expiry { refresher: None, refused: None, ..expiry }, &format);
        assert_eq!(plain.evidence, "the session of 1800 s ran out, and no BYE was seen");
        let facts = HoldFacts { first: Some(at), times: 2, length: Nanos::from_millis(65_040), is_on: true };
        let note = hold(Party::Callee, &facts, &format).unwrap();
        assert_eq!(note.evidence, "the callee put the other side on hold 2 times, for 65.0 s, until the end");
        assert_eq!(hold(Party::Callee, &HoldFacts::default(), &format), None);
        let asked =
            Transfer { at, by: Some(Party::Callee), to: "carol".into(), is_attended: false, refused: None };
        assert_eq!(
            transfer(&asked, &format).evidence,
            "the callee sent the other side to carol, without asking"
        );
        let refused = Transfer { refused: Some(603), is_attended: true, ..asked.clone() };
        assert_eq!(
            transfer(&refused, &format).evidence,
            "the callee sent the other side to carol, whom it had called before; refused with 603"
        );
        let result = Transfer { by: None, to: "a@b".into(), ..asked };
        assert_eq!(transfer(&result, &format).evidence, "it takes the place of the call a@b");
    }
}
