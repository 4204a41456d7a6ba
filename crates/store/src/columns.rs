//! Columns of many calls, one after the other and compressed, and tests of them. A search that no key helps
//! reads about 14 bytes a call so, instead of the rows that have the records.
//!
//! The bytes: for each of [`COLUMNS`] the least value (8 bytes), how many bytes a value takes beyond it (1),
//! the length of a frame (4), all little-endian, and the frame of zstd with its checksum. A frame has a byte
//! for each call, 1 where the column is NULL, then the lowest byte of each value, then the next, and so on:
//! bytes of one kind stand together.

use std::ops::RangeInclusive;

use zstd::bulk::{Compressor, Decompressor};
use zstd::zstd_safe::CParameter;

/// The columns, by their names in the table `calls`.
pub(crate) const COLUMNS: [&str; 19] = [
    NUMBER,
    START,
    SPAN,
    "state",
    "final_code",
    "final_reason",
    "cause",
    "released_by",
    "pdd_ms",
    "ring_ms",
    "duration_ms",
    "retransmissions",
    "user_agent_caller",
    "user_agent_callee",
    "mos",
    "mos_worst_interval",
    "capture_drops",
    "recorded",
    "notes",
];
/// The row of a call.
pub(crate) const NUMBER: &str = "number";
/// When a call began, in microseconds.
pub(crate) const START: &str = "start_us";
/// How long it went on, in milliseconds.
const SPAN: &str = "span_ms";
/// When it ended, in microseconds: made of two columns.
pub(crate) const END: &str = "start_us + span_ms * 1000";

