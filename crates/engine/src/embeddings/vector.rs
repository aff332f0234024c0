//! Normalisation of vectors.

/// The first `dimensions` numbers of a vector, scaled to length 1; a zero vector is unchanged.
#[must_use]
pub fn fit(mut vector: Vec<f32>, dimensions: usize) -> Vec<f32> {
    vector.truncate(dimensions);
    let length = vector.iter().map(|number| f64::from(*number).powi(2)).sum::<f64>().sqrt();
    if length > 0.0 {
        for number in &mut vector {
            #[expect(clippy::cast_possible_truncation, reason = "the quotient is at most 1")]
            let scaled = (f64::from(*number) / length) as f32;
            *number = scaled;
        }
    }
    vector
}

#[cfg(test)]
mod tests {
    use super::fit;

    #[test]
    fn a_vector_is_cut_and_scaled_to_length_1() {
        assert_eq!(fit(vec![3.0, 4.0], 2), [0.6, 0.8]);
        assert_eq!(fit(vec![3.0, 4.0], 1), [1.0]);
        assert_eq!(fit(vec![0.0, 0.0], 2), [0.0, 0.0]);
        assert_eq!(fit(vec![1e30, 0.0, -1e30], 2), [1.0, 0.0]);
    }
}
