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
use serde::{Deserialize, Serialize};
use zstd::bulk::{Compressor, Decompressor};

use zstd::zstd_safe::CParameter;

use layout::{FieldLayout, layout, places};
use read::{Decoded, Parts};

/// Makes the compact form of the records `R`.
pub struct Encoder<R> {
    fields: Vec<usize>,
    compressor: Compressor<'static>,
    body: Vec<u8>,
    frame: Vec<u8>,
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
        Some(Self { fields, compressor, body: Vec::new(), frame: Vec::new(), of: PhantomData })
    }

    /// What a file says of the format: its fields in their order, as JSON.
    pub fn description(columns: &[&str]) -> String {
        let description = Description::Bare { fields: layout(R::SHAPE, columns), bare: true };
        // INVARIANT: names and kinds of fields are texts.
        serde_json::to_string(&description).unwrap_or_default()
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
        self.frame.clear();
        self.frame.reserve(zstd::zstd_safe::compress_bound(self.body.len()));
        self.compressor.compress_to_buffer(&self.body, &mut self.frame)?;
        compact.clear();
        compact.extend(bare(self.frame.get(MAGIC.len()..).unwrap_or_default()));
        Ok(())
    }
}

/// Reads the compact form of the records `R` in one format of a file.
pub struct Decoder<R> {
    layout: Vec<FieldLayout>,
    /// Where each field of `R` is, and for a list of parts each of their fields.
    places: Vec<(Option<usize>, Vec<Option<usize>>)>,
    decompressor: Decompressor<'static>,
    /// Frames may be without what is the same in most.
    may_be_bare: bool,
    frame: Vec<u8>,
    body: Vec<u8>,
    of: PhantomData<R>,
}

impl<R: Record> Decoder<R> {
    /// For the format that a file describes so; none if it is damaged.
    pub fn new(description: &str, dictionary: &[u8]) -> Option<Self> {
        let (layout, may_be_bare) = match serde_json::from_str(description).ok()? {
            Description::Whole(fields) => (fields, false),
            Description::Bare { fields, bare } => (fields, bare),
        };
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
        let (frame, body) = (Vec::new(), Vec::new());
        Some(Self { layout, places, decompressor, may_be_bare, frame, body, of: PhantomData })
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
        if self.may_be_bare && compact.first() != Some(&DESCRIPTOR) {
            self.frame.extend(frame_header(compact.len()));
        }
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

/// How a file describes a format.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Description {
    /// Frames are whole but for their magic number, as before there were bare ones.
    Whole(Vec<FieldLayout>),
    /// Frames are bare where they can be. Who does not know of it does not read them.
    Bare { fields: Vec<FieldLayout>, bare: bool },
}

/// A frame of zstd without its magic number, and without its header and that of its block where the length
/// tells these: most are one compressed block of at most 1 KiB. Its literals come first then, whose header is
/// seldom the byte that a whole frame begins with; the frame stays whole in this case.
fn bare(frame: &[u8]) -> &[u8] {
    let content = frame.get(frame_header(0).len()..).unwrap_or_default();
    let is_plain = frame.starts_with(&frame_header(content.len())) && content.first() != Some(&DESCRIPTOR);
    if is_plain { content } else { frame }
}

/// Header of a frame with a window of 1 KiB, and of its only block, which is compressed and has that length
/// (RFC 8878, sections 3.1.1.1 and 3.1.1.2).
fn frame_header(length: usize) -> [u8; 5] {
    let [low, middle, high, ..] = ((length as u32) << 3 | 2 << 1 | 1).to_le_bytes();
    [DESCRIPTOR, 0, low, middle, high]
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
/// The descriptor of a frame that tells neither its size nor its dictionary, and has no checksum: of all that
/// are written here.
const DESCRIPTOR: u8 = 0;
/// The longest body. Its JSON in the outbox is no longer either.
const LONGEST: usize = 16 << 20;
