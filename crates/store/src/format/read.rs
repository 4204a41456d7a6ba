//! Bytes as a record. They come from a disk: nothing about them is taken for granted.

use std::net::IpAddr;

use ringtap_model::{Endpoint, Id, PartList, Value};

use super::layout::{FieldKind, FieldLayout};
use super::write::{
    IN_BITS, IN_MILLIONTHS, IN_THOUSANDTHS, LONGEST_WIDTH, MILLIONTHS, MINUS_THOUSANDTHS, MOST_PARTS, NONE,
    PACKED, SOME, THOUSANDTHS,
};

/// The values of a body, by the fields of its layout.
pub(crate) fn read<'a>(layout: &'a [FieldLayout], start: u64, body: &'a [u8]) -> Option<Vec<Decoded<'a>>> {
    let mut bytes = Bytes(body);
    let present = bytes.take(layout.len().div_ceil(8))?;
    let reals = layout.iter().filter(|field| field.kind == FieldKind::Real).count();
    let units = bytes.take(reals.div_ceil(4))?;
    let mut reals = 0..;
    let mut moment = start;
    let mut values = Vec::with_capacity(layout.len());
    for (place, field) in layout.iter().enumerate() {
        let unit = if field.kind == FieldKind::Real { reals.next() } else { None };
        let unit = unit.map(|place: usize| units[place / 4] >> (place % 4 * 2) & 3);
        let value = if is_set(present, place) {
            match unit {
                Some(unit) => Decoded::Real(bytes.real(unit)?),
                None => bytes.value(field, start, &mut moment)?,
            }
        } else if field.optional {
            Decoded::Null
        } else {
            absent(&field.kind)
        };
        values.push(value);
    }
    // What follows belongs to nothing.
    bytes.0.is_empty().then_some(values)
}

/// The value of a field.
#[derive(Debug)]
pub(crate) enum Decoded<'a> {
    Null,
    Text(&'a str),
    Id(Id),
    Endpoint(Endpoint),
    Integer(u64),
    Real(f64),
    Texts(Vec<String>),
    Ids(Vec<Id>),
    Parts(usize, Vec<Vec<Decoded<'a>>>),
}

impl<'a> Decoded<'a> {
    /// As a value; that of a list of parts is a [`Parts`].
    pub(crate) fn value(&'a self) -> Value<'a> {
        match self {
            Self::Text(text) => Value::Text(text),
            Self::Id(id) => Value::Id(*id),
            Self::Endpoint(endpoint) => Value::Endpoint(*endpoint),
            Self::Integer(number) => Value::Integer(*number),
            Self::Real(number) => Value::Real(*number),
            Self::Texts(texts) => Value::Texts(texts),
            Self::Ids(ids) => Value::Ids(ids),
            Self::Null | Self::Parts(..) => Value::Null,
        }
    }
}

/// A list of parts, of which each field stands where `places` says.
#[derive(Debug)]
pub(crate) struct Parts<'a> {
    pub(crate) count: usize,
    pub(crate) columns: &'a [Vec<Decoded<'a>>],
    pub(crate) places: &'a [Option<usize>],
}

impl PartList for Parts<'_> {
    fn count(&self) -> usize {
        self.count
    }

    fn value(&self, part: usize, field: usize) -> Value<'_> {
        let column = self.places.get(field).copied().flatten().and_then(|place| self.columns.get(place));
        column.and_then(|column| column.get(part)).map_or(Value::Null, Decoded::value)
    }
}

fn is_set(bits: &[u8], place: usize) -> bool {
    bits.get(place / 8).is_some_and(|byte| byte >> (place % 8) & 1 == 1)
}

/// What a field that cannot be unknown has if it is left out.
fn absent(kind: &FieldKind) -> Decoded<'static> {
    match kind {
        FieldKind::Integer => Decoded::Integer(0),
        FieldKind::Real => Decoded::Real(0.0),
        // Lists are empty; the others are never left out.
        _ => Decoded::Null,
    }
}

