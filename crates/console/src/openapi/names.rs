//! Schemas of names that have a fixed set of values.

use std::borrow::Cow;

use ringtap_access::{Action, Right, Role};
use serde_json::Value;
use utoipa::openapi::schema::{Object, ObjectBuilder, SchemaType, Type};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

/// A text that is one of these names, each with what it says; or null.
pub(super) fn enumeration<'a>(names: impl IntoIterator<Item = (&'a str, &'a str)>, optional: bool) -> Object {
    let names: Vec<(&str, &str)> = names.into_iter().collect();
    let mut values: Vec<Value> = names.iter().map(|(name, _)| Value::from(*name)).collect();
    let kind = match optional {
        false => SchemaType::Type(Type::String),
        true => {
            values.push(Value::Null);
            SchemaType::Array(vec![Type::String, Type::Null])
        }
    };
    let lines: Vec<String> = names
        .iter()
        .filter(|(_, about)| !about.is_empty())
        .map(|(name, about)| format!("* `{name}`: {about}"))
        .collect();
    ObjectBuilder::new()
        .schema_type(kind)
        .enum_values(Some(values))
        .description((!lines.is_empty()).then(|| lines.join("\n")))
        .build()
}

macro_rules! names {
    ($($(#[$doc:meta])* $Schema:ident = $name:literal of $Type:ident: $about:literal;)*) => { $(
        $(#[$doc])*
        pub(crate) struct $Schema;

        impl PartialSchema for $Schema {
            fn schema() -> RefOr<Schema> {
                let mut object = enumeration($Type::ALL.iter().map(|value| (value.name(), "")), false);
                object.description = Some($about.to_owned());
                RefOr::T(Schema::Object(object))
            }
        }

        impl ToSchema for $Schema {
            fn name() -> Cow<'static, str> {
                Cow::Borrowed($name)
            }
        }
    )* };
}

names! {
    /// A right.
    RightName = "Right" of Right: "Something that not everybody may do (docs/manual/people.md).";
    /// A role.
    RoleName = "Role" of Role: "What somebody is to the console (docs/manual/people.md).";
    /// A kind of entry of the audit log.
    ActionName = "Action" of Action: "What kind of thing was done.";
}
