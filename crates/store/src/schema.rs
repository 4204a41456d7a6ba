//! Tables, and how a file of an older version becomes one of this.
//!
//! `user_version` counts the migrations that a file has been through, `application_id` marks it as this
//! program's. A migration is never edited once released: a change of the tables is a further one at the end
//! of the list.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use crate::Error;

/// "RTAP" in `application_id`.
pub(crate) const APPLICATION: i64 = 0x5254_4150;

/// The migrations in order; the version of a file is the number of those it has.
pub(crate) const MIGRATIONS: [&str; 7] =
    [VERSION_1, VERSION_2, VERSION_3, VERSION_4, VERSION_5, VERSION_6, VERSION_7];

/// The version that this program writes.
pub(crate) const VERSION: i64 = MIGRATIONS.len() as i64;

/// Brings an open file to [`VERSION`], creating its tables where it has none.
pub(crate) fn migrate(connection: &mut Connection, path: &Path) -> Result<(), Error> {
    match version(connection, path)? {
        VERSION => return Ok(()),
        found if found > VERSION => {
            return Err(Error::Newer { path: path.to_owned(), found, known: VERSION });
        }
        _ => {}
    }
    let failed = |error| Error::database(path, error);
    // Immediate: of two processes that find an old file, one migrates and the other finds it done.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    let from = usize::try_from(version(&transaction, path)?).unwrap_or(0);
    for migration in MIGRATIONS.iter().skip(from) {
        transaction.execute_batch(migration).map_err(failed)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION).map_err(failed)?;
    transaction.pragma_update(None, "user_version", VERSION).map_err(failed)?;
    transaction.commit().map_err(failed)
}

/// The version of a file; 0 where it has no tables yet. A database of another program is an error.
pub(crate) fn version(connection: &Connection, path: &Path) -> Result<i64, Error> {
    let failed = |error| Error::database(path, error);
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).map_err(failed);
    let (application, version) = (pragma("application_id")?, pragma("user_version")?);
    if application == APPLICATION {
        return Ok(version);
    }
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).map_err(failed)?;
    if tables > 0 || application != 0 || version != 0 {
        return Err(Error::Foreign { path: path.to_owned() });
    }
    Ok(0)
}

/// Scalar fields as columns under their names, the whole record in `json`; times in microseconds since 1970,
/// UTC.
const VERSION_1: &str = r#"
CREATE TABLE calls (
    id TEXT NOT NULL PRIMARY KEY, start_us INTEGER NOT NULL, call_id TEXT NOT NULL,
    protocol TEXT, transport TEXT, src TEXT, dst TEXT,
    from_user TEXT, from_host TEXT, from_display TEXT, to_user TEXT, to_host TEXT,
    ruri_user TEXT, ruri_host TEXT, asserted_identity TEXT,
    state TEXT NOT NULL, final_code INTEGER, final_reason TEXT, cause INTEGER, released_by TEXT,
    invite_us INTEGER, trying_us INTEGER, ringing_us INTEGER, answer_us INTEGER, end_us INTEGER,
    pdd_ms REAL, duration_ms REAL, messages INTEGER, retransmissions INTEGER,
    user_agent_caller TEXT, user_agent_callee TEXT, mos REAL, mos_worst_interval REAL,
    capture_drops INTEGER, recorded TEXT,
    json TEXT NOT NULL
) STRICT;
CREATE INDEX calls_start ON calls (start_us, id);
CREATE INDEX calls_call_id ON calls (call_id);
CREATE INDEX calls_from ON calls (from_user);
CREATE INDEX calls_asserted ON calls (asserted_identity);
CREATE INDEX calls_to ON calls (to_user);
CREATE INDEX calls_ruri ON calls (ruri_user);

CREATE TABLE streams (
    id TEXT NOT NULL PRIMARY KEY, call_id TEXT, call TEXT, direction TEXT, src TEXT, dst TEXT, ssrc INTEGER,
    payload_type INTEGER, codec TEXT, clock_hz INTEGER, ptime_ms REAL,
    first_us INTEGER NOT NULL, last_us INTEGER,
    packets INTEGER, "unique" INTEGER, lost INTEGER, duplicates INTEGER, reordered INTEGER,
    bytes INTEGER, ip_bytes INTEGER, rate_bps REAL,
    jitter_ms_mean REAL, jitter_ms_max REAL, delta_ms_max REAL,
    iat_ms_min REAL, iat_ms_mean REAL, iat_ms_max REAL, iat_ms_sd REAL,
    size_min INTEGER, size_mean REAL, size_max INTEGER, size_sd REAL,
    loss_bursts INTEGER, burst_len_mean REAL, burst_len_max INTEGER, burst_ratio REAL,
    rtt_ms REAL, rtt_source TEXT,
    mos REAL, r_factor REAL, mos_fixed50 REAL, mos_fixed200 REAL, mos_adaptive500 REAL, mos_cole REAL,
    silence_pct REAL, clipped_pct REAL,
    json TEXT NOT NULL
) STRICT;
CREATE INDEX streams_first ON streams (first_us, id);
CREATE INDEX streams_call ON streams (call);

