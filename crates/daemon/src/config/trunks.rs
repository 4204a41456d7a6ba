//! Makes the table of trunks of a configuration.

use ringtap_kpi::trunks::{Trunk, TrunkError, Trunks};

use super::Config;
use super::trunk::TrunkGroup;

impl Config {
    /// The trunks.
    pub(crate) fn trunks(&self) -> Result<Trunks, TrunkError> {
        let trunk = |group: &TrunkGroup| Trunk {
            name: group.name.clone(),
            networks: group.addresses.iter().map(|network| network.0).collect(),
        };
        Trunks::new(&self.trunk.iter().map(trunk).collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn parse(trunks: &str) -> Result<Config, String> {
        let parsed = Config::parse(&format!("[capture]\ninterfaces = [\"eth0\"]\n{trunks}"));
        parsed.map_err(|wrong| wrong.of(Path::new("x.toml")).to_string())
    }

    #[test]
    fn trunks_are_read() {
        let config = parse(
            "[[trunk]]\nname = \"a\"\naddresses = [\"198.51.100.0/24\", \"2001:db8::/32\"]\n\
             [[trunk]]\nname = \"b\"\naddresses = [\"198.51.100.7\"]\n",
        );
        let trunks = config.unwrap().trunks().unwrap();
        assert_eq!(trunks.name([198, 51, 100, 7].into()), "b");
        assert_eq!(trunks.name([198, 51, 100, 8].into()), "a");
    }

    #[test]
    fn an_address_in_two_trunks_names_both_lines() {
        let error = parse(
            "[[trunk]]\nname = \"a\"\naddresses = [\"192.0.2.0/24\"]\n\
             [[trunk]]\nname = \"b\"\naddresses = [\"192.0.2.0/24\"]\n",
        );
        let expected = "x.toml:8: [[trunk]] addresses: 192.0.2.0/24 is in two trunks: remove it from one; \
            the other is on line 5";
        assert_eq!(error.unwrap_err(), expected);
    }

    #[test]
    fn mistakes_name_their_line_and_what_would_be_right() {
        for (text, expected) in [
            ("[[trunk]]\nname = \"a\"\n", "x.toml:3: [[trunk]] addresses: is empty"),
            (
                "[[trunk]]\nname = \"192.0.2.1\"\naddresses = [\"192.0.2.1\"]\n",
                "x.toml:4: [[trunk]] name: must",
            ),
            ("[[trunk]]\nnam = \"a\"\n", "x.toml:4: [[trunk]] nam: no such key; did you mean `name`?"),
            ("[[trunks]]\nname = \"a\"\n", "did you mean [[trunk]]?"),
            ("[trunk]\nname = \"a\"\n", "x.toml:3: trunk: is a list: write [[trunk]]"),
            (
                "[[trunk]]\nname = \"a\"\naddresses = [\"192.0.2\"]\n",
                "[[trunk]] addresses: [\"192.0.2\"] is not",
            ),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
