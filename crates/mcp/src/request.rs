//! A request, and what its answer may show.

use std::sync::Arc;

use ringtap_anonymise::Tokens;
use ringtap_model::{Call, Id, Nanos, Stream};
use ringtap_report::time::{self, Moment};
use ringtap_search::{Context, Expression, FieldName, Site, Test, parse};
use ringtap_store::{Coverage, RunningSearch, SearchEnd};
use serde_json::{Value, json};

use crate::bounds::clean;
use crate::records::Records;
use crate::refusal::Refusal;

/// The networks that have names at that moment.
pub type KnownSites = Arc<dyn Fn() -> anyhow::Result<Vec<Site>> + Send + Sync>;

/// A request that is being answered.
pub(crate) struct Request {
    pub(crate) records: Arc<dyn Records>,
    /// Hides numbers; `None` where they are shown.
    pub(crate) tokens: Option<Tokens>,
    /// Over when the client does not wait any more, or time is over.
    pub(crate) running: Arc<RunningSearch>,
    pub(crate) sites: KnownSites,
}

impl Request {
    /// Reads a search. Who may not see numbers may not search for their digits either: that would find out
    /// which is behind a token, digit by digit.
    pub(crate) fn parse(&self, query: &str) -> Result<Expression, Refusal> {
        let context = Context { sites: Some((self.sites)()?), ..self.context() };
        let expression = parse(query, &context)?;
        let mut asks_for_number = None;
        expression.each_condition(&mut |condition| {
            let is_personal = PERSONAL.contains(&condition.field) && condition.test != Test::Exists;
            if is_personal && asks_for_number.is_none() {
                asks_for_number = Some(condition.field().name);
            }
        });
        match asks_for_number {
            Some(field) if self.tokens.is_some() => Err(Refusal::new(
                format!("the search asks for `{field}`, and numbers are hidden here"),
                "to follow somebody, give the token of an earlier answer (`~` and ten characters) as \
                 `party`; digits, Call-IDs and free text can be searched where numbers are shown: with \
                 the right `numbers` in the console, or by `ringtap mcp --numbers`",
            )),
            _ => Ok(expression),
        }
    }

    /// When and where a search is read, without the names of networks.
    pub(crate) fn context(&self) -> Context {
        Context::new(time::now(), time::zone())
    }

    /// A part of an answer as it may be shown.
    pub(crate) fn shown(&self, mut part: Value) -> Value {
        if let Some(tokens) = &self.tokens {
            tokens.json(&mut part);
        }
        clean(&mut part);
        part
    }

    /// Whether somebody of that token, or number, is a party of a call.
    pub(crate) fn is_party(&self, call: &Call, party: &str) -> bool {
        let users = [&call.from_user, &call.to_user, &call.ruri_user, &call.asserted_identity];
        let named = users.into_iter().flatten().chain(&call.diverted_to);
        named.into_iter().any(|user| self.is_user(user, party))
    }

    /// Whether a user has that token, or is that number.
    pub(crate) fn is_user(&self, user: &str, party: &str) -> bool {
        let user = user.trim_start_matches("sips:").trim_start_matches("sip:").trim_start_matches("tel:");
        let user = user.split(['@', ';']).next().unwrap_or_default();
        match &self.tokens {
            Some(tokens) => tokens.token(user) == party,
            None => user == party,
        }
    }

    /// A party to look for: where numbers are hidden, only a token says who.
    pub(crate) fn party<'a>(&self, party: Option<&'a str>) -> Result<Option<&'a str>, Refusal> {
        match party.map(str::trim).filter(|party| !party.is_empty()) {
            Some(party) if self.tokens.is_some() && !party.starts_with('~') => Err(Refusal::new(
                "`party` is a number, and numbers are hidden here",
                "give the token of an earlier answer: `~` and ten characters",
            )),
            party => Ok(party),
        }
    }

    /// A call with its streams.
    pub(crate) fn call(&self, id: &str) -> Result<(Call, Vec<Stream>), Refusal> {
        let parsed: Id = id.trim().parse().map_err(|_| Refusal::no_call(id))?;
        self.records.call(&parsed)?.ok_or_else(|| Refusal::no_call(id))
    }

    /// How far an answer goes.
    pub(crate) fn coverage(&self, coverage: &Coverage) -> Value {
        let reason = match coverage.end {
            SearchEnd::Complete => None,
            SearchEnd::Enough => Some("more"),
            SearchEnd::Stopped => Some("time"),
        };
        let days = match coverage.days {
            0 => String::new(),
            days => format!(", {} of {days} days", coverage.days_searched),
        };
        json!({
            "complete": reason.is_none(),
            "reason": reason,
            "looked_at": coverage.looked_at,
            "of": format!("{}{days}", self.records.name()),
        })
    }
}

/// A time from an argument; `name` is that of the argument.
pub(crate) fn moment(name: &str, text: Option<&str>) -> Result<Option<Nanos>, Refusal> {
    let Some(text) = text.filter(|text| !text.trim().is_empty()) else { return Ok(None) };
    let moment: Moment = text
        .parse()
        .map_err(|remedy: String| Refusal::new(format!("`{name}` is no time: `{text}`"), remedy))?;
    Ok(Some(moment.instant()))
}

/// A span of time from arguments.
pub(crate) fn span(since: Option<&str>, until: Option<&str>) -> Result<(Nanos, Nanos), Refusal> {
    let since = moment("since", since)?.unwrap_or(Nanos::ZERO);
    Ok((since, moment("until", until)?.unwrap_or(Nanos::MAX)))
}

/// A call in a few lines.
pub(crate) fn brief(call: &Call) -> Value {
    let notes: Vec<&str> = call.notes.iter().map(|note| note.code.name()).collect();
    json!({
        "id": call.id,
        "began": call.start().map(time::rfc3339),
        "state": call.state.name(),
        "final_code": call.final_code,
        "duration_s": call.duration_ms.map(|millis| (millis / 100.0).round() / 10.0),
        "pdd_s": call.pdd_ms.map(|millis| (millis / 10.0).round() / 100.0),
        "mos": call.mos,
        "mos_worst_10_s": call.mos_worst_interval,
        "notes": notes,
        "streams": call.streams.len(),
        "recorded": call.recorded.name(),
        "untrusted": {
            "from_user": call.from_user,
            "to_user": call.to_user,
            "call_id": call.call_id,
            "final_reason": call.final_reason,
            "user_agent_caller": call.user_agent_caller,
            "user_agent_callee": call.user_agent_callee,
            "trunk_from": call.trunk_from,
            "trunk_to": call.trunk_to,
        },
    })
}

/// Fields whose values tell who somebody is.
const PERSONAL: [FieldName; 7] = [
    FieldName::Number,
    FieldName::From,
    FieldName::To,
    FieldName::Diverted,
    FieldName::Uri,
    FieldName::CallId,
    FieldName::Text,
];