CREATE TABLE registrations (
    id TEXT NOT NULL PRIMARY KEY, aor TEXT NOT NULL, contact TEXT, src TEXT, dst TEXT, user_agent TEXT,
    state TEXT, code INTEGER, first_us INTEGER NOT NULL, last_us INTEGER, expires_us INTEGER,
    requests INTEGER,
    json TEXT NOT NULL
) STRICT;
CREATE INDEX registrations_first ON registrations (first_us, id);
CREATE INDEX registrations_aor ON registrations (aor);

CREATE TABLE messages (
    id TEXT NOT NULL PRIMARY KEY, call_id TEXT, src TEXT, dst TEXT, "from" TEXT, "to" TEXT, content_type TEXT,
    size INTEGER, time_us INTEGER NOT NULL, code INTEGER,
    json TEXT NOT NULL
) STRICT;
CREATE INDEX messages_time ON messages (time_us, id);
CREATE INDEX messages_from ON messages ("from");
CREATE INDEX messages_to ON messages ("to");
"#;

/// Numbers that a call was routed on to can be searched.
const VERSION_2: &str = "
CREATE TABLE diversions (
    number TEXT NOT NULL, call TEXT NOT NULL,
    PRIMARY KEY (number, call)
) STRICT, WITHOUT ROWID;
CREATE INDEX diversions_call ON diversions (call);
INSERT OR IGNORE INTO diversions
    SELECT each.value, calls.id FROM calls, json_each(calls.json, '$.diverted_to') AS each;
";

/// How complete the recording of a call is.
const VERSION_3: &str = "
ALTER TABLE calls ADD COLUMN recorded_packets INTEGER;
ALTER TABLE calls ADD COLUMN recorded_missing INTEGER;
ALTER TABLE calls ADD COLUMN recorded_empty INTEGER;
";

/// What RTCP says of a stream.
const VERSION_4: &str = "
ALTER TABLE streams ADD COLUMN rtcp_reports INTEGER;
ALTER TABLE streams ADD COLUMN rtcp_lost INTEGER;
ALTER TABLE streams ADD COLUMN rtcp_lost_pct_max REAL;
ALTER TABLE streams ADD COLUMN rtcp_jitter_ms_mean REAL;
ALTER TABLE streams ADD COLUMN rtcp_jitter_ms_max REAL;
ALTER TABLE streams ADD COLUMN rtcp_rtt_ms_max REAL;
ALTER TABLE streams ADD COLUMN rtcp_sent_packets INTEGER;
ALTER TABLE streams ADD COLUMN rtcp_sent_bytes INTEGER;
ALTER TABLE streams ADD COLUMN rtcp_bye_us INTEGER;
ALTER TABLE streams ADD COLUMN rtcp_cname TEXT;
";

/// Calls that went on over a restart.
const VERSION_5: &str = "ALTER TABLE calls ADD COLUMN unmonitored_ms REAL;";

/// What a MOS assumes, and conversational quality.
const VERSION_6: &str = "
ALTER TABLE streams ADD COLUMN mos_basis TEXT;
ALTER TABLE streams ADD COLUMN mos_cq REAL;
";

/// Numbers with separators are few: they are found without the others.
const VERSION_7: &str = "
CREATE INDEX calls_from_separated ON calls (from_user) WHERE from_user GLOB '*[-.() /]*';
CREATE INDEX calls_asserted_separated ON calls (asserted_identity)
    WHERE asserted_identity GLOB '*[-.() /]*';
CREATE INDEX calls_to_separated ON calls (to_user) WHERE to_user GLOB '*[-.() /]*';
CREATE INDEX calls_ruri_separated ON calls (ruri_user) WHERE ruri_user GLOB '*[-.() /]*';
CREATE INDEX diversions_separated ON diversions (number) WHERE number GLOB '*[-.() /]*';
";

