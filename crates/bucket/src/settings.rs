//! Where a bucket is, and which credentials it needs.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ringtap_spool::{FAR, give_to_owner_of};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

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
            give_to_owner_of(spool, &far)?;
            fs::write(&part, lines)?;
            fs::File::open(&part)?.sync_all()?;
            give_to_owner_of(spool, &part)?;
            fs::rename(&part, &path)
        };
        write().map_err(|source| Error::Io { path: path.clone(), action: "written", source })
    }
}

fn path(spool: &Path) -> PathBuf {
    spool.join(FAR).join("tier.toml")
}

/// Names as object_store accepts them, and values.
pub(crate) type Keys = Vec<(&'static str, Zeroizing<String>)>;

impl Credentials {
    /// The keys. Empty: the machine's own role is used.
    pub(crate) fn keys(&self, place: &str) -> Result<Keys, Error> {
        match self {
            Self::Machine => Ok(Keys::new()),
            Self::Environment => of_environment(place, |name| std::env::var(name).ok()),
            Self::File(path) => of_file(path),
        }
    }
}

fn of_environment(place: &str, variable: impl Fn(&str) -> Option<String>) -> Result<Keys, Error> {
    let given: Keys = GIVEN
        .iter()
        .filter_map(|name| Some((*name, Zeroizing::new(variable(&name.to_ascii_uppercase())?))))
        .filter(|(_, value)| !value.is_empty())
        .collect();
    let has = |name: &str| given.iter().any(|(given, _)| *given == name);
    let enough = has(GIVEN[0]) && has(GIVEN[1])
        || GIVEN[3..5].iter().any(|name| has(name))
        || has(GIVEN[6]) && has(GIVEN[7]);
    match enough {
        true => Ok(given),
        false => Err(Error::Credentials(format!(
            "there are no credentials for {place}: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or have \
             [retention] tier_credentials name a file with them"
        ))),
    }
}

fn of_file(path: &Path) -> Result<Keys, Error> {
    let wrong = |problem: String| Error::Credentials(problem);
    let bytes = ringtap_spool::secret(path).map_err(|error| wrong(error.to_string()))?;
    let text = std::str::from_utf8(&bytes).unwrap_or_default();
    let mut keys = Keys::new();
    for line in text.lines().map(str::trim) {
        let Some((name, value)) = line.split_once('=') else { continue };
        if let Some(known) = GIVEN[..3].iter().find(|known| **known == name.trim().to_ascii_lowercase())
            // A file may have several profiles: the first one counts.
            && !keys.iter().any(|(name, _)| name == known)
        {
            keys.push((*known, Zeroizing::new(value.trim().to_owned())));
        }
    }
    let has = |name: &str| keys.iter().any(|(known, value)| *known == name && !value.is_empty());
    if has(GIVEN[0]) && has(GIVEN[1]) {
        return Ok(keys);
    }
    let shown = path.display();
    Err(wrong(format!(
        "the credentials `{shown}` cannot be used: it needs a line `aws_access_key_id = ...` and a line \
         `aws_secret_access_key = ...`"
    )))
}

/// Names of credentials in a file; in capitals, in the environment.
const GIVEN: [&str; 9] = [
    "aws_access_key_id",
    "aws_secret_access_key",
    "aws_session_token",
    "aws_container_credentials_relative_uri",
    "aws_container_credentials_full_uri",
    "aws_container_authorization_token_file",
    "aws_web_identity_token_file",
    "aws_role_arn",
    "aws_role_session_name",
];
/// The region that storage other than AWS usually has.
const REGION: &str = "us-east-1";

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

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

    #[test]
    fn keys_come_from_the_environment_or_from_a_file() {
        let with = |given: &'static [(&str, &str)]| {
            let find = move |name: &str| {
                given.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            };
            of_environment("s3://b", find)
        };
        assert_eq!(with(&[("AWS_ACCESS_KEY_ID", "a"), ("AWS_SECRET_ACCESS_KEY", "s")]).unwrap().len(), 2);
        assert!(with(&[("AWS_ROLE_ARN", "a"), ("AWS_WEB_IDENTITY_TOKEN_FILE", "s")]).is_ok());
        assert!(with(&[("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://x")]).is_ok());
        let error =
            with(&[("AWS_ACCESS_KEY_ID", "a"), ("AWS_SECRET_ACCESS_KEY", "")]).unwrap_err().to_string();
        assert!(error.contains("s3://b") && error.contains("AWS_SECRET_ACCESS_KEY"), "{error}");

        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("credentials");
        let text =
            "[default]\naws_access_key_id = A\nAWS_SECRET_ACCESS_KEY=s=/+\n[other]\naws_access_key_id = B\n";
        let write = |text: &str, mode| {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
            of_file(&path).map(|keys| {
                keys.iter().map(|(name, value)| format!("{name} {}", **value)).collect::<Vec<_>>()
            })
        };
        assert_eq!(write(text, 0o600).unwrap(), ["aws_access_key_id A", "aws_secret_access_key s=/+"]);
        assert!(write(text, 0o644).unwrap_err().to_string().contains("chmod 600"));
        let error = write("key = 1\n", 0o600).unwrap_err().to_string();
        assert!(error.contains("aws_access_key_id = ..."), "{error}");
    }
}
