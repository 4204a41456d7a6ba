//! One opened capture file.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;

use crate::content::{Content, Failure};
use crate::unpack::Unpacker;
use crate::window::Window;
use crate::{Compression, Damage, DamageKind, Error, Format, Frames, erf, netmon, pcap, pcapng, snoop};

/// One open capture file. Any number of readers may read its frames, each from the beginning.
#[derive(Debug)]
pub struct Capture {
    name: String,
    content: Arc<Content>,
    format: Format,
    compression: Option<Compression>,
    most_unpacked: u64,
}

impl Capture {
    /// Opens a file; `-` is standard input, which is read to its end first: up to 256 MiB into memory, beyond
    /// that into an unlinked file in the temporary directory (`TMPDIR`).
    ///
    /// Compressed content is decompressed while it is read, by default to at most 1 GiB or 200 times the size
    /// of the file, whichever is more; `most_unpacked` is another limit in bytes.
    pub fn open(path: &Path, most_unpacked: Option<u64>) -> Result<Self, Error> {
        if path == Path::new("-") {
            let file = io::stdin().as_fd().try_clone_to_owned().map(File::from);
            return Self::from_file(file, "standard input".to_owned(), most_unpacked);
        }
        Self::from_file(File::open(path), path.display().to_string(), most_unpacked)
    }

    /// A capture that is already in memory, with a name for messages.
    pub fn from_bytes(name: &str, bytes: Vec<u8>) -> Result<Self, Error> {
        Self::from_content(name.to_owned(), Content::Memory(bytes), None)
    }

    fn from_file(file: io::Result<File>, name: String, most_unpacked: Option<u64>) -> Result<Self, Error> {
        let file = file.map_err(|error| Error::io(&name, error))?;
        if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
            return Err(Error::Directory { path: name.trim_end_matches('/').to_owned() });
        }
        let content = Content::load(file).map_err(|failure| failed(&name, failure))?;
        Self::from_content(name, content, most_unpacked)
    }

    fn from_content(name: String, content: Content, most_unpacked: Option<u64>) -> Result<Self, Error> {
        if content.size() == 0 {
            return Err(Error::Empty { path: name });
        }
        let mut magic = [0; 4];
        let length = content.read_at(0, &mut magic).map_err(|kind| Error::content(&name, kind))?;
        let compression = Compression::detect(&magic[..length]);
        let most_unpacked =
            most_unpacked.unwrap_or_else(|| UNPACKED.max(content.size().saturating_mul(RATIO)));
        // The format is not known yet.
        let mut capture =
            Self { name, content: Arc::new(content), format: Format::Pcap, compression, most_unpacked };
        capture.format = capture.detect()?;
        Ok(capture)
    }

    /// The content from its beginning.
    pub(crate) fn window(&self) -> Window {
        let content = self.content.clone();
        match self.compression {
            None => Window::plain(content),
            Some(compression) => Window::packed(Unpacker::new(content, compression, self.most_unpacked)),
        }
    }

    /// Finds the format by the first bytes, and makes sure that the file header is whole.
    fn detect(&self) -> Result<Format, Error> {
        let path = || self.name.clone();
        let mut window = self.window();
        let mut length = window.advance(0);
        if length == 0 {
            return Err(match (self.compression, window.damage()) {
                (
                    _,
                    Some(Damage { kind: kind @ (DamageKind::Shortened | DamageKind::Unreadable(_)), .. }),
                ) => Error::content(&self.name, kind),
                (Some(compression), Some(Damage { kind, .. })) => {
                    Error::Undecodable { path: path(), what: kind, tool: compression.tool() }
                }
                _ => Error::Empty { path: path() },
            });
        }
        loop {
            let bytes = window.last(length).bytes;
            // ERF is told by its records, pcapng has a header of any length.
            match detect(bytes) {
                Some(format @ Format::Pcap) if pcap::has_header(bytes) => return Ok(format),
                Some(format @ Format::PcapNg) if pcapng::has_header(bytes) => return Ok(format),
                Some(format @ Format::Snoop) if snoop::has_header(bytes) => return Ok(format),
                Some(format @ Format::NetMon) if netmon::has_header(bytes) => return Ok(format),
                Some(format @ Format::Erf) if window.is_last() || length >= erf::ENOUGH => return Ok(format),
                Some(format) if window.is_last() => {
                    return Err(Error::TruncatedHeader { path: path(), format, size: length as u64 });
                }
                None if window.is_last() || length >= erf::ENOUGH => {
                    return Err(Error::NotACapture { path: path(), begins: beginning(bytes) });
                }
                _ => length = window.advance(length),
            }
        }
    }

    /// The path as it was given, or `standard input`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Bytes of the file as it is stored; for progress.
    pub fn size(&self) -> u64 {
        self.content.size()
    }

    /// The detected format.
    pub fn format(&self) -> Format {
        self.format
    }

    /// How it was compressed.
    pub fn compression(&self) -> Option<Compression> {
        self.compression
    }

    /// The frames from the first on.
    pub fn frames(&self) -> Frames {
        Frames::new(self.window(), self.format)
    }
}

