//! Conversion of the sampling rate.

use ringtap_model::Hz;
use rubato::audioadapter_buffers::direct::SequentialSlice;
use rubato::{Fft, FixedSync, Resampler as _};

/// Resamples one channel in blocks of any size, without the delay of the filter.
pub(crate) struct Resampler {
    inner: Fft<f32>,
    held: Vec<f32>,
    out: Vec<f32>,
    /// Samples of the filter's delay still to be skipped.
    skip: usize,
}

impl Resampler {
    /// `None` if there is no filter between the rates.
    pub(crate) fn new(from: Hz, to: Hz) -> Option<Self> {
        let inner = Fft::new(from.0 as usize, to.0 as usize, CHUNK, 1, FixedSync::Both).ok()?;
        let skip = inner.output_delay();
        let out = vec![0.0; inner.output_frames_max()];
        Some(Self { inner, held: Vec::new(), out, skip })
    }

    /// Resamples and appends the output.
    pub(crate) fn push(&mut self, samples: &[i16], to: &mut Vec<i16>) {
        self.held.extend(samples.iter().map(|sample| f32::from(*sample)));
        let mut used = 0;
        loop {
            let need = self.inner.input_frames_next();
            let Some(chunk) = self.held.get(used..used + need) else { break };
            used += need;
            let frames = self.out.len();
            let (Ok(input), Ok(mut output)) =
                (SequentialSlice::new(chunk, 1, need), SequentialSlice::new_mut(&mut self.out, 1, frames))
            else {
                break;
            };
            let Ok((_, written)) = self.inner.process_into_buffer(&input, &mut output, None) else { break };
            let skipped = self.skip.min(written);
            self.skip -= skipped;
            to.extend(self.out[skipped..written].iter().map(|sample| sample.round() as i16));
        }
        self.held.drain(..used);
    }

    /// Appends the rest of the filter's output.
    pub(crate) fn flush(&mut self, to: &mut Vec<i16>) {
        let zeros = vec![0; self.inner.input_frames_max() + self.held.len() + 1];
        for _ in 0..2 {
            self.push(&zeros, to);
        }
    }
}

/// Approximate input samples per block.
const CHUNK: usize = 1_024;
