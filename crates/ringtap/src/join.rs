//! How the calls of captures are joined.

use clap::Args;
use ringtap_conversation::{Joiner, NumberPlan, Settings};

/// How the legs of a conversation are found.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct JoinArgs {
    /// Country code that national numbers lack, such as 49: legs of one conversation are joined by numbers
    /// that are written differently [default: compare last digits]
    #[arg(long, value_name = "CODE", default_value = "", hide_default_value = true, value_parser = digits)]
    country: String,
}

impl JoinArgs {
    /// A joiner that remembers nothing yet.
    pub(crate) fn joiner(&self) -> Joiner {
        let plan = NumberPlan { country: self.country.clone(), ..NumberPlan::default() };
        Joiner::new(Settings { plan, ..Settings::default() })
    }
}

fn digits(text: &str) -> Result<String, String> {
    let is_code = text.len() <= 3 && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_code {
        Ok(text.to_owned())
    } else {
        Err("a country code has up to three digits, such as 49".into())
    }
}
