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
use serde_json::{Value, json};

use super::{Export, Outcome};
use crate::exit::{Exit, Misuse};
use crate::interrupt;
use crate::screen::Screen;
use crate::search::search;

impl Export {
    /// Every call that the filters find.
    pub(super) fn search(
        &self,
        store: &ringtap_store::Reader,
        spool: &mut Reader,
        mut mask: Option<&mut Mask>,
        screen: &mut Screen,
    ) -> anyhow::Result<Exit> {
        let Some(out) = &self.out else { bail!(Misuse("a search needs `--out`".to_owned())) };
        let found = search(store, &self.filter, self.limit)?;
        if found.calls.is_empty() {
            screen.remark("no call was found: `ringtap calls` takes the same filters");
            return Ok(Exit::Done);
        }
        std::fs::create_dir_all(out).with_context(|| format!("cannot make {}", out.display()))?;
        let path = out.join(INDEX);
        if path.exists() && !self.force {
            bail!(Misuse(format!(
                "`{}` is there already: name another directory, or add `--force`",
                path.display()
            )));
        }
        let mut index = Target::create(&path)?;
        let bar = progress(screen, found.calls.len() as u64);
        let (mut whole, mut lacking, mut failed) = (0, 0, 0);
        for call in &found.calls {
            if interrupt::asked() {
                break;
            }
            let start = call.start().unwrap_or_default();
            let (mut quiet, told) = quiet(screen);
            let outcome = self.export(call, store, spool, mask.as_deref_mut(), &mut quiet);
            let line = match outcome {
                Ok(outcome) => {
                    *(if outcome.exit == Exit::Done { &mut whole } else { &mut lacking }) += 1;
                    outcome.line(out, start, &told.lines())
                }
                // Nothing more can be written there.
                Err(error) if is_full(&error) => {
                    // What is told of the calls before it may still find room.
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
            "{}: {} written, {whole} of them whole; {failed} not: {INDEX} tells each",
            out.display(),
            counted(whole + lacking, "call")
        ));
        if (done as usize) < found.calls.len() {
            screen
                .remark(format!("interrupted after {done} of {}", counted(found.calls.len() as u64, "call")));
            return Ok(Exit::Interrupted);
        }
        if found.cut {
            screen.remark("there are more calls than `--limit`");
        }
        Ok(if lacking + failed > 0 { Exit::Damaged } else { Exit::Done })
    }
}

impl Outcome {
    /// Its line of the index.
    fn line(&self, out: &Path, start: Nanos, told: &[String]) -> Value {
        let name = |path: &PathBuf| path.strip_prefix(out).unwrap_or(path).display().to_string();
        json!({
            "id": self.id.to_string(),
            "call_id": self.call_id,
            "start_us": start.micros(),
            "files": self.paths.iter().filter(|path| path.is_file()).map(name).collect::<Vec<_>>(),
            "packets": self.packets,
            "complete": self.exit == Exit::Done,
            "kept": self.kept,
            "remarks": told,
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

/// How far the search has come, where people look on.
fn progress(screen: &Screen, calls: u64) -> ProgressBar {
    if !screen.watched {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(Some(calls), ProgressDrawTarget::stderr_with_hz(5));
    let layout = "exporting {bar:30} {pos} of {len} calls, {eta} left";
    bar.set_style(ProgressStyle::with_template(layout).unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}

/// Remarks about one call of many, for the index.
#[derive(Clone, Default)]
struct Told(Rc<RefCell<Vec<u8>>>);

impl Told {
    fn lines(&self) -> Vec<String> {
        let told = String::from_utf8_lossy(&self.0.borrow()).into_owned();
        told.lines().map(|line| line.strip_prefix("ringtap: ").unwrap_or(line).to_owned()).collect()
    }
}

impl Write for Told {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(data);
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A screen that nobody sees, and what is said on it.
fn quiet(screen: &Screen) -> (Screen, Told) {
    let told = Told::default();
    let quiet = Screen {
        out: Box::new(io::sink()),
        err: Box::new(told.clone()),
        width: screen.width,
        colour: false,
        watched: false,
        terminal: false,
    };
    (quiet, told)
}

const INDEX: &str = "index.jsonl";
