//! What the operator writes of the provider: a file in TOML.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ringtap_access::{LocalLogins, Role, Scope};
use serde::Deserialize;
use zeroize::Zeroizing;

use crate::address;
use crate::error::Error;

/// An identity provider, and what is made of what it says.
#[derive(Clone)]
pub struct Settings {
    /// What it is called on the page.
    pub name: String,
    /// Its issuer identifier, exactly as it writes it.
    pub issuer: String,
    /// Who this console is to the provider.
    pub client_id: String,
    /// What proves that; none for a public client.
    pub secret: Option<Zeroizing<String>>,
    /// Where people open this console, without a path: `https://tap.example.org:8443`.
    pub address: String,
    /// The claim that names the person.
    pub person: String,
    /// The claim that lists groups; `realm_access.roles` is a claim within another.
    pub groups: Option<String>,
    /// Groups that give a role. Empty: people keep the role that they have here.
    pub roles: BTreeMap<Role, Vec<String>>,
    /// Groups that limit calls; the first that a person is in holds. Empty: people keep the scope that they
    /// have here.
    pub scopes: Vec<ScopeOfGroup>,
    /// Whether people who are not known here are added when they first log in.
    pub add: bool,
    /// Who may log in by a password or a passkey beside.
    pub local_logins: LocalLogins,
    /// What is asked of the provider (`scope` of RFC 6749), beside `openid`.
    pub request: Vec<String>,
    /// Values of the claim `acr`, of which a login must have one; empty: any.
    pub acr: Vec<String>,
    /// Values of the claim `amr`, of which a login must have one; empty: any.
    pub amr: Vec<String>,
    /// Certificates (PEM) of whoever vouches for the provider's, in place of those of the system.
    pub ca: Option<PathBuf>,
    /// Longest time of a request to the provider.
    pub patience: Duration,
}

/// Calls that a group may see.
#[derive(Clone, Debug)]
pub struct ScopeOfGroup {
    /// The group.
    pub group: String,
    /// The calls.
    pub scope: Scope,
}

impl std::fmt::Debug for Settings {
    /// Without the secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings").field("issuer", &self.issuer).finish_non_exhaustive()
    }
}

/// As it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: String,
    issuer: String,
    client_id: String,
    client_secret_file: Option<PathBuf>,
    address: String,
    #[serde(default = "usual_person")]
    person: String,
    groups: Option<String>,
    #[serde(default)]
    roles: BTreeMap<Role, Vec<String>>,
    #[serde(default, rename = "scope")]
    scopes: Vec<WrittenScope>,
    #[serde(default)]
    add: bool,
    #[serde(default)]
    local_logins: WrittenLogins,
    #[serde(default = "usual_request")]
    request: Vec<String>,
    #[serde(default)]
    acr: Vec<String>,
    #[serde(default)]
    amr: Vec<String>,
    ca: Option<PathBuf>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenScope {
    group: String,
    #[serde(default)]
    trunks: Vec<String>,
    #[serde(default)]
    numbers: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum WrittenLogins {
    #[default]
    Everybody,
    Administrators,
}

impl Settings {
    /// Reads the file, and with `secret` the one that it names, of which the first line counts.
    ///
    /// # Errors
    ///
    /// A file cannot be read, or a value in it cannot be used.
    pub fn read(
        path: &Path,
        secret: impl FnOnce(&Path) -> Result<Zeroizing<Vec<u8>>, String>,
    ) -> Result<Self, Error> {
        let unreadable = |cause: String| Error::Unreadable { path: path.to_owned(), cause };
        let text = std::fs::read_to_string(path).map_err(|error| unreadable(error.to_string()))?;
        let written: Written = toml::from_str(&text).map_err(|error| unreadable(error.to_string()))?;
        let wrong = |key: &'static str, problem: String| Error::Value { path: path.to_owned(), key, problem };
        let given = match &written.client_secret_file {
            None => None,
            Some(file) => {
                let bytes = secret(file).map_err(|problem| wrong("client_secret_file", problem))?;
                Some(first_line(&bytes).map_err(|problem| wrong("client_secret_file", problem))?)
            }
        };
        check(&written).map_err(|(key, problem)| wrong(key, problem))?;
        let scopes = written.scopes.into_iter().map(|scope| {
            let WrittenScope { group, trunks, numbers } = scope;
            let scope = Scope::parse(&trunks, &numbers).map_err(|error| wrong("scope", error.to_string()))?;
            Ok(ScopeOfGroup { group, scope })
        });
        Ok(Self {
            name: written.name,
            issuer: written.issuer,
            client_id: written.client_id,
            secret: given,
            address: written.address.trim_end_matches('/').to_owned(),
            person: written.person,
            groups: written.groups,
            roles: written.roles,
            scopes: scopes.collect::<Result<_, Error>>()?,
            add: written.add,
            local_logins: match written.local_logins {
                WrittenLogins::Everybody => LocalLogins::Everybody,
                WrittenLogins::Administrators => LocalLogins::Administrators,
            },
            request: written.request,
            acr: written.acr,
            amr: written.amr,
            ca: written.ca,
            patience: PATIENCE,
        })
    }
}

/// What the types do not say already.
fn check(written: &Written) -> Result<(), (&'static str, String)> {
    for (key, value) in [("name", &written.name), ("client_id", &written.client_id)] {
        if value.trim().is_empty() || value.chars().any(char::is_control) {
            return Err((key, "it is empty, or has control characters".into()));
        }
    }
    address::check(&written.issuer).map_err(|problem| ("issuer", problem))?;
    if written.issuer.contains('?') {
        return Err(("issuer", "it has a `?`, which an issuer has not".into()));
    }
    address::check(&written.address).map_err(|problem| ("address", problem))?;
    if address::origin(&written.address) != written.address.trim_end_matches('/') {
        return Err(("address", "it has a path: write scheme, name and port alone".into()));
    }
    let has_groups = written.groups.is_some();
    if (!written.roles.is_empty() || !written.scopes.is_empty()) && !has_groups {
        let problem = "it is missing, and `[roles]` and `[[scope]]` are about groups: name the claim";
        return Err(("groups", problem.into()));
    }
    if written.add && written.roles.is_empty() {
        return Err(("add", "nobody knows the role of those who are added: write `[roles]`".into()));
    }
    Ok(())
}

fn first_line(bytes: &[u8]) -> Result<Zeroizing<String>, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "the file is not UTF-8".to_owned())?;
    match text.lines().next().map(str::trim) {
        None | Some("") => Err("the first line of the file is empty: write the secret there".into()),
        Some(line) => Ok(Zeroizing::new(line.to_owned())),
    }
}

