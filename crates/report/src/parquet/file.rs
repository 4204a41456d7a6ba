//! A file, and the row group that is being filled.

use std::io::{self, Write};
use std::marker::PhantomData;
use std::mem;
use std::sync::Arc;

use ::parquet::basic::{Compression, ZstdLevel};
use ::parquet::errors::Result;
use ::parquet::file::metadata::KeyValue;
use ::parquet::file::properties::{EnabledStatistics, WriterProperties};
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::types::Type;
use ringtap_model::Record;
use serde_json::{Map, Value};

use super::column::Column;
use super::{MOST_ROWS, MOST_TEXT};
use crate::csv::columns;

/// Writes records of one kind as Parquet.
///
/// Bytes go to the `out` that each function is given, which has to be the same file. It is not whole until
/// [`end`](Self::end).
pub struct Parquet<R> {
    /// Writes into memory, from where each row group goes to the file.
    writer: SerializedFileWriter<Vec<u8>>,
    columns: Vec<Column>,
    rows: usize,
    /// Bytes of text of these rows.
    text: usize,
    records: PhantomData<R>,
}

impl<R: Record> Parquet<R> {
    /// Begins a file.
    ///
    /// # Errors
    ///
    /// `out` takes no bytes.
    pub fn begin(out: &mut dyn Write) -> io::Result<Self> {
        let writer = writer::<R>().map_err(io::Error::other)?;
        let columns = columns::<R>().map(|field| Column::new(field.kind)).collect();
        let mut begun = Self { writer, columns, rows: 0, text: 0, records: PhantomData };
        begun.pass_on(out)?;
        Ok(begun)
    }

    /// Adds a row. It is written once its row group is full.
    ///
    /// # Errors
    ///
    /// `out` takes no bytes.
    pub fn record(&mut self, out: &mut dyn Write, record: &R) -> io::Result<()> {
        for (column, field) in self.columns.iter_mut().zip(columns::<R>()) {
            self.text += column.push((field.value)(record));
        }
        self.rows += 1;
        match self.rows >= MOST_ROWS || self.text >= MOST_TEXT {
            true => self.finish_group(out),
            false => Ok(()),
        }
    }

    /// Writes the rows that are left, and the footer.
    ///
    /// # Errors
    ///
    /// `out` takes no bytes.
    pub fn end(mut self, out: &mut dyn Write) -> io::Result<()> {
        if self.rows > 0 {
            self.finish_group(out)?;
        }
        self.writer.finish().map_err(io::Error::other)?;
        self.pass_on(out)
    }

    fn finish_group(&mut self, out: &mut dyn Write) -> io::Result<()> {
        self.write_group().map_err(io::Error::other)?;
        (self.rows, self.text) = (0, 0);
        self.pass_on(out)
    }

    fn write_group(&mut self) -> Result<()> {
        let mut group = self.writer.next_row_group()?;
        for column in &mut self.columns {
            if let Some(mut to) = group.next_column()? {
                column.write(to.untyped())?;
                to.close()?;
            }
        }
        group.close().map(drop)
    }

    /// Passes what was made on to the file.
    fn pass_on(&mut self, out: &mut dyn Write) -> io::Result<()> {
        self.writer.flush()?;
        out.write_all(&mem::take(self.writer.inner_mut()))
    }
}

fn writer<R: Record>() -> Result<SerializedFileWriter<Vec<u8>>> {
    let fields: Result<Vec<Arc<Type>>> = columns::<R>()
        .map(|field| Column::schema(field.name, field.kind, field.unit).map(Arc::new))
        .collect();
    let schema = Type::group_type_builder(R::NAME).with_fields(fields?).build()?;
    let units =
        columns::<R>().map(|field| (field.name, field.unit.symbol())).filter(|(_, unit)| !unit.is_empty());
    let descriptions = columns::<R>().map(|field| (field.name, field.description));
    let metadata = vec![
        KeyValue::new("ringtap.units".to_owned(), object(units)),
        KeyValue::new("ringtap.descriptions".to_owned(), object(descriptions)),
    ];
    let properties = WriterProperties::builder()
        .set_created_by(concat!("ringtap version ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        // Readers skip row groups by these; what tells of pages would stay in memory until the end.
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_key_value_metadata(Some(metadata))
        .build();
    SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties))
}