fn detect(content: &[u8]) -> Option<Format> {
    if pcap::is_format(content) {
        Some(Format::Pcap)
    } else if pcapng::is_format(content) {
        Some(Format::PcapNg)
    } else if snoop::is_format(content) {
        Some(Format::Snoop)
    } else if netmon::is_format(content) {
        Some(Format::NetMon)
    } else {
        erf::is_format(content).then_some(Format::Erf)
    }
}

fn failed(name: &str, failure: Failure) -> Error {
    match failure {
        Failure::Read(source) => Error::io(name, source),
        Failure::Store(source) => Error::Store {
            path: name.to_owned(),
            directory: std::env::temp_dir().display().to_string(),
            source,
        },
    }
}

/// The first bytes in hex, and what they suggest.
fn beginning(content: &[u8]) -> String {
    let hex: Vec<String> = content.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    let known = KNOWN.iter().find(|(magic, _)| content.starts_with(magic)).map(|(_, what)| *what);
    let text = || content.iter().take(64).all(|byte| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~'));
    match known {
        Some(what) => format!("{} ({what}?)", hex.join(" ")),
        None if text() => format!("{} (a text file?)", hex.join(" ")),
        None => hex.join(" "),
    }
}

/// Files that people give by mistake, and other formats that hold packets.
const KNOWN: [(&[u8], &str); 18] = [
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"\x89PNG", "a PNG image"),
    (b"GIF8", "a GIF image"),
    (b"%PDF", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive: unpack it first"),
    (b"Rar!", "a RAR archive: unpack it first"),
    (b"7z\xbc\xaf", "a 7z archive: unpack it first"),
    (b"\xfd7zXZ", "compressed by xz: run `unxz` first"),
    (b"BZh", "compressed by bzip2: run `bunzip2` first"),
    (b"\x04\x22\x4d\x18", "compressed by lz4: run `unlz4` first"),
    (b"\x7fELF", "a program"),
    (b"RIFF", "a WAV or AVI file"),
    (b"OggS", "an Ogg file"),
    (b"ID3", "an MP3 file"),
    (b"SQLite format 3", "an SQLite database"),
    (b"btsnoop\0", "a Bluetooth capture"),
    (b"RTSS", "a capture of Microsoft Network Monitor 1: convert it with `editcap -F pcapng IN OUT`"),
    (b"TRSNIFF data", "a Sniffer capture: convert it with `editcap -F pcapng IN OUT`"),
];

/// A compressed file may unpack to that many bytes, however small it is.
const UNPACKED: u64 = 1 << 30;
/// A larger one to that many times its size: captures of real traffic compress to a tenth.
const RATIO: u64 = 200;

#[cfg(test)]
mod tests {
    use super::*;

    fn message(bytes: &[u8]) -> String {
        Capture::from_bytes("x.pcap", bytes.to_vec()).expect_err("not a capture").to_string()
    }

    #[test]
    fn what_is_no_capture_says_what_it_may_be() {
        assert_eq!(
            message(b"\xff\xd8\xff\xe0\0\x10JFIF"),
            "`x.pcap` is not a capture file: it begins with ff d8 ff e0 (a JPEG image?); \
                ringtap reads pcap, pcapng, snoop, NetMon 2 and ERF, also gzip or zstd compressed"
        );
        assert!(message(b"Dear all,\n").contains("44 65 61 72 (a text file?)"));
        assert!(message(b"\xfd7zXZ\0").contains("unxz"));
        assert!(message(b"RTSS\x01\x01").contains("Monitor 1: convert it with `editcap -F pcapng IN OUT`"));
        assert!(message(&[0; 4096]).contains("00 00 00 00;"));
        assert!(message(&[7]).contains("begins with 07;"));
    }

    #[test]
    fn cut_and_empty_files_say_so() {
        assert!(message(&[]).starts_with("`x.pcap` is empty"));
        let pcap = [0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0];
        assert!(message(&pcap).starts_with("`x.pcap` ends inside its pcap file header, after 10 bytes"));
        let pcapng = [0x0a, 0x0d, 0x0d, 0x0a, 28, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a];
        assert!(message(&pcapng).starts_with("`x.pcap` ends inside its pcapng file header, after 12 bytes"));
        let snoop = message(b"snoop\0\0\0\0\0\0\x02");
        assert!(snoop.starts_with("`x.pcap` ends inside its snoop file header, after 12 bytes"), "{snoop}");
        let netmon = message(b"GMBU\0\x02\x01\0");
        assert!(netmon.starts_with("`x.pcap` ends inside its NetMon 2 file header, after 8 "), "{netmon}");
        assert!(message(&[0x1f, 0x8b, 8, 0]).contains("the gzip data end too early; test it with `gzip -t`"));
    }

    #[test]
    fn what_cannot_be_opened_says_why() {
        let open =
            |path: &str| Capture::open(Path::new(path), None).expect_err("cannot be opened").to_string();
        assert!(open("/nowhere/x.pcap").starts_with("`/nowhere/x.pcap` does not exist"));
        assert!(open("/proc/").starts_with("`/proc` is a directory"));
        let denied = Error::io("x.pcap", io::ErrorKind::PermissionDenied.into());
        assert!(denied.to_string().starts_with("no permission to read `x.pcap`"));
    }
}