fn usual_person() -> String {
    "preferred_username".to_owned()
}

fn usual_request() -> Vec<String> {
    vec!["profile".to_owned()]
}

/// Longest time of a request to the provider: somebody waits for it.
const PATIENCE: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST: &str = r#"
        name = "Example"
        issuer = "https://id.example.org/realms/voice"
        client_id = "ringtap"
        address = "https://tap.example.org:8443/"
    "#;

    fn read(text: &str) -> Result<Settings, String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("oidc.toml");
        std::fs::write(&path, text).unwrap();
        let secret = |file: &Path| match file.to_str() {
            Some("good") => Ok(Zeroizing::new(b"s3cret \nmore".to_vec())),
            Some("empty") => Ok(Zeroizing::new(b"\n".to_vec())),
            _ => Err("others may read it".to_owned()),
        };
        Settings::read(&path, secret).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_left_out_is_safe() {
        let settings = read(LEAST).unwrap();
        assert_eq!(settings.address, "https://tap.example.org:8443");
        assert_eq!((&*settings.person, settings.add), ("preferred_username", false));
        assert_eq!(settings.local_logins, LocalLogins::Everybody);
        assert!(settings.secret.is_none() && settings.roles.is_empty() && settings.scopes.is_empty());
    }

    #[test]
    fn roles_and_scopes_are_those_of_groups() {
        let text = format!(
            "{LEAST}\nclient_secret_file = \"good\"\ngroups = \"groups\"\nadd = true\n\
             local_logins = \"administrators\"\n[roles]\nengineer = [\"voice-ops\"]\n\
             [[scope]]\ngroup = \"tenant-7\"\ntrunks = [\"sip-tenant7*\"]\n"
        );
        let settings = read(&text).unwrap();
        assert_eq!(settings.roles[&Role::Engineer], ["voice-ops"]);
        assert_eq!((&*settings.scopes[0].group, settings.scopes[0].scope.limits().len()), ("tenant-7", 1));
        assert_eq!(settings.secret.as_deref().map(String::as_str), Some("s3cret"));
        assert_eq!(settings.local_logins, LocalLogins::Administrators);
        assert!(!format!("{settings:?}").contains("s3cret"));
    }

    #[test]
    fn what_is_wrong_is_named_with_the_key() {
        let with = |old: &str, new: &str| read(&LEAST.replace(old, new)).unwrap_err();
        let more = |line: &str| read(&format!("{LEAST}\n{line}")).unwrap_err();
        for (error, key) in [
            (with("https://id.example.org", "http://id.example.org"), "`issuer`"),
            (with("voice\"", "voice?a=b\""), "`issuer`"),
            (with(":8443/", ":8443/console"), "`address`"),
            (with("\"Example\"", "\"\""), "`name`"),
            (more("add = true"), "`add`"),
            (more("[roles]\nengineer = [\"a\"]"), "`groups`"),
            (more("client_secret_file = \"other\""), "`client_secret_file`"),
            (more("client_secret_file = \"empty\""), "`client_secret_file`"),
            (more("groups = \"g\"\n[[scope]]\ngroup = \"a\"\nnumbers = [\"\"]"), "`scope`"),
            (more("client_secret = \"s3cret\""), "line"),
            (more("[roles]\nking = [\"a\"]"), "king"),
        ] {
            assert!(error.contains(key) && error.contains("oidc.toml"), "{key}: {error}");
        }
    }
}
