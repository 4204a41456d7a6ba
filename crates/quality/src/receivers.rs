//! Which receivers do not conceal loss.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use ringtap_model::Network;

/// Whether receivers conceal loss where the codec leaves it to them: nearly all do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receivers {
    /// Whether those do that are not listed.
    pub conceal: bool,
    /// Those that do not.
    pub exceptions: Vec<Receiver>,
}

impl Default for Receivers {
    fn default() -> Self {
        Self { conceal: true, exceptions: Vec::new() }
    }
}

impl Receivers {
    /// Whether the receiver at `address` conceals loss, who names himself `agent`.
    pub fn conceal(&self, address: IpAddr, agent: Option<&str>) -> bool {
        self.conceal && !self.exceptions.iter().any(|receiver| receiver.is(address, agent))
    }
}

/// Receivers of media: an address, a network, or a User-Agent. Written `192.0.2.0/24`, `ua:Foo/1.2` or
/// `ua:Foo*`; letter case does not matter in a User-Agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Receiver {
    /// Those at these addresses.
    Network(Network),
    /// Those of this User-Agent.
    Agent {
        /// The name, without its `*`.
        name: String,
        /// The name is the beginning of it.
        is_prefix: bool,
    },
}

impl Receiver {
    fn is(&self, address: IpAddr, agent: Option<&str>) -> bool {
        match self {
            Self::Network(network) => network.holds(address),
            Self::Agent { name, is_prefix } => agent.is_some_and(|agent| {
                let beginning = agent.as_bytes().get(..name.len());
                let begins =
                    beginning.is_some_and(|beginning| beginning.eq_ignore_ascii_case(name.as_bytes()));
                begins && (*is_prefix || agent.len() == name.len())
            }),
        }
    }
}

impl fmt::Display for Receiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Network(network) => network.fmt(f),
            Self::Agent { name, is_prefix } => write!(f, "ua:{name}{}", if *is_prefix { "*" } else { "" }),
        }
    }
}

/// The text names no receivers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoReceiver;

impl fmt::Display for NoReceiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an address, a network like 192.0.2.0/24, or a User-Agent like ua:Foo*")
    }
}

impl FromStr for Receiver {
    type Err = NoReceiver;

    fn from_str(text: &str) -> Result<Self, NoReceiver> {
        let Some(agent) = text.strip_prefix("ua:") else {
            return text.parse().map(Self::Network).map_err(|_| NoReceiver);
        };
        let (name, is_prefix) = agent.strip_suffix('*').map_or((agent, false), |name| (name, true));
        let is_sound = !name.contains('*') && !name.is_empty();
        is_sound.then(|| Self::Agent { name: name.to_owned(), is_prefix }).ok_or(NoReceiver)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receiver_is_known_by_its_address_or_its_user_agent() {
        let conceal = |listed: &[&str], address: &str, agent| {
            let exceptions = listed.iter().map(|text| text.parse().unwrap()).collect();
            Receivers { exceptions, ..Receivers::default() }.conceal(address.parse().unwrap(), agent)
        };
        let listed = ["192.0.2.0/24", "2001:db8::7", "ua:Foo/1*", "ua:Bar"];
        assert!(!conceal(&listed, "192.0.2.9", None));
        assert!(!conceal(&listed, "2001:db8::7", Some("other")));
        assert!(conceal(&listed, "192.0.3.9", None));
        assert!(!conceal(&listed, "192.0.3.9", Some("foo/1.7 (x)")));
        assert!(conceal(&listed, "192.0.3.9", Some("Foo/2")));
        assert!(!conceal(&listed, "192.0.3.9", Some("bar")));
        assert!(conceal(&listed, "192.0.3.9", Some("bar 2")));
        assert!(conceal(&listed, "192.0.3.9", Some("\u{e4}")));
        assert!(conceal(&[], "192.0.2.9", Some("Foo")));
        let none = Receivers { conceal: false, exceptions: Vec::new() };
        assert!(!none.conceal("192.0.2.9".parse().unwrap(), None));
    }

    #[test]
    fn what_is_written_is_read_again() {
        for text in ["192.0.2.0/24", "2001:db8::7/128", "ua:Foo/1*", "ua:Bar"] {
            assert_eq!(text.parse::<Receiver>().unwrap().to_string(), text);
        }
        for wrong in ["", "ua:", "ua:*", "ua:a*b", "Foo", "192.0.2.0/33"] {
            assert_eq!(wrong.parse::<Receiver>(), Err(NoReceiver), "{wrong}");
        }
    }
}
