//! Which calls a table shows, and in which order.

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use ringtap_report::calls::{Order, Sort};

use crate::exit::Misuse;
use crate::page::Format;

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
}

fn sorts() -> impl TypedValueParser<Value = Sort> {
    let value = |sort: &Sort| PossibleValue::new(sort.name()).help(sort.about());
    PossibleValuesParser::new(Sort::ALL.iter().map(value))
        .map(|name| Sort::ALL.into_iter().find(|sort| sort.name() == name).unwrap_or_default())
}

impl OrderArgs {
    /// The order of a table; other formats have none.
    pub(crate) fn of(self, format: Format) -> Result<Order, Misuse> {
        if format != Format::Table && (self.sort.is_some() || self.top.is_some()) {
            return Err(Misuse("`--sort` and `--top` order the table alone: leave out `--format`".into()));
        }
        let top = self.top.map(|top| usize::try_from(top).unwrap_or(usize::MAX));
        Ok(Order { sort: self.sort.unwrap_or_default(), top })
    }
}
