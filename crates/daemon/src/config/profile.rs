//! Profiles: other defaults, for machines with less memory.

use toml::Spanned;
use toml::de::DeTable;

use super::error::ConfigError;
pub use super::values::Profile;

impl Profile {
    /// The names of all profiles.
    pub const NAMES: [&str; 2] = ["default", "small"];

    /// The profile of that name.
    pub fn of_name(name: &str) -> Option<Self> {
        match name {
            "default" => Some(Self::Default),
            "small" => Some(Self::Small),
            _ => None,
        }
    }

    /// The keys that it sets, as a file has them.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Default => "",
            Self::Small => SMALL,
        }
    }

    /// The same, parsed.
    pub(super) fn table(self) -> Result<Spanned<DeTable<'static>>, ConfigError> {
        let wrong = |error: toml::de::Error| ConfigError::new(None, None, error.message().to_owned());
        DeTable::parse(self.text()).map_err(wrong)
    }
}

/// All that these bound takes less than 64 MiB with the program itself: see docs/manual/memory.md.
const SMALL: &str = r#"
[capture]
ring = "4MiB"

[engine]
max_calls = 500
max_streams = 4000
max_registrations = 2000
max_messages = 500
max_fragmented = 256
max_connections = 500
memory = "12MiB"

[conversations]
remembered = 1024

[store]
queue = 1024
cache = "2MiB"

[spool]
memory = "8MiB"
undecided = "4MiB"
"#;

#[cfg(test)]
mod tests {
    use super::super::Config;
    use super::*;

    const SHORT: &str = "[capture]\ninterfaces = [\"eth0\"]\n";

    fn changed(config: &Config) -> Vec<String> {
        let keys = config.changed(&Config::parse(SHORT).unwrap()).into_iter();
        keys.map(|key| format!("{} {}", key.section, key.name)).collect()
    }

    /// Every key of the profile has an effect, by the key and by the option; the option goes before the key.
    #[test]
    fn a_profile_sets_other_defaults() {
        let by_key = format!("{SHORT}[process]\nprofile = \"small\"\n");
        let small = Config::parse(&by_key).unwrap();
        assert_eq!(Config::parse_with(SHORT, Some(Profile::Small)).unwrap(), small);
        let names = Profile::Small.text().lines().filter(|line| line.contains('=')).count();
        assert_eq!(changed(&small).len(), names + 1, "{:?}", changed(&small));
        let back = Config::parse_with(&by_key, Some(Profile::Default)).unwrap();
        assert_eq!(changed(&back), [""; 0]);
        assert!(Profile::NAMES.iter().all(|name| Profile::of_name(name).is_some()));
    }

    #[test]
    fn keys_of_the_file_go_before_those_of_the_profile() {
        let text =
            format!("{SHORT}ring = \"16MiB\"\n[process]\nprofile = \"small\"\n[engine]\nmax_calls = 60000\n");
        let config = Config::parse(&text).unwrap();
        let changed = changed(&config);
        assert!(!changed.contains(&"engine max_calls".to_owned()), "{changed:?}");
        assert!(changed.contains(&"engine max_streams".to_owned()), "{changed:?}");
        assert_eq!(config.capture.ring.to_string(), "16MiB");
    }

    #[test]
    fn a_profile_that_is_not_known_names_those_that_are() {
        let text = format!("{SHORT}[process]\nprofile = \"tiny\"\n");
        let wrong = Config::parse(&text).unwrap_err().of(std::path::Path::new("x.toml")).to_string();
        assert_eq!(wrong, "x.toml:4: [process] profile: \"tiny\" is not \"default\" or \"small\"");
    }
}