/// A JSON object of names and texts.
fn object<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let pairs = pairs.map(|(name, text)| (name.to_owned(), Value::from(text)));
    Value::Object(pairs.collect::<Map<_, _>>()).to_string()
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use ::parquet::file::reader::{FileReader, SerializedFileReader};
    use ::parquet::record::Field;
    use ringtap_model::{Call, Stream};
    use ringtap_testing::samples;

    use super::*;
    use crate::csv::{Csv, RecordKind};

    /// The bytes of a file, and how many of them there were after each record.
    fn written<R: Record>(records: &[R]) -> (Vec<u8>, Vec<usize>) {
        let mut out = Vec::new();
        let mut file = Parquet::begin(&mut out).unwrap();
        let mut sizes = Vec::new();
        for record in records {
            file.record(&mut out, record).unwrap();
            sizes.push(out.len());
        }
        file.end(&mut out).unwrap();
        (out, sizes)
    }

    fn read(bytes: &[u8]) -> SerializedFileReader<File> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        SerializedFileReader::new(file).unwrap()
    }

    /// A value as a CSV has it.
    fn text(field: &Field) -> String {
        match field {
            Field::Null => String::new(),
            Field::Long(number) => number.to_string(),
            Field::TimestampMicros(moment) => moment.to_string(),
            Field::Double(number) => serde_json::Number::from_f64(*number).unwrap().to_string(),
            Field::Str(text) => text.clone(),
            other => panic!("{other:?} is of no type that is written"),
        }
    }

    /// Each value is that of the CSV, in a column of the same name.
    fn is_the_csv<R: Record>(kind: RecordKind, records: &[R]) {
        let mut lines = Vec::new();
        let csv = Csv::begin(&mut lines, kind).unwrap();
        records.iter().for_each(|record| csv.record(&mut lines, kind, record).unwrap());
        let mut lines = csv::Reader::from_reader(&*lines);
        let names: Vec<String> = lines.headers().unwrap().iter().map(str::to_owned).collect();
        let (bytes, _) = written(records);
        let file = read(&bytes);
        let rows: Vec<_> = file.get_row_iter(None).unwrap().map(Result::unwrap).collect();
        assert_eq!(rows.len(), records.len());
        for (row, line) in rows.iter().zip(lines.records()) {
            let line = line.unwrap();
            assert_eq!(row.len(), names.len());
            for (((name, field), cell), known) in row.get_column_iter().zip(&line).zip(&names) {
                assert_eq!(name, known);
                let text = text(field);
                // The apostrophe is for spreadsheets alone.
                assert!(cell == text || cell == format!("'{text}"), "{name}: {cell:?}, {text:?}");
            }
        }
    }

    #[test]
    fn every_value_is_that_of_the_csv() {
        let formula = Call { from_display: Some("=1+1".into()), ..samples::call() };
        is_the_csv(RecordKind::Calls, &[samples::call(), samples::hostile_call(), formula]);
        is_the_csv(RecordKind::Streams, &[samples::stream()]);
        is_the_csv(RecordKind::Registrations, &[samples::registration()]);
        is_the_csv::<Call>(RecordKind::Calls, &[]);
    }

    #[test]
    fn columns_have_types_and_the_file_says_units() {
        let call = Call {
            pdd_ms: Some(f64::NAN),
            notes: Vec::new(),
            from_display: Some(String::new()),
            ..samples::call()
        };
        let (bytes, _) = written(&[call]);
        let file = read(&bytes);
        let row = file.get_row_iter(None).unwrap().next().unwrap().unwrap();
        let value = |name: &str| row.get_column_iter().find(|(known, _)| *known == name).unwrap().1.clone();
        assert_eq!(value("invite_us"), Field::TimestampMicros(1_795_226_400_000_000));
        assert_eq!(value("final_code"), Field::Long(200));
        assert_eq!(value("mos"), Field::Double(4.2));
        assert_eq!(value("state"), Field::Str("completed".into()));
        assert_eq!(value("from_display"), Field::Str(String::new()), "it is known to be empty");
        for unknown in ["pdd_ms", "notes", "asserted_identity", "sdd_ms"] {
            assert_eq!(value(unknown), Field::Null, "{unknown}");
        }
        let metadata = file.metadata().file_metadata().key_value_metadata().unwrap();
        let said = |key: &str| -> Value {
            let pair = metadata.iter().find(|pair| pair.key == key).unwrap();
            serde_json::from_str(pair.value.as_deref().unwrap()).unwrap()
        };
        assert_eq!(said("ringtap.units")["pdd_ms"], "ms");
        assert_eq!(said("ringtap.units")["state"], Value::Null);
        assert_eq!(
            said("ringtap.descriptions")["final_code"].as_str().unwrap().get(..11),
            Some("Status code")
        );
    }

    /// Memory is bounded, and whoever reads the file gets it piece by piece.
    #[test]
    fn a_row_group_is_written_when_it_is_full_and_no_earlier() {
        let one = Stream { intervals: Vec::new(), ..samples::stream() };
        let (bytes, sizes) = written(&vec![one; MOST_ROWS + 1]);
        assert_eq!(sizes[MOST_ROWS - 2], 4, "the magic alone");
        assert!(sizes[MOST_ROWS - 1] > 1_000 && sizes[MOST_ROWS] == sizes[MOST_ROWS - 1]);
        let groups = |bytes: &[u8]| -> Vec<i64> {
            read(bytes).metadata().row_groups().iter().map(|group| group.num_rows()).collect()
        };
        assert_eq!(groups(&bytes), [MOST_ROWS as i64, 1]);
        // Of long texts there are fewer.
        let long = Call { from_display: Some("x".repeat(MOST_TEXT / 4)), ..samples::call() };
        let (bytes, _) = written(&vec![long; 5]);
        assert_eq!(groups(&bytes), [4, 1]);
    }

    #[test]
    fn what_cannot_be_written_is_said() {
        let full = &mut &mut [0_u8; 3][..];
        assert!(Parquet::<Call>::begin(full).is_err());
    }
}