/// A test of columns; a value that is NULL satisfies none but [`Not`](Self::Not). `N` tells of numbers: the
/// SQL that selects them, and the numbers themselves once they are known.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ColumnTest<N> {
    /// Every one.
    All(Vec<Self>),
    /// At least one.
    Any(Vec<Self>),
    Not(Box<Self>),
    /// From the first to the second, both included.
    Within(&'static str, i64, i64),
    /// One of the numbers.
    OneOf(&'static str, N),
    /// Any bit of the numbers.
    Bits(&'static str, N),
    /// These columns cannot tell.
    Unknown,
}

/// What columns tell of the calls that a search selects in a day.
#[derive(Debug)]
pub(crate) struct ColumnBounds {
    /// What they satisfy.
    pub(crate) test: ColumnTest<String>,
    /// When they begin, in microseconds.
    pub(crate) start: RangeInclusive<i64>,
}

/// Numbers that were looked up, in their order.
pub(crate) type Numbers = Vec<i64>;

impl<N> ColumnTest<N> {
    /// A column that has a value.
    pub(crate) fn present(column: &str) -> Self {
        Self::of(column, |column| Self::Within(column, i64::MIN, i64::MAX))
    }

    /// A column between two numbers, either of which may be missing; a number itself is left out where the
    /// flag beside it is false.
    pub(crate) fn between(column: &str, from: Option<(f64, bool)>, to: Option<(f64, bool)>) -> Self {
        // Whole numbers lie in it from the first to the last. Casts end at the ends of the type.
        let first = from.map_or(i64::MIN, |(from, with)| match with {
            true => from.ceil() as i64,
            false => (from.floor() as i64).saturating_add(1),
        });
        let last = to.map_or(i64::MAX, |(to, with)| match with {
            true => to.floor() as i64,
            false => (to.ceil() as i64).saturating_sub(1),
        });
        Self::of(column, |column| Self::Within(column, first, last))
    }

    /// A test of that column; of another than those here nothing is known.
    pub(crate) fn of(column: &str, make: impl FnOnce(&'static str) -> Self) -> Self {
        let known = COLUMNS.iter().chain(&[END]).find(|known| **known == column);
        known.map_or(Self::Unknown, |known| make(known))
    }

    /// What it is of any call, where that does not depend on the call. What the columns cannot tell counts as
    /// `unknown`.
    pub(crate) fn constant(&self, unknown: bool) -> Option<bool> {
        let parts = |parts: &[Self], deciding: bool| {
            let parts: Vec<Option<bool>> = parts.iter().map(|part| part.constant(unknown)).collect();
            match parts.contains(&Some(deciding)) {
                true => Some(deciding),
                false => parts.iter().all(Option::is_some).then_some(!deciding),
            }
        };
        match self {
            Self::All(all) => parts(all, false),
            Self::Any(any) => parts(any, true),
            Self::Not(inner) => inner.constant(!unknown).map(|inner| !inner),
            Self::Unknown => Some(unknown),
            Self::Within(..) | Self::OneOf(..) | Self::Bits(..) => None,
        }
    }

    /// The same with the numbers that `look_up` finds.
    pub(crate) fn resolve<E>(
        &self,
        look_up: &impl Fn(&N) -> Result<Numbers, E>,
    ) -> Result<ColumnTest<Numbers>, E> {
        let each = |parts: &[Self]| -> Result<Vec<_>, E> {
            parts.iter().map(|part| part.resolve(look_up)).collect()
        };
        Ok(match self {
            Self::All(parts) => ColumnTest::All(each(parts)?),
            Self::Any(parts) => ColumnTest::Any(each(parts)?),
            Self::Not(inner) => ColumnTest::Not(Box::new(inner.resolve(look_up)?)),
            Self::Within(column, first, last) => ColumnTest::Within(column, *first, *last),
            Self::OneOf(column, numbers) => ColumnTest::OneOf(column, look_up(numbers)?),
            Self::Bits(column, numbers) => ColumnTest::Bits(column, look_up(numbers)?),
            Self::Unknown => ColumnTest::Unknown,
        })
    }
}

impl ColumnTest<Numbers> {
    /// Which calls satisfy it, in their order; `None` where the columns are damaged. What they cannot tell
    /// counts as `unknown`.
    pub(crate) fn select(&self, columns: &mut Columns<'_>, unknown: bool) -> Option<Vec<bool>> {
        match self {
            Self::All(parts) => join(parts, columns, unknown, false),
            Self::Any(parts) => join(parts, columns, unknown, true),
            Self::Not(inner) => {
                let mut selected = inner.select(columns, !unknown)?;
                selected.iter_mut().for_each(|selected| *selected = !*selected);
                Some(selected)
            }
            Self::Within(column, first, last) => {
                columns.select(column, |value| (*first..=*last).contains(&value))
            }
            Self::OneOf(column, numbers) => {
                columns.select(column, |value| numbers.binary_search(&value).is_ok())
            }
            Self::Bits(column, numbers) => {
                let bits = numbers.iter().fold(0, |bits, number| bits | number);
                columns.select(column, |value| value & bits != 0)
            }
            Self::Unknown => Some(vec![unknown; columns.calls]),
        }
    }
}

/// Joins what parts select; `deciding` in one of them decides.
fn join(
    parts: &[ColumnTest<Numbers>],
    columns: &mut Columns<'_>,
    unknown: bool,
    deciding: bool,
) -> Option<Vec<bool>> {
    let mut joined = vec![!deciding; columns.calls];
    for part in parts {
        if joined.iter().all(|joined| *joined == deciding) {
            break;
        }
        let selected = part.select(columns, unknown)?;
        let both = joined.iter_mut().zip(selected);
        match deciding {
            true => both.for_each(|(joined, selected)| *joined |= selected),
            false => both.for_each(|(joined, selected)| *joined &= selected),
        }
    }
    Some(joined)
}

/// The columns of some calls, each unpacked when it is first asked for.
pub(crate) struct Columns<'b> {
    calls: usize,
    packed: Vec<Packed<'b>>,
    unpacker: &'b mut Unpacker,
    /// Which are unpacked, and whether that failed.
    unpacked: [Option<bool>; PLACES],
}

/// Unpacks columns into memory that is used again and again: the allocator gives back at once what is freed
/// (`ringtap_cpu`), and to take it anew costs more than unpacking.
pub(crate) struct Unpacker {
    decompressor: Decompressor<'static>,
    planes: Vec<u8>,
    columns: [Column; PLACES],
}

/// A column as it is stored.
struct Packed<'b> {
    least: i64,
    width: usize,
    frame: &'b [u8],
}

/// The values of a column.
#[derive(Debug, Default, PartialEq)]
struct Column {
    is_null: Vec<bool>,
    /// Any where it is NULL.
    values: Vec<i64>,
}

impl Unpacker {
    /// # Errors
    ///
    /// There is no memory to decompress with.
    pub(crate) fn new() -> std::io::Result<Self> {
        let columns = [const { Column { is_null: Vec::new(), values: Vec::new() } }; _];
        Ok(Self { decompressor: Decompressor::new()?, planes: Vec::new(), columns })
    }

    /// Returns whether the bytes were such a column.
    fn unpack(&mut self, packed: &Packed<'_>, calls: usize, column: &mut Column) -> bool {
        if packed.width > size_of::<u64>() {
            return false;
        }
        let size = calls * (1 + packed.width);
        self.planes.clear();
        self.planes.reserve(size);
        let done = self.decompressor.decompress_to_buffer(packed.frame, &mut self.planes);
        if done.is_err() || self.planes.len() != size {
            return false;
        }
        let (is_null, planes) = self.planes.split_at(calls);
        column.is_null.extend(is_null.iter().map(|byte| *byte != 0));
        column.values.resize(calls, 0);
        for (place, plane) in planes.chunks_exact(calls.max(1)).enumerate() {
            for (value, byte) in column.values.iter_mut().zip(plane) {
                *value |= i64::from(*byte) << (8 * place);
            }
        }
        column.values.iter_mut().for_each(|value| *value = packed.least.wrapping_add(*value));
        true
    }
}

impl<'b> Columns<'b> {
    /// Reads the columns of that many calls; `None` where the bytes are no such columns.
    pub(crate) fn read(calls: usize, mut bytes: &'b [u8], unpacker: &'b mut Unpacker) -> Option<Self> {
        let mut packed = Vec::with_capacity(COLUMNS.len());
        for _ in COLUMNS {
            let least = i64::from_le_bytes(*take(&mut bytes)?);
            let [width] = *take::<1>(&mut bytes)?;
            let length = u32::from_le_bytes(*take(&mut bytes)?);
            let (frame, rest) = bytes.split_at_checked(usize::try_from(length).ok()?)?;
            bytes = rest;
            packed.push(Packed { least, width: usize::from(width), frame });
        }
        bytes.is_empty().then_some(Self { calls, packed, unpacker, unpacked: [None; _] })
    }

    /// When the calls that are selected began, in microseconds, and their rows; `None` where the columns are
    /// damaged.
    pub(crate) fn starts_and_rows(&mut self, selected: &[bool]) -> Option<Vec<(i64, i64)>> {
        let (start, row) = (self.unpacked(START)?, self.unpacked(NUMBER)?);
        let columns = &self.unpacker.columns;
        let calls = columns[start].values.iter().zip(&columns[row].values).zip(selected);
        Some(calls.filter(|(_, selected)| **selected).map(|((start, row), _)| (*start, *row)).collect())
    }

    /// The calls of which a column has a value that satisfies `test`.
    fn select(&mut self, column: &str, test: impl Fn(i64) -> bool) -> Option<Vec<bool>> {
        let place = self.unpacked(column)?;
        let Column { is_null, values } = &self.unpacker.columns[place];
        Some(is_null.iter().zip(values).map(|(is_null, value)| !is_null && test(*value)).collect())
    }

    /// The place of a column that is unpacked; `None` where it is damaged.
    fn unpacked(&mut self, name: &str) -> Option<usize> {
        let place = COLUMNS.iter().position(|column| *column == name).unwrap_or(COLUMNS.len());
        if self.unpacked[place].is_none() {
            let mut column = std::mem::take(&mut self.unpacker.columns[place]);
            column.is_null.clear();
            column.values.clear();
            let is_whole = match self.packed.get(place) {
                Some(packed) => self.unpacker.unpack(packed, self.calls, &mut column),
                None => self.ends(&mut column),
            };
            self.unpacker.columns[place] = column;
            self.unpacked[place] = Some(is_whole);
        }
        self.unpacked[place].filter(|is_whole| *is_whole).map(|_| place)
    }

    /// Makes [`END`].
    fn ends(&mut self, column: &mut Column) -> bool {
        let (Some(start), Some(span)) = (self.unpacked(START), self.unpacked(SPAN)) else { return false };
        let (start, span) = (&self.unpacker.columns[start], &self.unpacker.columns[span]);
        let end = |(start, span): (&i64, &i64)| start.saturating_add(span.saturating_mul(1_000));
        column.is_null.extend(&span.is_null);
        column.values.extend(start.values.iter().zip(&span.values).map(end));
        true
    }
}

/// Makes the bytes of columns: each of [`COLUMNS`] with a value for every call.
///
/// # Errors
///
/// There is no memory to compress with.
pub(crate) fn pack(columns: &[Vec<Option<i64>>]) -> std::io::Result<Vec<u8>> {
    let mut compressor = Compressor::new(LEVEL)?;
    // Damage is found, and the rows are read instead.
    compressor.set_parameter(CParameter::ChecksumFlag(true))?;
    let mut bytes = Vec::new();
    let mut planes = Vec::new();
    for column in columns {
        let values = || column.iter().flatten();
        let least = values().min().copied().unwrap_or(0);
        let beyond = |value: &i64| value.wrapping_sub(least) as u64;
        let most = values().map(beyond).max().unwrap_or(0);
        let width = (u64::BITS - most.leading_zeros()).div_ceil(8) as u8;
        planes.clear();
        planes.extend(column.iter().map(|value| u8::from(value.is_none())));
        for place in 0..usize::from(width) {
            planes.extend(column.iter().map(|value| value.as_ref().map_or(0, beyond).to_le_bytes()[place]));
        }
        let frame = compressor.compress(&planes)?;
        bytes.extend(least.to_le_bytes());
        bytes.push(width);
        bytes.extend((frame.len() as u32).to_le_bytes());
        bytes.extend(frame);
    }
    Ok(bytes)
}

/// The next bytes, so many.
fn take<'b, const N: usize>(bytes: &mut &'b [u8]) -> Option<&'b [u8; N]> {
    let (taken, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(taken)
}

