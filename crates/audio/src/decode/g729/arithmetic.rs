//! Arithmetic on rows of samples.

/// Adds `value` times `row`.
#[inline]
pub(super) fn add(sum: &mut [f32; 8], value: f32, row: &[f32; 8]) {
    for (sum, weight) in sum.iter_mut().zip(row) {
        *sum += value * weight;
    }
}

/// Flushes tiny values to zero: denormals make arithmetic slow.
pub(super) fn faded(value: f32) -> f32 {
    if value.abs() < 1e-9 { 0.0 } else { value }
}

/// `N` values from a place on.
#[inline]
pub(super) fn part<const N: usize>(values: &[f32], from: usize) -> &[f32; N] {
    values[from..].first_chunk().expect("what is asked for lies within")
}
