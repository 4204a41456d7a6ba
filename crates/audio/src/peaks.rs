//! The waveform of a recording, for a player to draw before it has the sound.

use std::io::Write;

use ringtap_model::Nanos;

use crate::Error;
use crate::output::{Output, OutputFormat};

/// A JSON document that is being written: one object whose `peaks` are, for each channel, a list of minimum
/// and maximum by turns, in -1..1, of each span. The player wavesurfer takes the lists as they are, with
/// `duration`.
pub struct Peaks<W: Write> {
    to: W,
    shape: OutputFormat,
    /// Samples of a span.
    span: usize,
    channels: [Channel; 2],
}

#[derive(Default)]
struct Channel {
    peaks: Vec<(i16, i16)>,
    open: Option<(i16, i16)>,
    count: usize,
}

impl Channel {
    fn add(&mut self, samples: &[i16], span: usize) {
        for sample in samples {
            let (low, high) = self.open.unwrap_or((*sample, *sample));
            self.open = Some((low.min(*sample), high.max(*sample)));
            self.count += 1;
            if self.count == span {
                self.close();
            }
        }
    }

    fn close(&mut self) {
        self.peaks.extend(self.open.take());
        self.count = 0;
    }
}

impl<W: Write> Peaks<W> {
    /// A document with a minimum and a maximum for each `span` of time, which is at least one sample.
    pub fn new(to: W, shape: OutputFormat, span: Nanos) -> Self {
        let samples = u128::from(span.0) * u128::from(shape.rate.0) / 1_000_000_000;
        let span = usize::try_from(samples).unwrap_or(usize::MAX).max(1);
        Self { to, shape, span, channels: Default::default() }
    }
}

impl<W: Write> Output for Peaks<W> {
    fn write(&mut self, channels: [&[i16]; 2]) -> Result<(), Error> {
        let used = usize::from(self.shape.channels);
        for (channel, samples) in self.channels.iter_mut().zip(channels).take(used) {
            channel.add(samples, self.span);
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<(), Error> {
        self.channels.iter_mut().for_each(Channel::close);
        let Self { mut to, shape, span, channels } = *self;
        let duration = shape.frames as f64 / f64::from(shape.rate.0);
        write!(
            to,
            "{{\"version\":1,\"start_us\":{},\"duration\":{duration:.6},\"sample_rate\":{},\
             \"samples_per_peak\":{span},\"channels\":{},\"length\":{},\"peaks\":[",
            shape.start.micros(),
            shape.rate.0,
            shape.channels,
            channels[0].peaks.len(),
        )?;
        for (index, channel) in channels.iter().take(usize::from(shape.channels)).enumerate() {
            to.write_all(if index == 0 { b"[" } else { b",[" })?;
            for (at, (low, high)) in channel.peaks.iter().enumerate() {
                let comma = if at == 0 { "" } else { "," };
                write!(to, "{comma}{},{}", share(*low), share(*high))?;
            }
            to.write_all(b"]")?;
        }
        to.write_all(b"]}\n")?;
        Ok(to.flush()?)
    }
}

/// Fraction of full scale, to four places.
fn share(sample: i16) -> f64 {
    (f64::from(sample) / 32_768.0 * 1e4).round() / 1e4
}

#[cfg(test)]
mod tests {
    use ringtap_model::Hz;

    use super::*;

    #[test]
    fn lows_and_highs_of_each_span() {
        let shape = OutputFormat { rate: Hz(8_000), channels: 2, frames: 5, start: Nanos::from_millis(3) };
        let mut to = Vec::new();
        // Two samples.
        let mut peaks = Box::new(Peaks::new(&mut to, shape, Nanos(250_000)));
        peaks.write([&[0, 16_384, -8_192], &[1, 1, 1]]).expect("memory");
        peaks.write([&[-16_384, 0], &[-32_768, 32_767]]).expect("memory");
        peaks.finish().expect("memory");
        let text = String::from_utf8(to).expect("text");
        assert_eq!(
            text,
            "{\"version\":1,\"start_us\":3000,\"duration\":0.000625,\"sample_rate\":8000,\
             \"samples_per_peak\":2,\"channels\":2,\"length\":3,\
             \"peaks\":[[0,0.5,-0.5,-0.25,0,0],[0,0,-1,0,1,1]]}\n"
        );
    }
}
