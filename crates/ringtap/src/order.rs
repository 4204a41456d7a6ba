//! Which calls a table shows, and in which order.

use clap::{Args, ValueEnum};
use ringtap_report::calls::{Order, Sort};

use crate::exit::Misuse;
use crate::page::Format;

/// The options of commands that print a table of calls.
#[derive(Args, Clone, Copy, Debug, Default)]
#[command(next_help_heading = "Order of the table of calls")]
pub(crate) struct OrderArgs {
    /// Sort the table: by time, or with the worst first
    #[arg(long, value_name = "FIELD", value_enum)]
    sort: Option<Field>,
    /// Show the first N calls of the table alone
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    top: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Field {
    /// Beginning
    Time,
    /// MOS, lowest first
    Mos,
    /// Lost packets, most first
    Loss,
    /// Jitter, highest first
    Jitter,
    /// Post-dial delay, longest first
    Pdd,
    /// Time from answer to release, longest first
    Length,
}

impl OrderArgs {
    /// The order of a table; other formats have none.
    pub(crate) fn of(self, format: Format) -> Result<Order, Misuse> {
        if format != Format::Table && (self.sort.is_some() || self.top.is_some()) {
            return Err(Misuse("`--sort` and `--top` order the table alone: leave out `--format`".into()));
        }
        let sort = match self.sort.unwrap_or(Field::Time) {
            Field::Time => Sort::Time,
            Field::Mos => Sort::Mos,
            Field::Loss => Sort::Loss,
            Field::Jitter => Sort::Jitter,
            Field::Pdd => Sort::Pdd,
            Field::Length => Sort::Length,
        };
        Ok(Order { sort, top: self.top.map(|top| usize::try_from(top).unwrap_or(usize::MAX)) })
    }
}
