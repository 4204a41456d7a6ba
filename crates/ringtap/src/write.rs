//! Generated frames into a file, and the truth about them.

use std::io::{BufWriter, Write};

use anyhow::{Context, bail};
use indicatif::ProgressBar;
use ringtap_capture::Writer;
use ringtap_model::{Frame, LinkType, Nanos};
use ringtap_report::file::Target;
use ringtap_report::json;
use ringtap_traffic::Traffic;

use crate::exit::Interrupted;
use crate::interrupt;

/// A file of generated traffic.
pub(crate) struct WrittenCapture {
    pub(crate) packets: u64,
    /// From the first packet to the last.
    pub(crate) span: Nanos,
}

/// Writes all of it, and the records of `truth` as they become complete.
pub(crate) fn write(
    traffic: &mut Traffic,
    out: impl Write,
    name: &str,
    truth: Option<Target>,
    bar: &ProgressBar,
) -> anyhow::Result<WrittenCapture> {
    let writing = || format!("cannot write {name}");
    let writing_truth =
        truth.as_ref().map(|target| format!("cannot write {}", target.path().display())).unwrap_or_default();
    let mut truth = truth.map(BufWriter::new);
    let mut writer = Writer::new(out, &[ETHERNET]).with_context(writing)?;
    let mut made = WrittenCapture { packets: 0, span: Nanos::ZERO };
    let mut first = None;
    while let Some((time, data)) = traffic.next() {
        made.packets += 1;
        made.span = time - *first.get_or_insert(time);
        let frame = Frame { time, number: made.packets, link: ETHERNET, wire_len: data.len() as u32, data };
        writer.write(&frame).with_context(writing)?;
        write_truth(traffic, truth.as_mut()).with_context(|| writing_truth.clone())?;
        if made.packets.is_multiple_of(4096) {
            bar.set_position(traffic.calls() + traffic.registrations());
            if interrupt::asked() {
                bail!(Interrupted);
            }
        }
    }
    write_truth(traffic, truth.as_mut()).with_context(|| writing_truth.clone())?;
    writer.finish().with_context(writing)?;
    if let Some(mut truth) = truth {
        truth.flush().with_context(|| writing_truth.clone())?;
        truth
            .into_inner()
            .map_err(|error| error.into_error())
            .with_context(|| writing_truth.clone())?
            .keep()?;
    }
    Ok(made)
}

/// Writes the records that have become complete, where they are wanted.
pub(crate) fn write_truth(
    traffic: &mut Traffic,
    mut truth: Option<&mut BufWriter<Target>>,
) -> std::io::Result<()> {
    for record in traffic.truth() {
        if let Some(truth) = &mut truth {
            json::line(truth, &record)?;
        }
    }
    Ok(())
}

const ETHERNET: LinkType = LinkType(1);
