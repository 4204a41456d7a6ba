//! Names of sites: each stands for its networks, at the time when they had that name.

use std::collections::BTreeSet;

use ringtap_model::filter::Pattern;

use super::value::one_of;
use crate::context::{Context, Site};
use crate::error::{ParseError, Place};
use crate::expression::{Condition, Expression, Test};
use crate::field::FieldName;
use crate::lexer::{Operator, RawValue};
use crate::value::{Host, TimeSpan, Value};

/// What calls of one of these sites satisfy: an address in one of its networks, and a beginning while that
/// had the name.
pub(crate) fn sites(
    operator: Operator,
    place: Place,
    raw: &[RawValue],
    context: &Context,
) -> Result<Expression, ParseError> {
    if operator != Operator::Is {
        return Err(place.error("`site` has no order", "write it with `:`, as site:lyon"));
    }
    let mut parts = Vec::new();
    let Some(known) = &context.sites else { return Ok(Expression::any(parts)) };
    for value in raw {
        let found = named(value, known);
        if found.is_empty() {
            return Err(nothing(value, known));
        }
        parts.extend(found.into_iter().map(expression));
    }
    Ok(Expression::any(parts))
}

/// The sites of that name, in any case of letters.
fn named<'c>(value: &RawValue, known: &'c [Site]) -> Vec<&'c Site> {
    let pattern = Pattern::of_pieces(value.pieces().iter().map(|piece| piece.to_lowercase()));
    known.iter().filter(|site| pattern.matches(&site.name.to_lowercase())).collect()
}

fn nothing(value: &RawValue, known: &[Site]) -> ParseError {
    let names: BTreeSet<&str> = known.iter().map(|site| site.name.as_str()).collect();
    match names.is_empty() {
        true => value.place.error("no network has a name here, so there is no site to search for", NO_SITES),
        false => value.place.error("there is no such site", one_of(&value.text(), names.iter().copied())),
    }
}

fn expression(site: &Site) -> Expression {
    let host = |network: &_| Value::Host(Host { network: *network, port: None });
    let address =
        Condition { field: FieldName::Ip, test: Test::OneOf(site.networks.iter().map(host).collect()) };
    let time = (site.span != TimeSpan::ALL)
        .then(|| Condition { field: FieldName::Began, test: Test::OneOf(vec![Value::Time(site.span)]) });
    Expression::all([address].into_iter().chain(time).map(Expression::Condition))
}

/// What helps where there are no sites: names are of a console, and for those who see all calls.
const NO_SITES: &str = "search the network itself, as ip:192.0.2.0/24; on the console's page Sites, networks \
                        get names that its searches know, for whoever sees all calls";
