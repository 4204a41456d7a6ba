//! Uploads an object: in one request if it is small, in parts if it is large.

use std::sync::Arc;

use md5::{Digest, Md5};
use object_store::path::Path;
use object_store::{MultipartUpload, ObjectStoreExt as _, PutPayload, PutResult};
use ringtap_spool::{FarError, Upload, UploadOutcome};

use crate::client::Client;

/// Bytes of a part: S3 needs at least 5 MiB, and one part is in memory at a time.
const PART: u64 = 8 << 20;
/// Parts of an object, with some to spare (AWS: 10,000).
const PARTS: u64 = 9_000;

/// A running upload.
pub(crate) struct Parts {
    client: Arc<Client>,
    path: Path,
    part: usize,
    /// The content of a small object.
    whole: Vec<u8>,
    upload: Option<Box<dyn MultipartUpload>>,
    /// MD5 of each part.
    digests: Vec<[u8; 16]>,
}

impl Parts {
    pub(crate) fn begin(client: Arc<Client>, path: Path, bytes: u64) -> Result<Self, FarError> {
        let part = PART.max(bytes.div_ceil(PARTS).next_multiple_of(1 << 20));
        let upload = match bytes > part {
            true => Some(client.ask(client.store.put_multipart(&path))?),
            false => None,
        };
        let part = usize::try_from(part).unwrap_or(usize::MAX);
        Ok(Self { client, path, part, whole: Vec::new(), upload, digests: Vec::new() })
    }
}

impl Upload for Parts {
    fn piece(&self) -> usize {
        self.part
    }

    fn put(&mut self, piece: Vec<u8>) -> Result<(), FarError> {
        let Some(upload) = &mut self.upload else {
            self.whole.extend(piece);
            return Ok(());
        };
        self.digests.push(Md5::digest(&piece).into());
        self.client.ask(upload.put_part(PutPayload::from(piece)))
    }

    fn finish(mut self: Box<Self>) -> Result<UploadOutcome, FarError> {
        let (wanted, put) = match &mut self.upload {
            Some(upload) => (tag_of_parts(&self.digests), self.client.ask(upload.complete())?),
            None => {
                let digest: [u8; 16] = Md5::digest(&self.whole).into();
                let whole = PutPayload::from(std::mem::take(&mut self.whole));
                (hex(&digest), self.client.ask(self.client.store.put(&self.path, whole))?)
            }
        };
        let PutResult { e_tag, version, .. } = put;
        let tag = e_tag.as_deref().map(|tag| tag.trim_matches('"').to_ascii_lowercase());
        // If the storage does not encrypt, its tag is the MD5 of the content.
        Ok(UploadOutcome {
            verified: tag == Some(wanted),
            versioned: version.is_some_and(|version| version != "null"),
        })
    }

    fn give_up(mut self: Box<Self>) {
        if let Some(upload) = &mut self.upload {
            // If the storage is away, its own rules have to delete the unfinished upload.
            let _ = self.client.ask(upload.abort());
        }
    }
}

/// The tag of an object in parts: MD5 over the MD5 of each, and their number.
fn tag_of_parts(digests: &[[u8; 16]]) -> String {
    let all: [u8; 16] = Md5::digest(digests.as_flattened()).into();
    format!("{}-{}", hex(&all), digests.len())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
