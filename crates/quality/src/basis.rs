//! What a MOS assumes: model, codec and its factors, concealment of loss, encrypted payload.
//!
//! Records have it as text of `name=value` pairs, so that both people and programs can read it:
//!
//! ```
//! use ringtap_quality::{MosBasis, codec};
//!
//! let pcma = codec::lookup("PCMA", None).unwrap();
//! let text = MosBasis { profile: pcma, encrypted: false }.to_string();
//! assert_eq!(text, "model=G.107 codec=PCMA/64 ie=0 bpl=25.1 concealment=receiver factors=published");
//! assert_eq!(text.parse::<MosBasis>().unwrap().profile, pcma);
//! ```

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;

use crate::codec::{self, Basis, CodecProfile, Concealment};

/// What a MOS assumes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MosBasis {
    /// Codec, mode and factors.
    pub profile: &'static CodecProfile,
    /// The payload was announced as encrypted: the packets are rated, what they hold is not known.
    pub encrypted: bool,
}

impl fmt::Display for MosBasis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CodecProfile { name, kbps, ie, bpl, model, concealment, basis, .. } = self.profile;
        let (model, concealment, basis) = (model.short_name(), concealment.name(), basis.name());
        write!(f, "model={model} codec={name}/{kbps} ie={ie} bpl={bpl} ")?;
        write!(f, "concealment={concealment} factors={basis}")?;
        f.write_str(if self.encrypted { " payload=encrypted" } else { "" })
    }
}

/// The text is of no basis that this version knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownBasis;

impl FromStr for MosBasis {
    type Err = UnknownBasis;

    /// Finds the row of the table again. A row whose factors have changed since is not found.
    fn from_str(text: &str) -> Result<Self, UnknownBasis> {
        let rows = codec::all().iter().flat_map(|profile| [profile, profile.without_concealment()]);
        let bases = rows.flat_map(|profile| [false, true].map(|encrypted| Self { profile, encrypted }));
        bases.into_iter().find(|basis| basis.to_string() == text).ok_or(UnknownBasis)
    }
}

impl MosBasis {
    /// The same as [`fmt::Display`] gives, formatted once for all records.
    pub fn text(&self) -> Cow<'static, str> {
        let same = |(profile, _): &&(&CodecProfile, [String; 2])| std::ptr::eq(*profile, self.profile);
        match TEXTS.iter().find(same) {
            Some((_, texts)) => Cow::Borrowed(&texts[usize::from(self.encrypted)]),
            None => Cow::Owned(self.to_string()),
        }
    }

    /// The same in words, one assumption each.
    pub fn words(&self) -> Vec<String> {
        let CodecProfile { name, kbps, ie, bpl, model, concealment, basis, source, .. } = self.profile;
        let factors = match basis {
            Basis::Published => String::new(),
            Basis::Derived | Basis::StandIn => format!("; {source}"),
        };
        let concealed = match concealment {
            Concealment::Codec => "loss is concealed by the codec",
            Concealment::Receiver => "the receiver is taken to conceal loss",
            Concealment::Missing => "loss is taken as not concealed",
        };
        let mut words = vec![
            format!("{}, {name} at {kbps} kbit/s: Ie {ie}, Bpl {bpl}{factors}", model.short_name()),
            concealed.to_owned(),
            "echo is taken as cancelled".to_owned(),
        ];
        if self.encrypted {
            words.push("the payload is encrypted: the codec is the announced one".to_owned());
        }
        words
    }
}

/// Every row of the table with its texts, without and with encryption.
static TEXTS: LazyLock<Vec<(&'static CodecProfile, [String; 2])>> = LazyLock::new(|| {
    let mut rows: Vec<_> = codec::all().iter().collect();
    let unconcealed = codec::all().iter().map(CodecProfile::without_concealment);
    rows.extend(unconcealed.filter(|profile| profile.concealment == Concealment::Missing));
    let texts = |profile| [false, true].map(|encrypted| MosBasis { profile, encrypted }.to_string());
    rows.into_iter().map(|profile| (profile, texts(profile))).collect()
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_is_found_again_by_its_text() {
        for profile in codec::all() {
            for profile in [profile, profile.without_concealment()] {
                for encrypted in [false, true] {
                    let basis = MosBasis { profile, encrypted };
                    assert_eq!(basis.to_string().parse(), Ok(basis));
                    assert_eq!(basis.text(), basis.to_string());
                    assert_eq!(basis.words().len(), 3 + usize::from(encrypted));
                }
            }
        }
        for unknown in ["", "model=G.107", "model=G.107 codec=PCMU/64 ie=0 bpl=9 concealment=receiver"] {
            assert_eq!(unknown.parse::<MosBasis>(), Err(UnknownBasis));
        }
    }

    #[test]
    fn a_stand_in_says_what_it_stands_for() {
        let opus = MosBasis { profile: codec::lookup("opus", None).unwrap(), encrypted: true };
        assert!(opus.to_string().ends_with("factors=stand-in payload=encrypted"), "{opus}");
        let words = opus.words().join("; ");
        assert!(words.contains("EVS at 32 kbit/s") && words.contains("encrypted"), "{words}");
    }
}
