//! Every call that the filters find, with an index of what was written of each.

use std::cell::RefCell;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::{Context, bail};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use ringtap_anonymise::Mask;
use ringtap_model::Nanos;
use ringtap_report::file::Target;
use ringtap_report::json as lines;
use ringtap_report::text::counted;
use ringtap_spool::Reader;
use ringtap_store::Query;
use serde_json::{Value, json};

use super::{Export, Outcome};
use crate::exit::{Exit, Misuse};
use crate::interrupt;
use crate::screen::Screen;

impl Export {
    /// Exports every call that matches the filters.
    pub(super) fn search(
        &self,
        store: &ringtap_store::Reader,
        spool: &mut Reader,
        mut mask: Option<&mut Mask>,
        screen: &mut Screen,
    ) -> anyhow::Result<Exit> {
        let Some(out) = &self.out else {
            bail!(Misuse("add `--out` for the files of a search, or name a call".to_owned()))
        };
        let limit = if self.limit == 0 { usize::MAX } else { self.limit };
        let found = store.calls(&Query { filter: self.filter.filter(), limit, newest: false })?;
        if found.records.is_empty() {
            screen.remark("no call matches the filters: try them with `ringtap calls`");
            return Ok(Exit::Done);
        }
        std::fs::create_dir_all(out).with_context(|| format!("cannot create {}", out.display()))?;
        let path = out.join(INDEX);
        if path.exists() && !self.force {
            bail!(Misuse(format!(
                "`{}` already exists: name another directory, or add `--force`",
                path.display()
            )));
        }
        let mut index = Target::create(&path)?;
        let bar = progress(screen, found.records.len() as u64);
        let (mut whole, mut lacking, mut failed) = (0, 0, 0);
        for call in &found.records {
            if interrupt::asked() {
                break;
            }
            let start = call.start().unwrap_or_default();
            let (mut quiet, remarks) = quiet(screen);
            let outcome = self.export(call, store, spool, mask.as_deref_mut(), &mut quiet);
            let line = match outcome {
                Ok(outcome) => {
                    *(if outcome.exit == Exit::Done { &mut whole } else { &mut lacking }) += 1;
                    outcome.line(out, start, &remarks.lines())
                }
                // No further file can be written.
                Err(error) if is_full(&error) => {
                    // The index of the calls so far may still fit.
                    let _ = index.keep();
                    return Err(error);
                }
                Err(error) => {
                    failed += 1;
                    let id = mask.is_none().then(|| call.id.to_string());
                    let error = format!("{error:#}");
                    json!({ "id": id, "start_us": start.micros(), "error": error, "files": [] })
                }
            };
            lines::line(&mut index, &line).with_context(|| format!("cannot write {}", path.display()))?;
            bar.inc(1);
        }
        bar.finish_and_clear();
        index.keep()?;
        let done = whole + lacking + failed;
        screen.remark(format!(
            "{}: {} written, {whole} of them complete; {failed} failed: see {INDEX}",
            out.display(),
            counted(whole + lacking, "call")
        ));
        if (done as usize) < found.records.len() {
            screen.remark(format!(
                "interrupted after {done} of {}",
                counted(found.records.len() as u64, "call")
            ));
            return Ok(Exit::Interrupted);
        }
        if found.cut {
            screen.remark("more calls match than `--limit` allows: raise it to export them all");
        }
        Ok(if lacking + failed > 0 { Exit::Damaged } else { Exit::Done })
    }
}

impl Outcome {
    /// Its line of the index.
    fn line(&self, out: &Path, start: Nanos, remarks: &[String]) -> Value {
        let name = |path: &PathBuf| path.strip_prefix(out).unwrap_or(path).display().to_string();
        json!({
            "id": self.id.to_string(),
            "call_id": self.call_id,
            "start_us": start.micros(),
            "files": self.paths.iter().filter(|path| path.is_file()).map(name).collect::<Vec<_>>(),
            "packets": self.packets,
            "complete": self.exit == Exit::Done,
            "kept": self.kept,
            "remarks": remarks,
            "error": null,
        })
    }
}

fn is_full(error: &anyhow::Error) -> bool {
    let kinds = [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded, io::ErrorKind::ReadOnlyFilesystem];
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|error| kinds.contains(&error.kind()))
}

/// A progress bar, if standard error is a terminal.
fn progress(screen: &Screen, calls: u64) -> ProgressBar {
    if !screen.watched {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(Some(calls), ProgressDrawTarget::stderr_with_hz(5));
    let layout = "exporting {bar:30} {pos} of {len} calls, {eta} left";
    bar.set_style(ProgressStyle::with_template(layout).unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}

/// Collects the remarks about one call of a search, for the index.
#[derive(Clone, Default)]
struct RemarkBuffer(Rc<RefCell<Vec<u8>>>);

impl RemarkBuffer {
    fn lines(&self) -> Vec<String> {
        let remarks = String::from_utf8_lossy(&self.0.borrow()).into_owned();
        remarks.lines().map(|line| line.strip_prefix("ringtap: ").unwrap_or(line).to_owned()).collect()
    }
}

impl Write for RemarkBuffer {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(data);
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A screen that prints nothing, and the buffer of its remarks.
fn quiet(screen: &Screen) -> (Screen, RemarkBuffer) {
    let remarks = RemarkBuffer::default();
    let quiet = Screen::quiet(Box::new(remarks.clone()), screen.width);
    (quiet, remarks)
}

const INDEX: &str = "index.jsonl";
