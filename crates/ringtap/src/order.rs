//! Which calls a table shows, and in which order.

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use ringtap_report::calls::{Order, Sort};

use crate::exit::Misuse;
use crate::page::Shown;

/// The options of commands that print a table of calls.
#[derive(Args, Clone, Copy, Debug, Default)]
#[command(next_help_heading = "Order of the table of calls")]
pub(crate) struct OrderArgs {
    /// Sort the table: by time, or with the worst first
    #[arg(long, value_name = "FIELD", value_parser = sorts())]
    sort: Option<Sort>,
    /// Show the first N calls of the table alone
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    top: Option<u64>,
    /// Say below each call of the table what happened to it, in words
    #[arg(long)]
    sentences: bool,
}

fn sorts() -> impl TypedValueParser<Value = Sort> {
    let value = |sort: &Sort| PossibleValue::new(sort.name()).help(sort.about());
    PossibleValuesParser::new(Sort::ALL.iter().map(value))
        .map(|name| Sort::ALL.into_iter().find(|sort| sort.name() == name).unwrap_or_default())
}

impl OrderArgs {
    /// What a table shows; other formats have none of it.
    pub(crate) fn of(self, is_table: bool) -> Result<Shown, Misuse> {
        if !is_table && (self.sort.is_some() || self.top.is_some() || self.sentences) {
            return Err(Misuse(
                "`--sort`, `--top` and `--sentences` are for the table alone: leave out `--format`".into(),
            ));
        }
        let top = self.top.map(|top| usize::try_from(top).unwrap_or(usize::MAX));
        let order = Order { sort: self.sort.unwrap_or_default(), top };
        Ok(Shown { order, sentences: self.sentences })
    }
}
