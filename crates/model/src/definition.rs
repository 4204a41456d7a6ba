//! How a record is defined: each field once.
//!
//! `record!` makes the structure and its [`FIELDS`](crate::Record::FIELDS) from one definition; `names!`
//! makes an enumeration whose values have names in records.

/// Defines a record: the structure, how it is read and written as JSON, and its [`FIELDS`].
///
/// The comment of a field is its description. `#[name = ".."]` names it where its name in records is another
/// than in Rust, `#[unit = ..]` gives the [`Unit`] that its type does not say, `#[if_absent = default]` reads
/// records of versions that lacked it. A structure that begins with
/// `#[part]` is part of a record and has no `type` of its own. What stands in `beside { .. }` travels with
/// the record inside the program, and is neither written nor read.
///
/// [`FIELDS`]: crate::Record::FIELDS
/// [`Unit`]: crate::Unit
macro_rules! record {
    (
        $(#[doc = $about:literal])+
        #[name = $record:literal]
        pub struct $Record:ident { $($fields:tt)* }
        $(beside { $($beside:tt)* })?
    ) => {
        $crate::definition::record! {
            @structure $Record, $record, [$($about),+], [serde(tag = "type", rename = $record)],
            [$($($beside)*)?], $($fields)*
        }
    };
    (
        $(#[doc = $about:literal])+
        #[part]
        #[name = $record:literal]
        pub struct $Record:ident { $($fields:tt)* }
    ) => {
        $crate::definition::record! { @structure $Record, $record, [$($about),+], [serde()], [], $($fields)* }
    };
    (
        @structure $Record:ident, $record:literal, [$($about:literal),+], [$tag:meta],
        [$($(#[doc = $beside_about:literal])+ pub $beside:ident: $beside_type:ty,)*],
        $(
            $(#[doc = $description:literal])+
            $(#[name = $name:literal])?
            $(#[unit = $unit:ident])?
            $(#[if_absent = $absent:ident])?
            pub $field:ident: $type:ty,
        )+
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        #[$tag]
        pub struct $Record { $(
            $(#[doc = $description])+
            $(#[serde(rename = $name)])?
            $(#[serde($absent)])?
            pub $field: $type,
        )+ $(
            $(#[doc = $beside_about])+
            #[serde(skip)]
            pub $beside: $beside_type,
        )* }

        impl $crate::record::Record for $Record {
            const NAME: &'static str = $record;
            const ABOUT: &'static str = concat!($($about),+).trim_ascii();
            const FIELDS: &'static [$crate::record::Field<Self>] = &[ $(
                $crate::record::Field {
                    name: $crate::definition::record!(@first $($name,)? stringify!($field)),
                    kind: <$type as $crate::record::FieldValue>::KIND,
                    optional: <$type as $crate::record::FieldValue>::OPTIONAL,
                    unit: $crate::definition::record!(
                        @first $($crate::record::Unit::$unit,)? <$type as $crate::record::FieldValue>::UNIT
                    ),
                    description: concat!($($description),+).trim_ascii(),
                    value: |record| $crate::record::FieldValue::value(&record.$field),
                },
            )+ ];
            const SHAPE: &'static [$crate::record::FieldShape] =
                &$crate::record::shapes::<Self, { <Self as $crate::record::Record>::FIELDS.len() }>();

            fn from_values<'a>(
                mut value: impl FnMut(usize) -> $crate::record::Value<'a>,
            ) -> Result<Self, &'static str> {
                let mut fields = 0..;
                Ok(Self { $(
                    $field: fields
                        .next()
                        .and_then(|field| $crate::record::FieldValue::from_value(value(field)))
                        .ok_or($crate::definition::record!(@first $($name,)? stringify!($field)))?,
                )+ $($beside: Default::default(),)* })
            }
        }
    };
    (@first $first:expr $(, $other:expr)?) => { $first };
}

/// Defines an enumeration whose values have names in records. The comment of a value says what the name
/// means.
macro_rules! names {
    (
        $(#[doc = $about:literal])+
        pub enum $Type:ident { $(
            $(#[doc = $description:literal])+
            $Value:ident = $name:literal,
        )+ }
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $Type { $(
            $(#[doc = $description])+
            $Value,
        )+ }

        impl $Type {
            /// Every value, in the order in which people see them.
            pub const ALL: &'static [Self] = &[$(Self::$Value),+];
            /// The names of all values, each with its meaning.
            pub const NAMES: &'static [$crate::record::Name] = &[ $(
                $crate::record::Name { name: $name, description: concat!($($description),+).trim_ascii() },
            )+ ];

            /// The name in records.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$Value => $name,)+
                }
            }

            /// The value of that name.
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|value| value.name() == name)
            }
        }

        impl $crate::record::FieldValue for $Type {
            const KIND: $crate::record::FieldType = $crate::record::FieldType::Name(Self::NAMES);

            fn value(&self) -> $crate::record::Value<'_> {
                $crate::record::Value::Text(self.name())
            }

            fn from_value(value: $crate::record::Value<'_>) -> Option<Self> {
                if let $crate::record::Value::Text(name) = value { Self::from_name(name) } else { None }
            }
        }

        impl serde::Serialize for $Type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        impl<'de> serde::Deserialize<'de> for $Type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let name = <std::borrow::Cow<'_, str>>::deserialize(deserializer)?;
                Self::from_name(&name).ok_or_else(|| {
                    serde::de::Error::unknown_variant(&name, &[$($name),+])
                })
            }
        }
    };
}

pub(crate) use {names, record};
