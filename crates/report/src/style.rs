//! Colours: few, and none that carries a meaning alone.

use ringtap_model::CallState;

/// How a text stands out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// As the terminal shows any text.
    #[default]
    Plain,
    /// Headings.
    Bold,
    /// What matters less.
    Dim,
    /// Green.
    Good,
    /// Yellow.
    Fair,
    /// Red.
    Bad,
}

impl Style {
    /// `text` in this style, or as it is where there is no colour (ECMA-48 section 8.3.117, SGR).
    pub fn paint(self, text: &str, colour: bool) -> String {
        let code = match self {
            _ if !colour || text.is_empty() => return text.to_string(),
            Self::Plain => return text.to_string(),
            Self::Bold => "1",
            Self::Dim => "2",
            Self::Good => "32",
            Self::Fair => "33",
            Self::Bad => "31",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }

    /// A MOS: G.107 Annex B calls 4.03 and above satisfied, below 3.6 many, below 3.1 nearly all users
    /// dissatisfied.
    pub fn of_mos(mos: Option<f64>) -> Self {
        match mos {
            None => Self::Dim,
            Some(mos) if mos >= 4.03 => Self::Good,
            Some(mos) if mos >= 3.6 => Self::Plain,
            Some(mos) if mos >= 3.1 => Self::Fair,
            Some(_) => Self::Bad,
        }
    }

    /// Where a call ended. One that rang out or was cancelled is no fault.
    pub fn of_state(state: CallState) -> Self {
        match state {
            CallState::Completed | CallState::Active => Self::Good,
            CallState::Failed | CallState::Timeout | CallState::Interrupted => Self::Bad,
            CallState::Redirected | CallState::Cancelled | CallState::Ringing | CallState::Trying => {
                Self::Plain
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_colour_leaves_no_trace() {
        assert_eq!(Style::Bad.paint("x", false), "x");
        assert_eq!(Style::Bad.paint("x", true), "\x1b[31mx\x1b[0m");
        assert_eq!(Style::Plain.paint("x", true), "x");
        assert_eq!(Style::of_mos(Some(2.0)), Style::Bad);
        assert_eq!(Style::of_mos(Some(4.41)), Style::Good);
    }
}
