//! Names and texts that many records have: once a file, in the table `texts`, and by their number in the
//! columns.

use std::collections::HashMap;

use rusqlite::{CachedStatement, Connection, OptionalExtension};

/// The numbers of the texts of a file that is written.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    known: HashMap<Box<str>, i64>,
}

/// The statements that look up texts and add them.
pub(crate) struct TextStatements<'c> {
    find: CachedStatement<'c>,
    add: CachedStatement<'c>,
}

impl<'c> TextStatements<'c> {
    pub(crate) fn new(connection: &'c Connection) -> rusqlite::Result<Self> {
        Ok(Self {
            find: connection.prepare_cached("SELECT number FROM texts WHERE text = ?1")?,
            add: connection.prepare_cached(
                // A hostile sender of ever new texts does not make the table grow without end.
                "INSERT INTO texts (text) SELECT ?1 WHERE (SELECT max(number) FROM texts) < ?2 \
                 RETURNING number",
            )?,
        })
    }
}

impl Texts {
    /// The number of a text, which is added to the file where that does not have it.
    pub(crate) fn number(&mut self, text: &str, sql: &mut TextStatements<'_>) -> rusqlite::Result<i64> {
        let cut;
        let text = if text.len() > LONGEST {
            let end = (0..=LONGEST).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
            cut = format!("{}{CUT}", &text[..end]);
            &cut
        } else {
            text
        };
        if let Some(number) = self.known.get(text) {
            return Ok(*number);
        }
        let found = sql.find.query_row([text], |row| row.get(0)).optional()?;
        let number = match found {
            Some(number) => number,
            None => sql.add.query_row((text, MOST), |row| row.get(0)).optional()?.unwrap_or(OTHER),
        };
        if number != OTHER {
            self.known.insert(text.into(), number);
        }
        Ok(number)
    }
}

/// Whether that number tells all of the text.
pub(crate) fn is_whole(text: &str, number: i64) -> bool {
    number != OTHER && fits(text)
}

/// Whether a text is stored whole, in a file that has room for it.
pub(crate) fn fits(text: &str) -> bool {
    text.len() <= LONGEST
}

/// A condition on a column that holds numbers of texts: those that satisfy `condition`, and those that are
/// not known whole.
pub(crate) fn condition(column: &str, condition: &str) -> String {
    format!("{column} IN ({})", possible(condition))
}

/// The statement that selects the numbers of texts that satisfy a condition, and of those that are not known
/// whole.
pub(crate) fn possible(condition: &str) -> String {
    format!(
        "SELECT number FROM texts WHERE {condition} OR number = {OTHER} OR octet_length(text) > {LONGEST}"
    )
}

/// The statement that selects the numbers of texts that are known whole and satisfy a condition.
pub(crate) fn certain(condition: &str) -> String {
    format!(
        "SELECT number FROM texts WHERE ({condition}) AND number <> {OTHER} \
         AND octet_length(text) <= {LONGEST}"
    )
}

/// The longest text that is stored whole, in bytes. A cut one is longer.
const LONGEST: usize = 96;
/// At the end of a text that was cut, which makes it longer than any that is stored whole.
const CUT: &str = "……";
/// The number of all texts beyond [`MOST`].
pub(crate) const OTHER: i64 = 0;
/// Texts that a file has numbers for.
const MOST: i64 = 16_384;

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::schema;

    #[test]
    fn a_text_has_one_number() {
        let mut connection = Connection::open_in_memory().unwrap();
        schema::create(&mut connection, Path::new("memory")).unwrap();
        let mut sql = TextStatements::new(&connection).unwrap();
        let mut texts = Texts::default();
        let long = "ä".repeat(100);
        let numbers: Vec<i64> =
            ["a", "b", "a", "", &long, &long].map(|text| texts.number(text, &mut sql).unwrap()).to_vec();
        assert_eq!(numbers, [1, 2, 1, 3, 4, 4]);
        // As the next program finds them.
        assert_eq!(Texts::default().number("b", &mut sql).unwrap(), 2);
        let whole: i64 = connection
            .query_row("SELECT count(*) FROM texts WHERE octet_length(text) <= ?1", [LONGEST as i64], |row| {
                row.get(0)
            })
            .unwrap();
        assert_eq!(whole, 4, "with the entry for those beyond the ceiling");
    }

    #[test]
    fn beyond_the_ceiling_texts_share_a_number() {
        let mut connection = Connection::open_in_memory().unwrap();
        schema::create(&mut connection, Path::new("memory")).unwrap();
        connection.execute("INSERT INTO texts VALUES (?1, 'x')", [MOST]).unwrap();
        let mut sql = TextStatements::new(&connection).unwrap();
        let mut texts = Texts::default();
        assert_eq!(texts.number("new", &mut sql).unwrap(), OTHER);
        assert_eq!(texts.number("x", &mut sql).unwrap(), MOST);
    }
}
