//! What User-Agent and Server say of a device: vendor, product, version.

/// The parts of a User-Agent, all of them pieces of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Agent<'a> {
    /// All of it, without spaces around.
    pub(crate) whole: &'a str,
    /// Its first word: `Yealink`. None where that is all there is.
    pub(crate) vendor: Option<&'a str>,
    /// What stands before the version, with the mark between them: `Yealink SIP-T46S `.
    pub(crate) product: Option<&'a str>,
    /// The same with the version, where more stands behind it, as a serial number does.
    pub(crate) release: Option<&'a str>,
    /// The version, where nothing stands behind it: `66.86.0.15`.
    pub(crate) version: Option<&'a str>,
}

impl<'a> Agent<'a> {
    /// None where nothing is said.
    pub(crate) fn of(text: &'a str) -> Option<Self> {
        let whole = text.trim();
        if whole.is_empty() {
            return None;
        }
        let version = version(whole);
        let first = whole.find(MARKS).unwrap_or(whole.len());
        // A version is no vendor, nor is a name of one letter.
        let is_vendor = first > 1 && first < whole.len() && version.is_none_or(|(from, _)| first <= from);
        let is_last = |to: usize| to == whole.len();
        Some(Self {
            whole,
            vendor: is_vendor.then(|| &whole[..first]),
            product: version.filter(|(from, _)| *from > 0).map(|(from, _)| &whole[..from]),
            release: version.filter(|(_, to)| !is_last(*to)).map(|(_, to)| &whole[..to]),
            version: version.filter(|(_, to)| is_last(*to)).map(|(from, to)| &whole[from..to]),
        })
    }
}

/// Where the first version begins and ends: digits with a dot between them, at the beginning of a word.
fn version(text: &str) -> Option<(usize, usize)> {
    let mut from = 0;
    for word in text.split_inclusive(MARKS) {
        let bare = word.trim_end_matches(MARKS);
        let digits = bare.strip_prefix(['v', 'V']).unwrap_or(bare);
        let is_version = digits.starts_with(|c: char| c.is_ascii_digit())
            && digits.split_once('.').is_some_and(|(_, rest)| rest.starts_with(|c: char| c.is_ascii_digit()));
        if is_version {
            return Some((from, from + bare.len()));
        }
        from += word.len();
    }
    None
}

/// What stands between the words of a User-Agent.
const MARKS: [char; 6] = [' ', '/', '-', '_', '(', ')'];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_are_taken_apart() {
        // Whole, vendor, product, release, version.
        let agents = [
            ("Yealink SIP-T46S 66.86.0.15", "Yealink", "Yealink SIP-T46S ", "", "66.86.0.15"),
            ("snomD785/10.1.54.13 0004138B", "snomD785", "snomD785/", "snomD785/10.1.54.13", ""),
            ("PolycomVVX-VVX_410-UA/5.9.3.2857", "PolycomVVX", "PolycomVVX-VVX_410-UA/", "", "5.9.3.2857"),
            ("kamailio (5.2.1 (x86_64/linux))", "kamailio", "kamailio (", "kamailio (5.2.1", ""),
            ("Cisco-SIPGateway/IOS-15.4.3.M2", "Cisco", "Cisco-SIPGateway/IOS-", "", "15.4.3.M2"),
            ("Asterisk PBX", "Asterisk", "", "", ""),
            ("Fritz!OS", "", "", "", ""),
            ("Z 5.4.12 v2.10.13.2", "", "Z ", "Z 5.4.12", ""),
            ("5.4.12", "", "", "", "5.4.12"),
            ("  Téléphone/1.0 ", "Téléphone", "Téléphone/", "", "1.0"),
        ];
        for (text, vendor, product, release, version) in agents {
            let known = |text: &'static str| (!text.is_empty()).then_some(text);
            let expected = Agent {
                whole: text.trim(),
                vendor: known(vendor),
                product: known(product),
                release: known(release),
                version: known(version),
            };
            assert_eq!(Agent::of(text), Some(expected));
        }
        assert_eq!(Agent::of("  "), None);
    }
}
