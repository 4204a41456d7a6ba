//! A record as bytes.
//!
//! First a bit for each field: whether it has a value other than unknown, zero or empty. Then the values in
//! the order of the layout. Numbers are varints, seven bits a byte, the lowest first; signed ones are folded
//! so that small ones stay short. Moments are differences from the moment before, the first from the start of
//! the record. A number with a fraction is written as thousandths or millionths if these give the same bits.
//!
//! Lists of parts are written field by field: in a list of intervals, one field changes little from one
//! interval to the next.

use ringtap_model::{Endpoint, FieldShape, FieldType, PartList, Record, Unit, Value};

/// Writes the fields of these numbers of a record that starts at `start` (microseconds), those left out that
/// are known elsewhere: their columns tell them.
pub(crate) fn write<R: Record>(
    record: &R,
    fields: &[usize],
    is_known: impl Fn(usize) -> bool,
    start: u64,
    body: &mut Vec<u8>,
) {
    let bits = fields.len().div_ceil(8);
    let reals = fields.iter().filter(|field| R::SHAPE[**field].kind == FieldType::Real).count();
    body.clear();
    body.resize(bits + reals.div_ceil(4), 0);
    let mut moment = start;
    let mut reals = bits * 4..;
    for (place, &field) in fields.iter().enumerate() {
        let shape = &R::SHAPE[field];
        let value = (R::FIELDS[field].value)(record);
        let scale = if shape.kind == FieldType::Real { reals.next() } else { None };
        if !has_value(value, shape) || is_known(field) {
            continue;
        }
        body[place / 8] |= 1 << (place % 8);
        match (value, scale) {
            (Value::Real(number), Some(scale)) => {
                let scaled = real(number, body);
                body[scale / 4] |= scaled << (scale % 4 * 2);
            }
            _ => scalar_or_list(value, shape, start, &mut moment, body),
        }
    }
}

/// Whether a value has to be written.
fn has_value(value: Value<'_>, shape: &FieldShape) -> bool {
    match value {
        Value::Null => false,
        Value::Texts(texts) => !texts.is_empty(),
        Value::Ids(ids) => !ids.is_empty(),
        Value::Parts(parts) => parts.count() > 0,
        Value::Integer(number) => shape.optional || number != 0 || shape.unit == Unit::Microseconds,
        Value::Real(number) => shape.optional || number.to_bits() != 0,
        Value::Text(_) | Value::Id(_) | Value::Endpoint(_) => true,
    }
}

fn scalar_or_list(value: Value<'_>, shape: &FieldShape, start: u64, moment: &mut u64, body: &mut Vec<u8>) {
    match value {
        Value::Integer(number) if shape.unit == Unit::Microseconds => {
            varint(fold(number.wrapping_sub(*moment) as i64), body);
            *moment = number;
        }
        Value::Texts(texts) => {
            varint(texts.len() as u64, body);
            texts.iter().for_each(|each| text(each, body));
        }
        Value::Ids(ids) => {
            varint(ids.len() as u64, body);
            ids.iter().for_each(|id| body.extend(id.0));
        }
        Value::Parts(parts) => {
            let FieldType::Parts(_, fields) = shape.kind else { return };
            varint(parts.count().min(MOST_PARTS) as u64, body);
            (0..fields.len()).for_each(|field| column(parts, field, &fields[field], start, body));
        }
        value => scalar(value, shape, body),
    }
}

fn scalar(value: Value<'_>, shape: &FieldShape, body: &mut Vec<u8>) {
    match value {
        Value::Text(value) => match shape.kind {
            FieldType::Name(names) => {
                // INVARIANT: the value of such a field is one of its names.
                varint(names.iter().position(|other| other.name == value).unwrap_or(0) as u64, body);
            }
            _ => text(value, body),
        },
        Value::Id(id) => body.extend(id.0),
        Value::Endpoint(value) => endpoint(value, body),
        Value::Integer(number) => varint(number, body),
        Value::Real(number) => {
            let place = body.len();
            body.push(0);
            body[place] = real(number, body);
        }
        Value::Null | Value::Texts(_) | Value::Ids(_) | Value::Parts(_) => {}
    }
}