#[cfg(test)]
mod tests {
    use ringtap_model::{Call, Message, Registration, Stream};

    use super::*;
    use crate::record::column_names;

    fn columns_of(connection: &Connection, table: &str) -> Vec<String> {
        let mut statement = connection.prepare("SELECT name FROM pragma_table_info(?1)").unwrap();
        statement.query_map([table], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
    }

    #[test]
    fn tables_have_their_columns() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, Path::new("memory")).unwrap();
        for (table, mut expected) in [
            ("calls", column_names::<Call>()),
            ("streams", column_names::<Stream>()),
            ("registrations", column_names::<Registration>()),
            ("messages", column_names::<Message>()),
        ] {
            let mut found = columns_of(&connection, table);
            expected.sort();
            found.sort();
            assert_eq!(found, expected, "{table}");
        }
    }

    #[test]
    fn a_second_time_changes_nothing() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, Path::new("memory")).unwrap();
        migrate(&mut connection, Path::new("memory")).unwrap();
        assert_eq!(version(&connection, Path::new("memory")).unwrap(), VERSION);
    }

    /// A file as version 1 left it: the reader migrates it, and finds what only version 2 can search.
    #[test]
    fn version_1_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("2026-11-21.sqlite");
        let old = Connection::open(&path).unwrap();
        old.execute_batch(VERSION_1).unwrap();
        old.pragma_update(None, "application_id", APPLICATION).unwrap();
        old.pragma_update(None, "user_version", 1).unwrap();
        let id = "000102030405060708090a0b0c0d0e0f";
        // As version 1 wrote it, without the fields that came later.
        let json = concat!(
            r#"{"type":"call","id":"000102030405060708090a0b0c0d0e0f","call_id":"x","protocol":"sip","#,
            r#""transport":"udp","src":"192.0.2.1:5060","dst":"192.0.2.2:5060","from_user":null,"#,
            r#""from_host":null,"from_display":null,"to_user":null,"to_host":null,"ruri_user":null,"#,
            r#""ruri_host":null,"asserted_identity":null,"diverted_to":["4711","0815"],"state":"failed","#,
            r#""final_code":404,"final_reason":null,"cause":null,"released_by":null,"invite_us":5,"#,
            r#""trying_us":null,"ringing_us":null,"answer_us":null,"end_us":null,"pdd_ms":null,"#,
            r#""duration_ms":null,"messages":2,"retransmissions":0,"user_agent_caller":null,"#,
            r#""user_agent_callee":null,"streams":[],"mos":null,"mos_worst_interval":null,"dtmf":[],"#,
            r#""capture_drops":0,"recorded":"none"}"#
        );
        let insert =
            "INSERT INTO calls (id, start_us, call_id, state, json) VALUES (?1, 5, 'x', 'failed', ?2)";
        old.execute(insert, [id, json]).unwrap();
        drop(old);

        let reader = crate::Reader::open(dir.path()).unwrap();
        let to = ringtap_model::Condition::To("47*".parse().unwrap());
        let query = ringtap_model::Filter(vec![to]).into();
        let found = reader.calls(&query).unwrap();
        let [call] = &found.records[..] else { panic!("{found:?}") };
        assert_eq!((call.id.to_string().as_str(), call.recorded_packets), (id, None));
        // Nothing but the fields that are not known was added.
        let unknown = concat!(
            r#","recorded_packets":null,"recorded_missing":null,"recorded_empty":null"#,
            r#","unmonitored_ms":null,"notes":[]}"#
        );
        assert_eq!(serde_json::to_string(call).unwrap(), json.replace("}", unknown));
        let now = Connection::open(&path).unwrap();
        assert_eq!(version(&now, &path).unwrap(), VERSION);
        // The writer takes it as well.
        crate::ImportWriter::open(dir.path()).unwrap().close().unwrap();
    }

    #[test]
    fn newer_and_foreign_files() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, Path::new("memory")).unwrap();
        connection.pragma_update(None, "user_version", 99).unwrap();
        let newer = migrate(&mut connection, Path::new("memory"));
        assert!(matches!(newer, Err(Error::Newer { found: 99, known: VERSION, .. })));
        let mut other = Connection::open_in_memory().unwrap();
        other.execute_batch("CREATE TABLE x (y)").unwrap();
        assert!(matches!(migrate(&mut other, Path::new("memory")), Err(Error::Foreign { .. })));
    }
}
