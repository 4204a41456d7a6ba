//! The compact form of a record: its fields as bytes, compressed with a dictionary.
//!
//! Each day file has in its table `formats` what is needed to read it: for each format that it uses, the type
//! of record, the fields in their order, and the dictionary. So a record that has a new field, or a better
//! dictionary, needs no migration: the program that writes it adds a format to the file. Fields that the
//! reading program does not know are skipped; those that a file lacks are unknown.

mod layout;
mod read;
#[cfg(test)]
mod tests;
mod write;

use std::marker::PhantomData;

use ringtap_model::{FieldType, Record, Value};
use zstd::bulk::{Compressor, Decompressor};

use zstd::zstd_safe::CParameter;

use layout::{FieldLayout, layout, places};
use read::{Decoded, Parts};

/// Makes the compact form of the records `R`.
pub struct Encoder<R> {
    fields: Vec<usize>,
    compressor: Compressor<'static>,
    body: Vec<u8>,
    of: PhantomData<R>,
}

impl<R: Record> Encoder<R> {
    /// For records of which the `columns` are stored elsewhere.
    pub fn new(columns: &[&str], dictionary: &[u8]) -> Option<Self> {
        let fields = (0..R::SHAPE.len()).filter(|field| !columns.contains(&R::SHAPE[*field].name)).collect();
        let mut compressor = Compressor::with_dictionary(LEVEL, dictionary).ok()?;
        // The file knows all of it.
        for parameter in [
            CParameter::ContentSizeFlag(false),
            CParameter::ChecksumFlag(false),
            CParameter::DictIdFlag(false),
        ] {
            compressor.set_parameter(parameter).ok()?;
        }
        Some(Self { fields, compressor, body: Vec::new(), of: PhantomData })
    }

    /// The fields in their order, as JSON.
    pub fn fields(columns: &[&str]) -> String {
        // INVARIANT: names and kinds of fields are texts.
        serde_json::to_string(&layout(R::SHAPE, columns)).unwrap_or_default()
    }

    /// The fields of a record that starts at `start` (microseconds), not compressed, without the fields
    /// `known` of it that its columns tell.
    pub fn body(&mut self, record: &R, start: u64, known: &[&str]) -> &[u8] {
        let is_known = |field: usize| known.contains(&R::SHAPE[field].name);
        write::write(record, &self.fields, is_known, start, &mut self.body);
        &self.body
    }

    /// The compact form of the same.
    ///
    /// # Errors
    ///
    /// There is no memory.
    pub fn encode(
        &mut self,
        record: &R,
        start: u64,
        known: &[&str],
        compact: &mut Vec<u8>,
    ) -> std::io::Result<()> {
        self.body(record, start, known);
        compact.clear();
        compact.reserve(zstd::zstd_safe::compress_bound(self.body.len()));
        self.compressor.compress_to_buffer(&self.body, compact)?;
        compact.drain(..MAGIC.len());
        Ok(())
    }
}

/// Reads the compact form of the records `R` in one format of a file.
pub struct Decoder<R> {
    layout: Vec<FieldLayout>,
    /// Where each field of `R` is, and for a list of parts each of their fields.
    places: Vec<(Option<usize>, Vec<Option<usize>>)>,
    decompressor: Decompressor<'static>,
    frame: Vec<u8>,
    body: Vec<u8>,
    of: PhantomData<R>,
}

impl<R: Record> Decoder<R> {
    /// For the format that a file describes so; none if it is damaged.
    pub fn new(fields: &str, dictionary: &[u8]) -> Option<Self> {
        let layout: Vec<FieldLayout> = serde_json::from_str(fields).ok()?;
        let parts = |place: Option<usize>, kind| match (place.map(|place| &layout[place].kind), kind) {
            (Some(layout::FieldKind::Parts { fields }), FieldType::Parts(_, shape)) => places(shape, fields),
            _ => Vec::new(),
        };
        let places = places(R::SHAPE, &layout)
            .into_iter()
            .zip(R::SHAPE)
            .map(|(place, shape)| (place, parts(place, shape.kind)))
            .collect();
        let decompressor = Decompressor::with_dictionary(dictionary).ok()?;
        Some(Self { layout, places, decompressor, frame: Vec::new(), body: Vec::new(), of: PhantomData })
    }

    /// The record that starts at `start` (microseconds), of which `column` gives the fields that are not in
    /// its compact form, by their names.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn decode<'c>(
        &mut self,
        compact: &[u8],
        start: u64,
        column: impl Fn(&'static str) -> Value<'c>,
    ) -> Result<R, String> {
        self.frame.clear();
        self.frame.extend(MAGIC);
        self.frame.extend(compact);
        self.unpack()?;
        let values = read::read(&self.layout, start, &self.body).ok_or("its fields are damaged")?;
        let lists: Vec<Option<Parts<'_>>> = self
            .places
            .iter()
            .map(|(place, parts)| part_list(place.map(|place| &values[place]), parts))
            .collect();
        R::from_values(|field| match (self.places[field].0, &lists[field]) {
            (Some(_), Some(parts)) => Value::Parts(parts),
            (place, _) => match place.map(|place| values[place].value()) {
                None | Some(Value::Null) => column(R::SHAPE[field].name),
                Some(value) => value,
            },
        })
        .map_err(|field| format!("its {field} is none"))
    }

    /// Unpacks the frame, whose size is not told.
    fn unpack(&mut self) -> Result<(), String> {
        let mut room = (8 * self.frame.len()).max(4096);
        loop {
            self.body.clear();
            self.body.reserve(room);
            match self.decompressor.decompress_to_buffer(&self.frame, &mut self.body) {
                Ok(_) => return Ok(()),
                Err(_) if room < LONGEST => room *= 4,
                Err(error) => return Err(error.to_string()),
            }
        }
    }
}

fn part_list<'a>(value: Option<&'a Decoded<'a>>, places: &'a [Option<usize>]) -> Option<Parts<'a>> {
    match value? {
        Decoded::Parts(count, columns) => Some(Parts { count: *count, columns, places }),
        _ => None,
    }
}

/// How hard zstd tries. Level 1 takes 8 bytes a call more and hardly less time, level 6 takes 9 less and half
/// as much time again for all that the writer does.
const LEVEL: i32 = 3;
/// What each frame of zstd begins with (RFC 8878, section 3.1.1): it is left out.
const MAGIC: [u8; 4] = 0xFD2F_B528_u32.to_le_bytes();
/// The longest body. Its JSON in the outbox is no longer either.
const LONGEST: usize = 16 << 20;
