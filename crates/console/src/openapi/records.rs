//! Schemas of records: made from the definitions of their fields, as the tables of the manual are.

use std::borrow::Cow;

use ringtap_model::record::{Field, FieldType, Unit};
use ringtap_model::{
    AffectedCall, AffectedGap, Alarm, Call, Dtmf, Failover, FailoverSign, Failure, Interval, Join,
    MethodCount, Note, Outage, QualityReport, Record, RtcpReport, Stream, User,
};
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, SchemaType, Type};
use utoipa::openapi::{KnownFormat, Ref, RefOr, Schema, SchemaFormat};
use utoipa::{PartialSchema, ToSchema};

use super::names::enumeration;

/// Names and schemas, as utoipa collects them.
type Schemas = Vec<(String, RefOr<Schema>)>;

macro_rules! records {
    ($($(#[$doc:meta])* $Schema:ident of $Record:ident;)*) => { $(
        $(#[$doc])*
        pub(crate) struct $Schema;

        impl PartialSchema for $Schema {
            fn schema() -> RefOr<Schema> {
                schema::<$Record>(Some($Record::NAME))
            }
        }

        impl ToSchema for $Schema {
            fn name() -> Cow<'static, str> {
                Cow::Borrowed(stringify!($Record))
            }

            fn schemas(schemas: &mut Schemas) {
                parts::<$Record>(schemas);
            }
        }
    )* };
}

records! {
    /// A call.
    CallRecord of Call;
    /// A media stream.
    StreamRecord of Stream;
    /// An alarm.
    AlarmRecord of Alarm;
    /// A user.
    UserRecord of User;
    /// A time in which a service served nobody.
    OutageRecord of Outage;
    /// A failover.
    FailoverRecord of Failover;
    /// A call that a failover had an effect on.
    AffectedCallRecord of AffectedCall;
}

/// What a record is called in lists of parts and here, and its schema.
type Part = (&'static str, &'static str, fn() -> RefOr<Schema>);

/// Records that are part of others.
const PARTS: [Part; 10] = [
    (Dtmf::NAME, "Digit", || schema::<Dtmf>(None)),
    (Join::NAME, "Join", || schema::<Join>(None)),
    (Note::NAME, "Note", || schema::<Note>(None)),
    (Interval::NAME, "Interval", || schema::<Interval>(None)),
    (RtcpReport::NAME, "RtcpReport", || schema::<RtcpReport>(None)),
    (QualityReport::NAME, "QualityReport", || schema::<QualityReport>(None)),
    (MethodCount::NAME, "MethodCount", || schema::<MethodCount>(None)),
    (Failure::NAME, "Failure", || schema::<Failure>(None)),
    (AffectedGap::NAME, "AffectedGap", || schema::<AffectedGap>(None)),
    (FailoverSign::NAME, "FailoverSign", || schema::<FailoverSign>(None)),
];

/// Adds the schemas of what a record has lists of.
fn parts<R: Record>(schemas: &mut Schemas) {
    for field in R::FIELDS {
        if let FieldType::Parts(name, _) = field.kind
            && let Some((_, shown, schema)) = PARTS.iter().find(|(part, ..)| *part == name)
        {
            schemas.push(((*shown).to_owned(), schema()));
        }
    }
}

/// The schema of a record; of one that is no part of another, with its `type`.
fn schema<R: Record>(kind: Option<&str>) -> RefOr<Schema> {
    let mut object = ObjectBuilder::new().description(Some(R::ABOUT));
    if let Some(kind) = kind {
        object = object.property("type", enumeration([(kind, "")], false)).required("type");
    }
    for field in R::FIELDS {
        object = object.property(field.name, value(field)).required(field.name);
    }
    object.into()
}

fn value<R>(field: &Field<R>) -> RefOr<Schema> {
    let said = match field.unit {
        Unit::None => field.description.to_owned(),
        unit => format!("{} Unit: {}.", field.description, unit.symbol()),
    };
    let text = |pattern: Option<&str>| {
        ObjectBuilder::new()
            .schema_type(or_null(Type::String, field.optional))
            .pattern(pattern)
            .description(Some(said.clone()))
    };
    let list = |items: RefOr<Schema>| ArrayBuilder::new().items(items).description(Some(said.clone())).into();
    match field.kind {
        FieldType::Text => text(None).into(),
        FieldType::Id => text(Some(ID)).into(),
        FieldType::Endpoint => text(None).examples(["192.0.2.1:5060", "[2001:db8::1]:5060"]).into(),
        FieldType::Name(names) => {
            let names = names.iter().map(|name| (name.name, name.description));
            let mut object = enumeration(names, field.optional);
            let values = object.description.take().unwrap_or_default();
            object.description = Some(format!("{said}\n\n{values}"));
            RefOr::T(Schema::Object(object))
        }
        FieldType::Integer => ObjectBuilder::new()
            .schema_type(or_null(Type::Integer, field.optional))
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::Int64)))
            .minimum(Some(0))
            .description(Some(said))
            .into(),
        FieldType::Real => ObjectBuilder::new()
            .schema_type(or_null(Type::Number, field.optional))
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::Double)))
            .description(Some(said))
            .into(),
        FieldType::Texts => list(ObjectBuilder::new().schema_type(Type::String).into()),
        FieldType::Ids => list(ObjectBuilder::new().schema_type(Type::String).pattern(Some(ID)).into()),
        FieldType::Parts(name, _) => {
            let shown = PARTS.iter().find(|(part, ..)| *part == name).map_or(name, |(_, shown, _)| shown);
            list(Ref::from_schema_name(shown).into())
        }
    }
}

/// A type, or null where the value may be unknown.
fn or_null(kind: Type, optional: bool) -> SchemaType {
    match optional {
        true => SchemaType::Array(vec![kind, Type::Null]),
        false => SchemaType::Type(kind),
    }
}

/// 32 hex digits.
pub(crate) const ID: &str = "^[0-9a-f]{32}$";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_list_of_records_is_described() {
        fn check<R: Record>() {
            for field in R::FIELDS {
                if let FieldType::Parts(name, _) = field.kind {
                    assert!(
                        PARTS.iter().any(|(part, ..)| *part == name),
                        "{}.{}: {name}",
                        R::NAME,
                        field.name
                    );
                }
            }
        }
        check::<Call>();
        check::<Stream>();
        check::<Alarm>();
        check::<User>();
    }
}
