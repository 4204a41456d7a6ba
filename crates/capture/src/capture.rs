//! One opened capture file.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use crate::content::{Content, Failure};
use crate::{Compression, Damage, Error, Format, Frames, erf, pcap, pcapng};

/// One open capture file, mapped into memory; its frames borrow from it.
#[derive(Debug)]
pub struct Capture {
    name: String,
    content: Content,
    format: Format,
    compression: Option<Compression>,
    /// Where decompression stopped.
    damage: Option<Damage>,
}

impl Capture {
    /// Opens a file; `-` is standard input, which is read to its end first.
    ///
    /// Compressed content is decompressed here: up to 256 MiB in memory, beyond that into an unlinked file in
    /// the temporary directory (`TMPDIR`).
    pub fn open(path: &Path) -> Result<Self, Error> {
        if path == Path::new("-") {
            let file = io::stdin().as_fd().try_clone_to_owned().map(File::from);
            return Self::from_file(file, "standard input".to_owned());
        }
        Self::from_file(File::open(path), path.display().to_string())
    }

    /// A capture that is already in memory, with a name for messages.
    pub fn from_bytes(name: &str, bytes: Vec<u8>) -> Result<Self, Error> {
        Self::from_content(name.to_owned(), Content::Memory(bytes))
    }

    fn from_file(file: io::Result<File>, name: String) -> Result<Self, Error> {
        let file = file.map_err(|error| Error::io(&name, error))?;
        if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
            return Err(Error::Directory { path: name.trim_end_matches('/').to_owned() });
        }
        let content = Content::load(file).map_err(|failure| failed(&name, failure))?;
        Self::from_content(name, content)
    }

    fn from_content(name: String, content: Content) -> Result<Self, Error> {
        if content.is_empty() {
            return Err(Error::Empty { path: name });
        }
        match Compression::detect(&content) {
            Some(compression) => Self::compressed(name, content, compression),
            None => Self::plain(name, content, None, None),
        }
    }

    fn compressed(name: String, packed: Content, compression: Compression) -> Result<Self, Error> {
        let (content, damage) = compression.unpack(&packed).map_err(|failure| failed(&name, failure))?;
        match damage {
            Some(Damage { kind, .. }) if content.is_empty() => {
                Err(Error::Undecodable { path: name, what: kind, tool: compression.tool() })
            }
            _ if content.is_empty() => Err(Error::Empty { path: name }),
            _ => Self::plain(name, content, Some(compression), damage),
        }
    }

    fn plain(
        name: String,
        content: Content,
        compression: Option<Compression>,
        damage: Option<Damage>,
    ) -> Result<Self, Error> {
        let Some(format) = detect(&content) else {
            return Err(Error::NotACapture { path: name, begins: beginning(&content) });
        };
        if Frames::new(&content, format, None).is_none() {
            return Err(Error::TruncatedHeader { path: name, format, size: content.len() as u64 });
        }
        Ok(Self { name, content, format, compression, damage })
    }

    /// The path as it was given, or `standard input`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Bytes of the decompressed content; for progress.
    pub fn size(&self) -> u64 {
        self.content.len() as u64
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
    pub fn frames(&self) -> Frames<'_> {
        // INVARIANT: `plain` made sure that the header is whole.
        Frames::new(&self.content, self.format, self.damage)
            .expect("the file header was checked when opening")
    }
}

fn detect(content: &[u8]) -> Option<Format> {
    if pcap::is_format(content) {
        Some(Format::Pcap)
    } else if pcapng::is_format(content) {
        Some(Format::PcapNg)
    } else {
        erf::is_format(content).then_some(Format::Erf)
    }
}

fn failed(name: &str, failure: Failure) -> Error {
    match failure {
        Failure::Read(source) => Error::io(name, source),
        Failure::Unpack(source) => Error::Unpack {
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
const KNOWN: [(&[u8], &str); 20] = [
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
    (b"snoop\0\0\0", "a Solaris snoop capture: convert it with `editcap -F pcap`"),
    (b"btsnoop\0", "a Bluetooth capture"),
    (b"GMBU", "a Microsoft Network Monitor capture: convert it with `editcap -F pcap`"),
    (b"RTSS", "a Microsoft Network Monitor capture: convert it with `editcap -F pcap`"),
    (b"TRSNIFF data", "a Sniffer capture: convert it with `editcap -F pcap`"),
];

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
                ringtap reads pcap, pcapng, ERF, also gzip or zstd compressed"
        );
        assert!(message(b"Dear all,\n").contains("44 65 61 72 (a text file?)"));
        assert!(message(b"\xfd7zXZ\0").contains("unxz"));
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
        assert!(message(&[0x1f, 0x8b, 8, 0]).contains("the gzip data end too early; test it with `gzip -t`"));
    }

    #[test]
    fn what_cannot_be_opened_says_why() {
        let open = |path: &str| Capture::open(Path::new(path)).expect_err("cannot be opened").to_string();
        assert!(open("/nowhere/x.pcap").starts_with("`/nowhere/x.pcap` does not exist"));
        assert!(open("/proc/").starts_with("`/proc` is a directory"));
        let denied = Error::io("x.pcap", io::ErrorKind::PermissionDenied.into());
        assert!(denied.to_string().starts_with("no permission to read `x.pcap`"));
    }
}