/// One field of all parts: which have a value, then the values.
fn column(parts: &dyn PartList, field: usize, shape: &FieldShape, start: u64, body: &mut Vec<u8>) {
    let count = parts.count().min(MOST_PARTS);
    let values: Vec<Value<'_>> = (0..count).map(|part| parts.value(part, field)).collect();
    let known = values.iter().filter(|value| is_known(value)).count();
    let place = body.len();
    body.push(if known == count {
        ALL
    } else if known == 0 {
        NONE
    } else {
        SOME
    });
    if known > 0 && known < count {
        body.resize(body.len() + count.div_ceil(8), 0);
        for (part, _) in values.iter().enumerate().filter(|(_, value)| is_known(value)) {
            body[place + 1 + part / 8] |= 1 << (part % 8);
        }
    }
    match shape.kind {
        FieldType::Integer => {
            let mut numbers = Vec::with_capacity(known);
            numbers.extend(values.iter().filter_map(|value| match value {
                Value::Integer(number) => Some(*number),
                _ => None,
            }));
            match shape.unit {
                // The first from the start; they often come at even distances.
                Unit::Microseconds => {
                    changes(differences(differences(numbers.into_iter(), start), 0), body);
                }
                _ => series(&numbers, place, body),
            }
        }
        FieldType::Real => {
            for (mode, scale) in [(THOUSANDTHS, 1e3), (MILLIONTHS, 1e6)] {
                if let Some(numbers) = whole_numbers(&values, scale) {
                    body[place] |= mode;
                    return series(&numbers, place, body);
                }
            }
            values.iter().for_each(|value| scalar(*value, shape, body));
        }
        _ => values.iter().for_each(|value| scalar(*value, shape, body)),
    }
}

fn is_known(value: &Value<'_>) -> bool {
    !matches!(value, Value::Null)
}

