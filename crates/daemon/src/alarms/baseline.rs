//! Figures of the same hour a week ago, from the rollups of the database.

use std::path::Path;

use ringtap_kpi::{Cell, Dimension, Key, Rollup, Settings, Table};
use ringtap_model::Nanos;
use ringtap_store::Reader;

use crate::kpis::KpiRollups;

/// The figures of each group in a span of whole minutes.
///
/// # Errors
///
/// The records of that time cannot be read.
pub fn baseline(
    reader: &Reader,
    (from, to): (Nanos, Nanos),
    settings: Settings,
) -> Result<Vec<(Key, Cell)>, ringtap_store::Error> {
    let mut table = Table::new(Dimension::ALL.to_vec(), None, false);
    reader.rollups((from, to), &KpiRollups(settings), |minute, rollup| {
        // What cannot be read is a minute without figures: the rule then has fewer behind it.
        let rollup = Rollup::from_bytes(rollup, &Dimension::ALL);
        rollup.iter().filter(|rollup| !rollup.is_empty()).for_each(|rollup| table.add(minute, rollup));
        Ok(())
    })?;
    Ok(table.rows().into_iter().map(|row| (row.key, row.cell)).collect())
}

/// The same of the records in a directory; nothing where there are none yet.
pub(super) fn of_directory(
    records: &Path,
    span: (Nanos, Nanos),
    settings: Settings,
) -> Result<Vec<(Key, Cell)>, ringtap_store::Error> {
    match Reader::open(records) {
        Ok(reader) => baseline(&reader, span, settings),
        Err(ringtap_store::Error::NoDays { .. }) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}
