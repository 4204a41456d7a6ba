//! The values of one column, until their row group is full.

use ::parquet::basic::{LogicalType, Repetition, TimeUnit, Type as PhysicalType};
use ::parquet::column::writer::ColumnWriter;
use ::parquet::data_type::ByteArray;
use ::parquet::errors::{ParquetError, Result};
use ::parquet::schema::types::Type;
use ringtap_model::{FieldType, Unit, Value};

use crate::csv::text_of;

/// Values of a column. Those of a row group lie beside each other, since Parquet writes a column at a time.
pub(super) struct Column {
    kind: FieldType,
    values: Values,
    /// For each row 1 where there is a value, else 0: a definition level of Parquet.
    levels: Vec<i16>,
}

enum Values {
    Integers(Vec<i64>),
    Reals(Vec<f64>),
    /// Texts one behind the other, and where each ends.
    Texts(Vec<u8>, Vec<usize>),
}

impl Column {
    /// An empty column of a field of that type.
    pub(super) fn new(kind: FieldType) -> Self {
        let values = match kind {
            FieldType::Integer => Values::Integers(Vec::new()),
            FieldType::Real => Values::Reals(Vec::new()),
            _ => Values::Texts(Vec::new(), Vec::new()),
        };
        Self { kind, values, levels: Vec::new() }
    }

    /// How Parquet describes it. Every column may have nulls.
    pub(super) fn schema(name: &str, kind: FieldType, unit: Unit) -> Result<Type> {
        let (physical, logical) = match kind {
            FieldType::Integer if unit == Unit::Microseconds => {
                (PhysicalType::INT64, Some(LogicalType::timestamp(true, TimeUnit::MICROS)))
            }
            FieldType::Integer => (PhysicalType::INT64, None),
            FieldType::Real => (PhysicalType::DOUBLE, None),
            _ => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
        };
        Type::primitive_type_builder(name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(logical)
            .build()
    }

    /// Adds the value of a row; returns how many bytes of text that is.
    pub(super) fn push(&mut self, value: Value<'_>) -> usize {
        let added = match (&mut self.values, value) {
            (_, Value::Null) => None,
            (Values::Integers(list), Value::Integer(number)) => {
                // Parquet's common type ends at 2^63 - 1, where no time and no count gets.
                list.push(i64::try_from(number).unwrap_or(i64::MAX));
                Some(0)
            }
            (Values::Reals(list), Value::Real(number)) if number.is_finite() => {
                list.push(number);
                Some(0)
            }
            (Values::Texts(bytes, ends), value) => {
                let text = text_of(self.kind, value);
                (self.kind.is_scalar() || !text.is_empty()).then(|| {
                    bytes.extend_from_slice(text.as_bytes());
                    ends.push(bytes.len());
                    text.len()
                })
            }
            _ => None,
        };
        self.levels.push(i16::from(added.is_some()));
        added.unwrap_or(0)
    }

    /// Writes what was added, and is empty again.
    pub(super) fn write(&mut self, to: &mut ColumnWriter<'_>) -> Result<()> {
        let levels = Some(&*self.levels);
        match (&mut self.values, to) {
            (Values::Integers(list), ColumnWriter::Int64ColumnWriter(to)) => {
                to.write_batch(list, levels, None)?;
                list.clear();
            }
            (Values::Reals(list), ColumnWriter::DoubleColumnWriter(to)) => {
                to.write_batch(list, levels, None)?;
                list.clear();
            }
            (Values::Texts(bytes, ends), ColumnWriter::ByteArrayColumnWriter(to)) => {
                let all = ByteArray::from(std::mem::take(bytes));
                let mut texts = Vec::with_capacity(ends.len());
                let mut from = 0;
                for end in ends.drain(..) {
                    texts.push(all.slice(from, end - from));
                    from = end;
                }
                to.write_batch(&texts, levels, None)?;
            }
            _ => return Err(ParquetError::General("a column has values of another type".to_owned())),
        }
        self.levels.clear();
        Ok(())
    }
}
