//! What the body of a stored record consists of, as a day file describes it for those who read it later.

use ringtap_model::{FieldShape, FieldType, Unit};
use serde::{Deserialize, Serialize};

/// A field of a body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FieldLayout {
    /// Its name in records.
    pub(crate) name: String,
    /// How its values are written.
    #[serde(flatten)]
    pub(crate) kind: FieldKind,
    /// Whether it may be unknown; what cannot be and is left out is zero or empty.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) optional: bool,
}

/// How the values of a field are written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum FieldKind {
    /// Its length, then its bytes in UTF-8.
    Text,
    /// The place of the name in this list.
    Name {
        /// The names that there were when the format was made.
        names: Vec<String>,
    },
    /// 16 bytes.
    Id,
    /// 4 or 6 for the version of IP, the address, the port.
    Endpoint,
    /// A whole number.
    Integer,
    /// A whole number, written as the difference from the moment before it.
    Moment,
    /// A number with a fraction.
    Real,
    /// Their number, then each text.
    Texts,
    /// Their number, then each id.
    Ids,
    /// Their number, then the values of each field in turn.
    Parts {
        /// The fields of a part.
        fields: Vec<FieldLayout>,
    },
}

/// The layout of these fields, without those that are columns.
pub(crate) fn layout(shape: &[FieldShape], columns: &[&str]) -> Vec<FieldLayout> {
    let in_body = shape.iter().filter(|field| !columns.contains(&field.name));
    in_body
        .map(|field| FieldLayout { name: field.name.into(), kind: kind(field), optional: field.optional })
        .collect()
}

fn kind(field: &FieldShape) -> FieldKind {
    match field.kind {
        FieldType::Text => FieldKind::Text,
        FieldType::Name(names) => {
            FieldKind::Name { names: names.iter().map(|name| name.name.to_owned()).collect() }
        }
        FieldType::Id => FieldKind::Id,
        FieldType::Endpoint => FieldKind::Endpoint,
        FieldType::Integer if field.unit == Unit::Microseconds => FieldKind::Moment,
        FieldType::Integer => FieldKind::Integer,
        FieldType::Real => FieldKind::Real,
        FieldType::Texts => FieldKind::Texts,
        FieldType::Ids => FieldKind::Ids,
        FieldType::Parts(_, fields) => FieldKind::Parts { fields: layout(fields, &[]) },
    }
}

/// Which field of a layout holds each field of a shape.
pub(crate) fn places(shape: &[FieldShape], layout: &[FieldLayout]) -> Vec<Option<usize>> {
    shape.iter().map(|field| layout.iter().position(|other| other.name == field.name)).collect()
}