/// What is left of a body. `None` from each function: it ends early, or is damaged.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn varint(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let [byte] = self.array()?;
            number |= u64::from(byte & 127) << shift;
            if byte < 128 {
                return Some(number);
            }
        }
        None
    }

    fn signed(&mut self) -> Option<i64> {
        self.varint().map(unfold)
    }

    /// How many elements follow, each of which takes at least `least` bytes.
    fn count(&mut self, least: usize) -> Option<usize> {
        let count = usize::try_from(self.varint()?).ok()?;
        (count <= self.0.len() / least).then_some(count)
    }

    fn value(&mut self, field: &'a FieldLayout, start: u64, moment: &mut u64) -> Option<Decoded<'a>> {
        Some(match &field.kind {
            FieldKind::Moment => {
                *moment = moment.wrapping_add_signed(self.signed()?);
                Decoded::Integer(*moment)
            }
            FieldKind::Texts => {
                let count = self.count(1)?;
                Decoded::Texts((0..count).map(|_| self.text().map(str::to_owned)).collect::<Option<_>>()?)
            }
            FieldKind::Ids => {
                let count = self.count(16)?;
                Decoded::Ids((0..count).map(|_| self.array().map(Id)).collect::<Option<_>>()?)
            }
            FieldKind::Parts { fields } => {
                let count = usize::try_from(self.varint()?).ok().filter(|count| *count <= MOST_PARTS)?;
                let columns =
                    fields.iter().map(|field| self.column(field, count, start)).collect::<Option<_>>()?;
                Decoded::Parts(count, columns)
            }
            kind => self.scalar(kind)?,
        })
    }

    fn scalar(&mut self, kind: &'a FieldKind) -> Option<Decoded<'a>> {
        Some(match kind {
            FieldKind::Text => Decoded::Text(self.text()?),
            FieldKind::Name { names } => Decoded::Text(names.get(usize::try_from(self.varint()?).ok()?)?),
            FieldKind::Id => Decoded::Id(Id(self.array()?)),
            FieldKind::Endpoint => Decoded::Endpoint(self.endpoint()?),
            FieldKind::Integer => Decoded::Integer(self.varint()?),
            FieldKind::Real => {
                let [unit] = self.array()?;
                Decoded::Real(self.real(unit)?)
            }
            FieldKind::Moment | FieldKind::Texts | FieldKind::Ids | FieldKind::Parts { .. } => return None,
        })
    }

    fn text(&mut self) -> Option<&'a str> {
        let length = self.count(1)?;
        std::str::from_utf8(self.take(length)?).ok()
    }

    fn endpoint(&mut self) -> Option<Endpoint> {
        let [version] = self.array()?;
        let ip: IpAddr = match version {
            4 => self.array::<4>()?.into(),
            6 => self.array::<16>()?.into(),
            _ => return None,
        };
        Some(Endpoint::new(ip, u16::from_be_bytes(self.array()?)))
    }

    fn real(&mut self, unit: u8) -> Option<f64> {
        Some(match unit {
            IN_THOUSANDTHS => self.whole()? / 1e3,
            IN_MILLIONTHS => self.whole()? / 1e6,
            MINUS_THOUSANDTHS => self.whole()? / -1e3,
            IN_BITS => f64::from_bits(u64::from_le_bytes(self.array()?)),
            _ => return None,
        })
    }

    fn whole(&mut self) -> Option<f64> {
        self.varint().map(|whole| whole as f64)
    }

    /// One field of all parts.
    fn column(&mut self, field: &'a FieldLayout, count: usize, start: u64) -> Option<Vec<Decoded<'a>>> {
        let [mode] = self.array()?;
        let known: Vec<bool> = match mode & 3 {
            NONE => vec![false; count],
            SOME => {
                let bits = self.take(count.div_ceil(8))?;
                (0..count).map(|part| is_set(bits, part)).collect()
            }
            _ => vec![true; count],
        };
        let present = known.iter().filter(|known| **known).count();
        let values = self.known_values(field, mode, present, start)?;
        let mut values = values.into_iter();
        Some(
            known
                .into_iter()
                .map(|known| if known { values.next() } else { None }.unwrap_or(Decoded::Null))
                .collect(),
        )
    }

    fn known_values(
        &mut self,
        field: &'a FieldLayout,
        mode: u8,
        count: usize,
        start: u64,
    ) -> Option<Vec<Decoded<'a>>> {
        let scaled = |numbers: Vec<u64>, scale: f64| {
            numbers.into_iter().map(|number| Decoded::Real(number as i64 as f64 / scale)).collect()
        };
        Some(match &field.kind {
            FieldKind::Integer => self.series(mode, count)?.into_iter().map(Decoded::Integer).collect(),
            FieldKind::Moment => {
                sums(sums(self.changes(count)?, 0), start).into_iter().map(Decoded::Integer).collect()
            }
            FieldKind::Real if mode & THOUSANDTHS != 0 => scaled(self.series(mode, count)?, 1e3),
            FieldKind::Real if mode & MILLIONTHS != 0 => scaled(self.series(mode, count)?, 1e6),
            // Each takes a byte at least.
            _ if count > self.0.len() => return None,
            kind => (0..count).map(|_| self.scalar(kind)).collect::<Option<_>>()?,
        })
    }

    /// Numbers as differences, or of so many bits each.
    fn series(&mut self, mode: u8, count: usize) -> Option<Vec<u64>> {
        if mode & PACKED == 0 {
            return self.changes(count).map(|differences| sums(differences, 0));
        }
        let least = self.varint()?;
        let [width] = self.array()?;
        let width = usize::from(width);
        if !(1..=LONGEST_WIDTH).contains(&width) {
            return None;
        }
        let packed = self.take(count.checked_mul(width)?.div_ceil(8))?;
        let mut bytes = packed.iter();
        let (mut bits, mut filled) = (0_u64, 0);
        let mut numbers = Vec::with_capacity(count);
        for _ in 0..count {
            while filled < width {
                bits |= u64::from(*bytes.next()?) << filled;
                filled += 8;
            }
            numbers.push(least.wrapping_add(bits & ((1 << width) - 1)));
            bits >>= width;
            filled -= width;
        }
        Some(numbers)
    }

    /// Signed numbers of which the zeros at the end are left out.
    fn changes(&mut self, count: usize) -> Option<Vec<u64>> {
        let written = self.count(1)?;
        if written > count {
            return None;
        }
        let mut numbers =
            (0..written).map(|_| self.signed().map(|number| number as u64)).collect::<Option<Vec<_>>>()?;
        numbers.resize(count, 0);
        Some(numbers)
    }
}

/// The sums of differences.
fn sums(mut differences: Vec<u64>, first: u64) -> Vec<u64> {
    let mut sum = first;
    for number in &mut differences {
        sum = sum.wrapping_add(*number);
        *number = sum;
    }
    differences
}

fn unfold(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}