/// Numbers with fractions in units of `scale`; none if one of them has no whole number of those.
fn whole_numbers(values: &[Value<'_>], scale: f64) -> Option<Vec<u64>> {
    let mut numbers = Vec::with_capacity(values.len());
    for value in values {
        if let Value::Real(number) = value {
            numbers.push(scaled(*number, scale)? as u64);
        }
    }
    Some(numbers)
}

/// Each number as the difference from the one before.
fn differences(numbers: impl Iterator<Item = u64>, first: u64) -> impl Iterator<Item = u64> {
    let mut before = first;
    numbers.map(move |number| number.wrapping_sub(std::mem::replace(&mut before, number)))
}

/// Numbers as the differences from one to the next, or in as few bits as the largest takes: measured values
/// such as jitter have nothing that a difference would save.
fn series(numbers: &[u64], mode: usize, body: &mut Vec<u8>) {
    let place = body.len();
    changes(differences(numbers.iter().copied(), 0), body);
    let least = numbers.iter().copied().min().unwrap_or_default();
    let all = numbers.iter().fold(0, |all, number| all | (number - least));
    let width = 64 - all.leading_zeros() as usize;
    let packed = varint_length(least) + 1 + (numbers.len() * width).div_ceil(8);
    if (NOISE..=LONGEST_WIDTH).contains(&width) && packed < body.len() - place {
        body.truncate(place);
        body[mode] |= PACKED;
        varint(least, body);
        body.push(width as u8);
        pack(numbers.iter().map(|number| number - least), width, body);
    }
}

/// Numbers of so many bits, the lowest bit first.
fn pack(numbers: impl Iterator<Item = u64>, width: usize, body: &mut Vec<u8>) {
    let (mut bits, mut filled) = (0_u64, 0);
    for number in numbers {
        bits |= number << filled;
        filled += width;
        while filled >= 8 {
            body.push(bits as u8);
            bits >>= 8;
            filled -= 8;
        }
    }
    if filled > 0 {
        body.push(bits as u8);
    }
}

fn varint_length(number: u64) -> usize {
    (64 - number.leading_zeros() as usize).div_ceil(7).max(1)
}

/// Signed numbers without the zeros at their end, after their count.
fn changes(numbers: impl Iterator<Item = u64>, body: &mut Vec<u8>) {
    // The count stands before what it counts: most are below 128, which takes this byte.
    let place = body.len();
    body.push(0);
    let (mut count, mut zeros) = (0_usize, 0);
    for number in numbers {
        if number == 0 {
            zeros += 1;
            continue;
        }
        count += zeros + 1;
        body.resize(body.len() + std::mem::take(&mut zeros), 0);
        varint(fold(number as i64), body);
    }
    if count < 128 {
        body[place] = count as u8;
    } else {
        let mut head = Vec::new();
        varint(count as u64, &mut head);
        body.splice(place..=place, head);
    }
}

fn text(text: &str, body: &mut Vec<u8>) {
    varint(text.len() as u64, body);
    body.extend(text.as_bytes());
}

fn endpoint(endpoint: Endpoint, body: &mut Vec<u8>) {
    match endpoint.ip {
        std::net::IpAddr::V4(ip) => {
            body.push(4);
            body.extend(ip.octets());
        }
        std::net::IpAddr::V6(ip) => {
            body.push(6);
            body.extend(ip.octets());
        }
    }
    body.extend(endpoint.port.to_be_bytes());
}

/// Writes a number, and returns in which unit: it is seldom negative, and a bit for that would make most
/// numbers longer by a byte.
fn real(number: f64, body: &mut Vec<u8>) -> u8 {
    for (unit, scale) in [(IN_THOUSANDTHS, 1e3), (IN_MILLIONTHS, 1e6), (MINUS_THOUSANDTHS, -1e3)] {
        if let Some(whole) = scaled(number, scale).and_then(|whole| u64::try_from(whole).ok()) {
            varint(whole, body);
            return unit;
        }
    }
    body.extend(number.to_bits().to_le_bytes());
    IN_BITS
}

/// A whole number that gives the same bits again when divided by `scale`; none if there is none.
fn scaled(number: f64, scale: f64) -> Option<i64> {
    let large = number * scale;
    // Also false for what is no number. Beyond, whole numbers have gaps.
    if large.abs() < 4_503_599_627_370_496.0 {
        let whole = (large + 0.5_f64.copysign(large)) as i64;
        return (whole as f64 / scale).to_bits().eq(&number.to_bits()).then_some(whole);
    }
    None
}

/// Small numbers of either sign as small numbers: 0, -1, 1, -2, ...
fn fold(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)) as u64
}

fn varint(mut number: u64, body: &mut Vec<u8>) {
    while number >= 128 {
        body.push(number as u8 | 128);
        number >>= 7;
    }
    body.push(number as u8);
}

/// The unit of a number with a fraction.
pub(super) const IN_THOUSANDTHS: u8 = 0;
pub(super) const IN_MILLIONTHS: u8 = 1;
pub(super) const MINUS_THOUSANDTHS: u8 = 2;
pub(super) const IN_BITS: u8 = 3;
/// How a column of parts begins.
pub(super) const ALL: u8 = 0;
pub(super) const NONE: u8 = 1;
pub(super) const SOME: u8 = 2;
pub(super) const THOUSANDTHS: u8 = 4;
pub(super) const MILLIONTHS: u8 = 8;
pub(super) const PACKED: u8 = 16;
/// Numbers of fewer bits are left to the compression.
const NOISE: usize = 10;
/// Wider ones would not fit beside the bits that are left of the one before.
pub(super) const LONGEST_WIDTH: usize = 56;
/// Parts that a list may have: as many intervals are a month. Of a longer list the first are kept: no
/// record is written that could not be read.
pub(super) const MOST_PARTS: usize = 1 << 18;
