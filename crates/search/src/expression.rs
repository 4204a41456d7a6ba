//! What calls have to satisfy.

use std::collections::BTreeSet;

use crate::field::{Field, FieldName, Kind};
use crate::value::Value;

/// What a call, with its streams, has to satisfy. The default selects all calls.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    /// All of these; every call where there are none.
    All(Vec<Expression>),
    /// One of these at least.
    Any(Vec<Expression>),
    /// Not this.
    Not(Box<Expression>),
    /// A condition on the call, or, within [`Expression::Stream`], on the stream. A condition on streams that
    /// stands outside is satisfied by any stream of the call.
    Condition(Condition),
    /// One and the same stream of the call satisfies this.
    Stream(Box<Expression>),
}

/// A condition on a field.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// The field.
    pub field: FieldName,
    /// What it has to be.
    pub test: Test,
}

/// What a field has to be.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// Known at all.
    Exists,
    /// One of these values. A field that is not known is none of them.
    OneOf(Vec<Value>),
}

impl Default for Expression {
    fn default() -> Self {
        Self::All(Vec::new())
    }
}

impl Expression {
    /// Whether it selects all calls because it has no condition.
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::All(parts) if parts.is_empty())
    }

    /// What satisfies both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self::all([self, other])
    }

    /// What satisfies all of these; those that are conjunctions themselves are taken apart.
    pub(crate) fn all(parts: impl IntoIterator<Item = Self>) -> Self {
        let mut flat = Vec::new();
        for part in parts {
            match part {
                Self::All(inner) => flat.extend(inner),
                other => flat.push(other),
            }
        }
        Self::single(flat).unwrap_or_else(Self::All)
    }

    /// What satisfies one of these.
    pub(crate) fn any(parts: impl IntoIterator<Item = Self>) -> Self {
        let mut flat = Vec::new();
        for part in parts {
            match part {
                Self::Any(inner) => flat.extend(inner),
                other => flat.push(other),
            }
        }
        Self::single(flat).unwrap_or_else(Self::Any)
    }

    /// Its conditions on time, as far as every call satisfies them: the others of the same time do too.
    #[must_use]
    pub fn times(&self) -> Self {
        let is_time = |part: &&Self| match part {
            Self::Condition(condition) => condition.field().kind == Kind::Time,
            _ => false,
        };
        Self::All(self.parts().iter().filter(is_time).cloned().collect())
    }

    /// The names of the fields that it has conditions on.
    pub fn field_names(&self) -> BTreeSet<&'static str> {
        let mut found = BTreeSet::new();
        self.each_condition(&mut |condition| _ = found.insert(condition.field().name));
        found
    }

    /// Passes all conditions, those within others too.
    pub fn each_condition(&self, each: &mut dyn FnMut(&Condition)) {
        match self {
            Self::All(parts) | Self::Any(parts) => parts.iter().for_each(|part| part.each_condition(each)),
            Self::Not(part) | Self::Stream(part) => part.each_condition(each),
            Self::Condition(condition) => each(condition),
        }
    }

    fn single(mut parts: Vec<Self>) -> Result<Self, Vec<Self>> {
        match (parts.len(), parts.pop()) {
            (1, Some(part)) => Ok(part),
            (_, last) => {
                parts.extend(last);
                Err(parts)
            }
        }
    }

    /// The conditions that every call satisfies that it selects: those that stand neither in an `or` nor in a
    /// `not` nor in `stream(...)`.
    pub fn conditions(&self) -> impl Iterator<Item = &Condition> {
        self.parts().iter().filter_map(|part| match part {
            Self::Condition(condition) => Some(condition),
            _ => None,
        })
    }

    /// The expressions that every call satisfies that it selects.
    pub fn parts(&self) -> &[Self] {
        match self {
            Self::All(parts) => parts,
            other => std::slice::from_ref(other),
        }
    }
}

impl Condition {
    /// A condition that one of these values holds.
    pub fn one_of(field: FieldName, values: Vec<Value>) -> Self {
        Self { field, test: Test::OneOf(values) }
    }

    /// What is known of its field.
    pub fn field(&self) -> &'static Field {
        self.field.field()
    }

    /// Its values, those of lists among them; none where the field only has to be known.
    pub fn values(&self) -> Vec<&Value> {
        let values: &[Value] = match &self.test {
            Test::Exists => &[],
            Test::OneOf(values) => values,
        };
        let mut flat = Vec::with_capacity(values.len());
        for value in values {
            match value {
                Value::List(_, values) => flat.extend(values),
                value => flat.push(value),
            }
        }
        flat
    }
}
