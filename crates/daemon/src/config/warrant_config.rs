//! What the console reads of the configuration.

use std::path::{Path, PathBuf};

use super::{Config, ConfigError};

/// What the configuration says of the register, for the console.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WarrantConfig {
    /// The directory of the register.
    pub register: PathBuf,
    /// The file with its master key.
    pub key: PathBuf,
    /// The command that prints the master key, in place of the file.
    pub key_command: Option<String>,
    /// Where `ringtap run` leaves the figures of product, if it intercepts.
    pub product: Option<PathBuf>,
}

impl WarrantConfig {
    /// Reads it from a file; none if that names no register for the console.
    ///
    /// # Errors
    ///
    /// The mistakes in the file.
    pub fn load(path: &Path) -> Result<Option<Self>, ConfigError> {
        let config = Config::load(path, None)?;
        let pages = &config.warrants;
        let command = Some(pages.key_command.clone()).filter(|command| !command.is_empty());
        Ok(pages.register().map(|register| Self {
            register: register.to_owned(),
            key: pages.key.clone(),
            key_command: command,
            product: config.intercept.product().map(Path::to_owned),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "[capture]\ninterfaces = [\"eth0\"]\n[warrants]\n";

    #[test]
    fn a_register_has_a_key_apart_from_it() {
        let config = Config::parse(&format!("{HEAD}register = \"/r\"\n")).unwrap();
        assert_eq!(config.warrants.key_file(), Some(Path::new("/etc/ringtap/warrant.key")));
        assert!(config.secret_files().contains(&PathBuf::from("/etc/ringtap/warrant.key")));
        let config = Config::parse(&format!("{HEAD}register = \"/r\"\nkey_command = \"c\"\n")).unwrap();
        assert_eq!(config.warrants.key_file(), None);
        assert_eq!(Config::parse(HEAD).unwrap().warrants.key_file(), None);
        for (keys, problem) in [
            ("key_command = \"c\"\n", "x.toml: [warrants] register: is empty, but `key_command` is set"),
            ("register = \"/r\"\nkey = \"/r/key\"\n", "x.toml:5: [warrants] key: must lie apart"),
            ("registre = \"/r\"\n", "x.toml:4: [warrants] registre: no such key; did you mean `register`?"),
        ] {
            let error = Config::parse(&format!("{HEAD}{keys}")).unwrap_err().of(Path::new("x.toml"));
            assert!(error.to_string().starts_with(problem), "{error}");
        }
    }
}
