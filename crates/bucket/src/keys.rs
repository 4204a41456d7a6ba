//! The keys that requests are signed with, from the environment or from a file.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use zeroize::Zeroize;

use crate::port;
use crate::settings::{Credentials, Error, Settings};

/// Keys for a bucket, or why there are none. Empty: the machine's own role is used.
#[derive(Clone, Serialize, Deserialize)]
pub struct Keys(Result<Vec<Key>, String>);

/// A name as object_store accepts it, and its value.
type Key = (String, String);

impl Keys {
    /// Finds the keys that the settings name. `variable` is the environment.
    ///
    /// # Errors
    ///
    /// There are none, or they cannot be read.
    pub fn find(settings: &Settings, variable: impl Fn(&str) -> Option<String>) -> Result<Self, Error> {
        Ok(Self(Ok(settings.credentials.keys(&settings.url(), variable)?)))
    }

    /// The same, for a bucket that nothing moves to any more: if there are none, the first request says so.
    pub fn find_late(settings: &Settings, variable: impl Fn(&str) -> Option<String>) -> Self {
        Self::find(settings, variable).unwrap_or_else(|error| Self(Err(error.to_string())))
    }

    /// Names and values.
    pub(crate) fn values(&self) -> Result<&[Key], String> {
        self.0.as_deref().map_err(Clone::clone)
    }

    /// Ports that requests go to: those of the bucket, of whoever gives credentials, and of a proxy that
    /// `variable`, the environment, names.
    pub fn ports(&self, settings: &Settings, variable: impl Fn(&str) -> Option<String>) -> Vec<u16> {
        let mut ports = vec![port::of_bucket(settings)];
        if settings.credentials == Credentials::Machine || self.value(GIVEN[3]).is_some() {
            ports.push(port::HTTP);
        }
        if self.value(GIVEN[6]).is_some() {
            ports.push(port::HTTPS);
        }
        ports.extend(self.value(GIVEN[4]).and_then(port::of_url));
        ports.extend(PROXIES.iter().filter_map(|name| port::of_url(&variable(name)?)));
        ports
    }

    /// Files that are read again whenever the keys have run out.
    pub fn files(&self) -> Vec<PathBuf> {
        [GIVEN[5], GIVEN[6]].iter().filter_map(|name| self.value(name)).map(PathBuf::from).collect()
    }

    fn value(&self, name: &str) -> Option<&str> {
        let found = self.0.as_ref().ok()?.iter().find(|(known, _)| known == name)?;
        Some(&found.1)
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        self.0.iter_mut().flatten().for_each(|(_, value)| value.zeroize());
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keys")
    }
}

impl Credentials {
    fn keys(&self, place: &str, variable: impl Fn(&str) -> Option<String>) -> Result<Vec<Key>, Error> {
        match self {
            Self::Machine => Ok(Vec::new()),
            Self::Environment => of_environment(place, variable),
            Self::File(path) => of_file(path),
        }
    }
}

fn of_environment(place: &str, variable: impl Fn(&str) -> Option<String>) -> Result<Vec<Key>, Error> {
    let given: Vec<Key> = GIVEN
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), variable(&name.to_ascii_uppercase())?)))
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

fn of_file(path: &Path) -> Result<Vec<Key>, Error> {
    let wrong = |problem: String| Error::Credentials(problem);
    let bytes = ringtap_spool::secret(path).map_err(|error| wrong(error.to_string()))?;
    let text = std::str::from_utf8(&bytes).unwrap_or_default();
    let mut keys = Vec::<Key>::new();
    for line in text.lines().map(str::trim) {
        let Some((name, value)) = line.split_once('=') else { continue };
        if let Some(known) = GIVEN[..3].iter().find(|known| **known == name.trim().to_ascii_lowercase())
            // A file may have several profiles: the first one counts.
            && !keys.iter().any(|(name, _)| name == known)
        {
            keys.push(((*known).to_owned(), value.trim().to_owned()));
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
/// Variables that name a proxy.
const PROXIES: [&str; 6] =
    ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn requests_go_to_the_ports_of_the_bucket_and_of_who_gives_credentials() {
        let ports = |credentials, endpoint: &str, given: &[(&str, &str)]| {
            let find = |name: &str| Some(given.iter().find(|(known, _)| *known == name)?.1.to_owned());
            let settings = Settings { credentials, endpoint: endpoint.into(), ..Settings::default() };
            let keys = Keys::find(&settings, find).unwrap();
            (keys.ports(&settings, find), keys.files())
        };
        let pair =
            [("AWS_ACCESS_KEY_ID", "a"), ("AWS_SECRET_ACCESS_KEY", "s"), ("https_proxy", "[::1]:3128")];
        assert_eq!(ports(Credentials::Environment, "", &pair), (vec![443, 3128], vec![]));
        assert_eq!(ports(Credentials::Machine, "https://s3.x:9000", &[]).0, [9000, 80]);
        let token = [("AWS_ROLE_ARN", "a"), ("AWS_WEB_IDENTITY_TOKEN_FILE", "/t")];
        assert_eq!(ports(Credentials::Environment, "http://x", &token), (vec![80, 443], vec!["/t".into()]));
        let container = [("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://169.254.170.23:8080/v1")];
        assert_eq!(ports(Credentials::Environment, "http://x:81", &container).0, [81, 8080]);
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
            of_file(&path)
                .map(|keys| keys.iter().map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>())
        };
        assert_eq!(write(text, 0o600).unwrap(), ["aws_access_key_id A", "aws_secret_access_key s=/+"]);
        assert!(write(text, 0o644).unwrap_err().to_string().contains("chmod 600"));
        let error = write("key = 1\n", 0o600).unwrap_err().to_string();
        assert!(error.contains("aws_access_key_id = ..."), "{error}");
    }
}
