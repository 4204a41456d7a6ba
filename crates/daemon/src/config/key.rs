//! Keys of the configuration, and the macro by which a section defines each of them once.
//!
//! [`section!`] makes the structure that the file is read into and the table of its [`Key`]s from one
//! definition. The default file, the page of the manual, the errors, the bounds and what a reload puts into
//! effect come from that table.

use std::num::NonZeroU8;
use std::path::PathBuf;

/// A section of the file.
#[derive(Debug)]
pub(crate) struct Section {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) keys: &'static [Key],
}

/// A key, with everything that its users are told about it.
#[derive(Debug)]
pub(crate) struct Key {
    pub(crate) section: &'static str,
    pub(crate) name: &'static str,
    /// Its default, as it is written in the file.
    pub(crate) default: fn() -> String,
    /// What it accepts, with an example: "... is not" this.
    pub(crate) accepts: fn() -> String,
    pub(crate) bounds: Option<Bounds>,
    /// Writes a number within the bounds as the file has it.
    pub(crate) show: fn(u64) -> String,
    /// A reload applies it.
    pub(crate) live: bool,
    pub(crate) description: &'static str,
}

impl Key {
    /// `64KiB to 16GiB`, for the manual; empty where every value of its type is accepted.
    pub(crate) fn range(&self) -> String {
        let Some(Bounds { least, most, unit, .. }) = self.bounds else { return String::new() };
        let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
        match (least, most) {
            (0, most) => format!("at most {}{unit}", (self.show)(most)),
            (least, u64::MAX) => format!("at least {}{unit}", (self.show)(least)),
            (least, most) => format!("{} to {}{unit}", (self.show)(least), (self.show)(most)),
        }
    }

    /// Checks a number; the error says which numbers are allowed.
    fn check(&self, number: u64) -> Result<(), KeyProblem> {
        let Some(bounds) = self.bounds.filter(|bounds| !bounds.admit(number)) else { return Ok(()) };
        let from = if bounds.least > 0 && bounds.most < u64::MAX { "from " } else { "" };
        let default = (self.default)();
        let example = bounds.example.unwrap_or(default.trim_matches('"'));
        let zero = bounds.zero.map(|zero| format!("; {zero}")).unwrap_or_default();
        let problem = format!("must be {from}{}, for example {example}{zero}", self.range());
        Err((self.section, self.name, problem))
    }
}

/// Section, key, and problem: what is wrong with its value and how to correct it.
pub(crate) type KeyProblem = (&'static str, &'static str, String);

/// The numbers that a key accepts: bytes, nanoseconds, or what its unit says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    least: u64,
    most: u64,
    /// What 0 means, where it is accepted beside the others.
    zero: Option<&'static str>,
    /// A useful number, if the default is not one.
    example: Option<&'static str>,
    /// What a plain number counts.
    unit: &'static str,
}

impl Bounds {
    pub(crate) const fn between(least: u64, most: u64) -> Self {
        Self { least, most, zero: None, example: None, unit: "" }
    }

    pub(crate) const fn at_least(least: u64) -> Self {
        Self::between(least, u64::MAX)
    }

    pub(crate) const fn at_most(most: u64) -> Self {
        Self::between(0, most)
    }

    pub(crate) const fn zero(self, meaning: &'static str) -> Self {
        Self { zero: Some(meaning), ..self }
    }

    pub(crate) const fn example(self, example: &'static str) -> Self {
        Self { example: Some(example), ..self }
    }

    pub(crate) const fn unit(self, unit: &'static str) -> Self {
        Self { unit, ..self }
    }

    fn admit(&self, number: u64) -> bool {
        (self.zero.is_some() && number == 0) || (self.least..=self.most).contains(&number)
    }
}

/// A structure that a section is read into.
pub(crate) trait Keys: Sized {
    const SECTION: Section;

    /// The value of each key as a number, where it is one; in the order of the keys.
    fn numbers(&self) -> Vec<Option<u64>>;

    /// Whether the value of each key differs in `other`; in the order of the keys.
    fn differences(&self, other: &Self) -> Vec<bool>;

    /// The keys whose values are not the defaults, each as it is written in the file.
    fn written(&self) -> Vec<(&'static str, String)>;

    /// Adopts the live keys of a new file.
    fn adopt_live(&mut self, fresh: &Self);

    /// The keys whose values differ.
    fn changed(&self, other: &Self) -> impl Iterator<Item = &'static Key> {
        let differences = self.differences(other);
        Self::SECTION.keys.iter().zip(differences).filter_map(|(key, differs)| differs.then_some(key))
    }

    /// The values outside the bounds of their keys.
    fn check_bounds(&self) -> Vec<KeyProblem> {
        let numbers = Self::SECTION.keys.iter().zip(self.numbers());
        numbers.filter_map(|(key, number)| key.check(number?).err()).collect()
    }
}

/// A type that a key can have.
pub(crate) trait KeyValue {
    /// What a key of this type accepts, with an example.
    fn accepts() -> String;

    /// The value as it is written in the file.
    fn written(&self) -> String;

    /// The value as a number, for its bounds.
    fn number(&self) -> Option<u64> {
        None
    }

    /// A number as it is written in the file, without quotes.
    fn show(number: u64) -> String {
        number.to_string()
    }
}

