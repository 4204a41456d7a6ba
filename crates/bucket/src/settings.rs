//! Where a bucket is, and which credentials it needs.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use ringtap_spool::FAR;
use serde::{Deserialize, Serialize};

/// Where the segments in far storage are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The bucket's name.
    pub bucket: String,
    /// In front of the names of all objects; without slashes at its ends, or empty.
    pub prefix: String,
    /// Scheme, host and port: `https://s3.example.org:9000`; empty for AWS.
    pub endpoint: String,
    /// As AWS names regions; other storage uses what it is configured with.
    pub region: String,
    /// The bucket's name is in the path, not in the host.
    pub path_style: bool,
    /// Without TLS: others on the way can read what is stored, and when.
    pub http: bool,
    /// Where the keys come from.
    pub credentials: Credentials,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            bucket: String::new(),
            prefix: String::new(),
            endpoint: String::new(),
            region: REGION.to_owned(),
            path_style: true,
            http: false,
            credentials: Credentials::Environment,
        }
    }
}

/// Where keys come from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Credentials {
    /// `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`, or what containers are given.
    #[default]
    Environment,
    /// The machine's own role, from the metadata service of its cloud.
    Machine,
    /// A file with `aws_access_key_id = ...` and `aws_secret_access_key = ...`.
    File(PathBuf),
}

impl From<String> for Credentials {
    fn from(text: String) -> Self {
        match text.as_str() {
            "" | "environment" => Self::Environment,
            "machine" => Self::Machine,
            path => Self::File(path.into()),
        }
    }
}

impl From<Credentials> for String {
    fn from(credentials: Credentials) -> Self {
        match credentials {
            Credentials::Environment => "environment".into(),
            Credentials::Machine => "machine".into(),
            Credentials::File(path) => path.display().to_string(),
        }
    }
}

/// Settings that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file in the spool that says where segments are.
    #[error("`{path}` cannot be {action}: {source}", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was being done.
        action: &'static str,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The file has other content.
    #[error(
        "`{path}` does not say where segments are: {problem}; `ringtap run` rewrites it once [retention] \
         tier names the bucket", path = path.display()
    )]
    Settings {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The program was built without the feature `s3`.
    #[error("{place} cannot be used: this ringtap was built without S3; build it with `make build`")]
    NotBuilt {
        /// The bucket and its server.
        place: String,
    },
    /// There are no keys, or they cannot be used.
    #[error("{0}")]
    Credentials(String),
}

/// Bucket and prefix of `s3://bucket/prefix`; None for any other text.
pub fn of_url(url: &str) -> Option<(String, String)> {
    let rest = url.strip_prefix("s3://")?;
    let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    let known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let sound =
        |name: &str| !name.is_empty() && name.bytes().all(known) && name.bytes().any(|byte| byte != b'.');
    let prefix = prefix.trim_end_matches('/');
    let right = sound(bucket) && (prefix.is_empty() || prefix.split('/').all(sound));
    right.then(|| (bucket.to_owned(), prefix.to_owned()))
}

impl Settings {
    /// In messages: `s3://bucket/prefix`.
    pub fn url(&self) -> String {
        match self.prefix.as_str() {
            "" => format!("s3://{}", self.bucket),
            prefix => format!("s3://{}/{prefix}", self.bucket),
        }
    }

    /// With the server, unless it is AWS.
    pub fn describe(&self) -> String {
        match self.endpoint.as_str() {
            "" => format!("{} ({})", self.url(), self.region),
            endpoint => format!("{} at {endpoint}", self.url()),
        }
    }

    /// Reads where a spool's segments are; None if none ever moved.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or has other content.
    pub fn read(spool: &Path) -> Result<Option<Self>, Error> {
        let path = path(spool);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(Error::Io { path, action: "read", source }),
        };
        let problem = |error: toml::de::Error| error.message().to_owned();
        toml::from_str(&text).map(Some).map_err(|error| Error::Settings { path, problem: problem(error) })
    }

    /// Writes this to the spool.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn write(&self, spool: &Path) -> Result<(), Error> {
        if Self::read(spool).is_ok_and(|there| there.as_ref() == Some(self)) {
            return Ok(());
        }
        let path = path(spool);
        let part = path.with_extension("part");
        // Serialising texts and flags cannot fail.
        let lines = toml::to_string(self).unwrap_or_default();
        let lines = format!(
            "# Where the segments of this spool in far storage are. No secrets here.\n\
             # `ringtap run` writes this from its [retention].\n{lines}"
        );
        let write = || -> io::Result<()> {
            let far = spool.join(FAR);
            fs::create_dir_all(&far)?;
            // A link in the draft's place is removed, not followed.
            let _ = fs::remove_file(&part);
            let mut draft = fs::File::create_new(&part)?;
            draft.write_all(lines.as_bytes())?;
            draft.sync_all()?;
            fs::rename(&part, &path)
        };
        write().map_err(|source| Error::Io { path: path.clone(), action: "written", source })
    }
}

fn path(spool: &Path) -> PathBuf {
    spool.join(FAR).join("tier.toml")
}

/// The region that storage other than AWS usually has.
const REGION: &str = "us-east-1";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places() {
        let of = |url| of_url(url).map(|(bucket, prefix)| format!("{bucket} {prefix}"));
        assert_eq!(of("s3://b"), Some("b ".into()));
        assert_eq!(of("s3://b/"), Some("b ".into()));
        assert_eq!(of("s3://my-bucket.x/a/b_c/"), Some("my-bucket.x a/b_c".into()));
        for wrong in
            ["", "b", "s3://", "s3:///x", "s3://b//x", "s3://b/../x", "s3://b/a b", "https://b/x", "s3://b?x"]
        {
            assert_eq!(of(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_spool_says_where_its_segments_lie_and_no_secret() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Settings::read(dir.path()).unwrap(), None);
        for credentials in
            [Credentials::Environment, Credentials::Machine, Credentials::File("/etc/s3 \"x\"".into())]
        {
            let settings = Settings {
                bucket: "b".into(),
                prefix: "p/q".into(),
                endpoint: "http://127.0.0.1:9000".into(),
                http: true,
                credentials,
                ..Settings::default()
            };
            settings.write(dir.path()).unwrap();
            assert_eq!(Settings::read(dir.path()).unwrap(), Some(settings));
        }
        fs::write(path(dir.path()), "bucket = 7").unwrap();
        let error = Settings::read(dir.path()).unwrap_err().to_string();
        assert!(error.contains("tier.toml") && error.contains("[retention] tier"), "{error}");
    }
}