/// Columns that can be tested: those that are stored, and [`END`].
const PLACES: usize = COLUMNS.len() + 1;
/// How hard zstd tries.
const LEVEL: i32 = 3;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn value() -> impl Strategy<Value = Option<i64>> {
        let number = prop_oneof![any::<i64>(), -300..300_i64, Just(i64::MIN), Just(i64::MAX)];
        prop::option::of(number)
    }

    proptest! {
        #[test]
        fn columns_are_packed_and_unpacked(
            calls in prop::collection::vec(prop::collection::vec(value(), COLUMNS.len()), 0..40),
            damaged in any::<prop::sample::Index>(),
        ) {
            let columns: Vec<Vec<Option<i64>>> =
                (0..COLUMNS.len()).map(|place| calls.iter().map(|call| call[place]).collect()).collect();
            let mut bytes = pack(&columns).unwrap();
            let mut unpacker = Unpacker::new().unwrap();
            let mut read = Columns::read(calls.len(), &bytes, &mut unpacker).unwrap();
            for (name, column) in COLUMNS.iter().zip(&columns) {
                let place = read.unpacked(name).unwrap();
                let Column { is_null, values } = &read.unpacker.columns[place];
                let found = is_null.iter().zip(values);
                let found: Vec<Option<i64>> = found.map(|(null, value)| (!null).then_some(*value)).collect();
                prop_assert_eq!(&found, column, "{}", name);
            }

            // No byte is read beyond the end, whatever they are.
            for length in 0..bytes.len() {
                let cut = Columns::read(calls.len(), &bytes[..length], &mut unpacker);
                prop_assert!(cut.is_none(), "{} of {} bytes", length, bytes.len());
            }
            let place = damaged.index(bytes.len());
            bytes[place] ^= 0x10;
            if let Some(mut read) = Columns::read(calls.len(), &bytes, &mut unpacker) {
                COLUMNS.iter().for_each(|name| _ = read.unpacked(name));
            }
        }
    }

    #[test]
    fn tests_of_columns() {
        let mut columns = vec![vec![None; 4]; COLUMNS.len()];
        let mut set = |name: &str, values: [Option<i64>; 4]| {
            columns[COLUMNS.iter().position(|column| *column == name).unwrap()] = values.to_vec();
        };
        set(START, [Some(1_000_000); 4]);
        set(SPAN, [Some(0), Some(1_500), None, Some(3)]);
        set("cause", [Some(16), Some(17), None, Some(-1)]);
        set("notes", [Some(0b101), Some(0), Some(0b10), Some(1 << 62)]);
        let bytes = pack(&columns).unwrap();
        let mut unpacker = Unpacker::new().unwrap();
        let mut columns = Columns::read(4, &bytes, &mut unpacker).unwrap();
        let mut check = |test: &ColumnTest<Numbers>, unknown: bool, expected: [bool; 4]| {
            assert_eq!(test.select(&mut columns, unknown).unwrap(), expected, "{test:?}");
        };
        let (yes, no) = (true, false);
        let above: ColumnTest<Numbers> = ColumnTest::between("cause", Some((16.0, false)), None);
        check(&above, yes, [no, yes, no, no]);
        check(&ColumnTest::Not(Box::new(above.clone())), yes, [yes, no, yes, yes]);
        check(&ColumnTest::between("cause", Some((15.5, true)), Some((16.9, true))), yes, [yes, no, no, no]);
        check(&ColumnTest::between("cause", None, Some((16.0, false))), yes, [no, no, no, yes]);
        check(&ColumnTest::present("cause"), yes, [yes, yes, no, yes]);
        check(&ColumnTest::OneOf("cause", vec![-1, 17]), yes, [no, yes, no, yes]);
        check(&ColumnTest::Bits("notes", vec![0b100, 1 << 62]), yes, [yes, no, no, yes]);
        check(&ColumnTest::between(END, Some((1_003_000.0, true)), None), yes, [no, yes, no, yes]);
        let other: ColumnTest<Numbers> = ColumnTest::present("stream.mos");
        assert_eq!(other, ColumnTest::Unknown);
        for unknown in [yes, no] {
            check(&other, unknown, [unknown; 4]);
            check(&ColumnTest::Not(Box::new(other.clone())), unknown, [unknown; 4]);
        }
        check(&ColumnTest::Any(vec![above.clone(), other.clone()]), no, [no, yes, no, no]);
        check(&ColumnTest::All(vec![above.clone(), other.clone()]), yes, [no, yes, no, no]);

        assert_eq!(above.constant(yes), None);
        assert_eq!(ColumnTest::All(vec![above.clone(), other.clone()]).constant(yes), None);
        assert_eq!(ColumnTest::All(vec![above.clone(), other.clone()]).constant(no), Some(no));
        assert_eq!(ColumnTest::Any(vec![above, other.clone()]).constant(yes), Some(yes));
        assert_eq!(ColumnTest::Not(Box::new(other)).constant(yes), Some(yes));
        assert_eq!(ColumnTest::<Numbers>::All(vec![]).constant(yes), Some(yes));
    }
}