/// A text as TOML has it.
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for letter in text.chars() {
        match letter {
            '\\' | '"' => quoted.extend(['\\', letter]),
            control if control.is_control() => quoted.push_str(&format!("\\u{:04X}", u32::from(control))),
            _ => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

/// A list as TOML has it.
pub(crate) fn list<T>(items: &[T], written: impl Fn(&T) -> String) -> String {
    format!("[{}]", items.iter().map(written).collect::<Vec<_>>().join(", "))
}

/// Implements [`KeyValue`]: what a type accepts, how a value is written, and its number for bounds.
macro_rules! key_values {
    ($($type:ty: $accepts:expr, |$value:ident| $written:expr $(, number $number:expr)?;)*) => { $(
        impl $crate::config::key::KeyValue for $type {
            fn accepts() -> String {
                $accepts.to_owned()
            }

            fn written(&self) -> String {
                let $value = self;
                $written
            }

            $(fn number(&self) -> Option<u64> {
                let $value = self;
                $number
            })?
        }
    )* };
}

key_values! {
    bool: "true or false", |flag| flag.to_string();
    usize: "a whole number, such as 60000", |number| number.to_string(), number u64::try_from(*number).ok();
    u32: "a whole number, such as 60000", |number| number.to_string(), number Some(u64::from(*number));
    NonZeroU8: "a whole number from 1 to 255, such as 2", |number| number.to_string();
    String: "a text", |text| quoted(text);
    PathBuf: "a path", |path| quoted(&path.display().to_string());
    Vec<String>: "a list of texts", |texts| list(texts, |text| quoted(text));
    Vec<PathBuf>: "a list of paths", |paths| list(paths, |path| quoted(&path.display().to_string()));
    Vec<u16>: "a list of whole numbers", |numbers| list(numbers, ToString::to_string);
    f64: "a number", |number| number.to_string();
}

impl<T: KeyValue> KeyValue for Option<T> {
    fn accepts() -> String {
        T::accepts()
    }

    fn written(&self) -> String {
        self.as_ref().map_or_else(|| "none".to_owned(), T::written)
    }
}

pub(crate) const KIB: u64 = 1 << 10;
pub(crate) const MIB: u64 = 1 << 20;
pub(crate) const GIB: u64 = 1 << 30;
pub(crate) const MILLISECOND: u64 = 1_000_000;
pub(crate) const SECOND: u64 = 1_000_000_000;
pub(crate) const MINUTE: u64 = 60 * SECOND;
pub(crate) const HOUR: u64 = 60 * MINUTE;
pub(crate) const DAY: u64 = 24 * HOUR;

/// The name of a key as it is in the file: a word of Rust is written otherwise there.
pub(crate) const fn name_of(written: &'static str) -> &'static str {
    match written.as_bytes() {
        [b'r', b'#', ..] => written.split_at(2).1,
        _ => written,
    }
}

/// Defines a section: the structure that it is read into, its defaults, and its [`Key`]s.
///
/// The comment of a key is its description. `#[live = true]`: a reload puts it into effect. `#[accepts =
/// ".."]` says what it accepts, where its type does not say it well enough. `#[bounds = ..]` are the
/// [`Bounds`] of its number.
macro_rules! section {
    (
        $(#[doc = $about:literal])+
        #[name = $section:literal]
        $vis:vis struct $Section:ident { $(
            $(#[doc = $description:literal])+
            $(#[live = $live:literal])?
            $(#[accepts = $accepts:literal])?
            $(#[bounds = $bounds:expr])?
            $key_vis:vis $key:ident: $type:ty = $default:expr,
        )+ }
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, PartialEq, serde::Deserialize)]
        #[serde(default, deny_unknown_fields)]
        $vis struct $Section { $(
            $(#[doc = $description])+
            $key_vis $key: $type,
        )+ }

        impl Default for $Section {
            fn default() -> Self {
                Self { $($key: $default,)+ }
            }
        }

        impl $crate::config::key::Keys for $Section {
            const SECTION: $crate::config::key::Section = $crate::config::key::Section {
                name: $section,
                about: concat!($($about),+).trim_ascii(),
                keys: &[ $(
                    $crate::config::key::Key {
                        section: $section,
                        name: $crate::config::key::name_of(stringify!($key)),
                        default: || {
                            let default: $type = $default;
                            $crate::config::key::KeyValue::written(&default)
                        },
                        accepts: $crate::config::key::section!(
                            @first $(|| $accepts.to_owned(),)?
                            <$type as $crate::config::key::KeyValue>::accepts
                        ),
                        bounds: $crate::config::key::section!(@first $(Some($bounds),)? None),
                        show: <$type as $crate::config::key::KeyValue>::show,
                        live: $crate::config::key::section!(@first $($live,)? false),
                        description: concat!($($description),+).trim_ascii(),
                    },
                )+ ],
            };

            fn numbers(&self) -> Vec<Option<u64>> {
                vec![$($crate::config::key::KeyValue::number(&self.$key)),+]
            }

            fn differences(&self, other: &Self) -> Vec<bool> {
                vec![$(self.$key != other.$key),+]
            }

            fn written(&self) -> Vec<(&'static str, String)> {
                let default = Self::default();
                let mut written = Vec::new();
                $(if self.$key != default.$key {
                    written.push((
                        $crate::config::key::name_of(stringify!($key)),
                        $crate::config::key::KeyValue::written(&self.$key),
                    ));
                })+
                written
            }

            fn adopt_live(&mut self, fresh: &Self) {
                $(if $crate::config::key::section!(@first $($live,)? false) {
                    self.$key.clone_from(&fresh.$key);
                })+
            }
        }
    };
    (@first $first:expr $(, $other:expr)?) => { $first };
}

pub(crate) use key_values;
pub(crate) use section;
