//! The keys that requests are signed with, from the environment or from a file.

use std::path::Path;

use zeroize::Zeroizing;

use crate::settings::{Credentials, Error};

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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

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
