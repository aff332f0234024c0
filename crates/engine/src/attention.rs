//! How attention is computed on a processor, and the cost of other sequences' cells. All figures were measured on x86-64 with models of 1
//! MB and 145 MB (docs/engine.md).

/// The properties of a model's heads that affect attention.
#[derive(Clone, Copy, Debug)]
pub struct Heads {
    pub count: u32,
    pub layers: u32,
    pub length: u32,
}

/// With AVX-512, flash attention processes this many numbers of a key together, and the rest one by one.
const FLASH_NUMBERS: u32 = 64;
/// Without flash attention, the scores of one step may take this many bytes.
const SCORES_BYTES_MAX: u64 = 512 << 20;
/// Bytes of weights that are read in the time in which one head passes over one masked cell with flash attention.
const MASKED_CELL_BYTES: u64 = 24;

/// Whether flash attention is faster. `features` are those that the program is built for, separated by spaces; `cells` and `step` are the
/// cells of the cache and the tokens of one step.
#[must_use]
pub fn prefers_flash(heads: Heads, features: &str, cells: usize, step: usize) -> bool {
    let has_rest = features.split(' ').any(|feature| feature == "avx512f")
        && !heads.length.is_multiple_of(FLASH_NUMBERS);
    let scores = (cells as u64).saturating_mul(step as u64).saturating_mul(4 * u64::from(heads.count));
    !has_rest || scores > SCORES_BYTES_MAX
}

/// How many cells of other sequences a token passes over while a step reads `bytes` of weights.
#[must_use]
pub fn masked_cells(heads: Heads, flash: bool, bytes: u64) -> usize {
    let heads = u64::from(heads.count.max(1)) * u64::from(heads.layers.max(1));
    // Without flash attention a masked cell costs as much as any other.
    let cell_bytes = if flash { MASKED_CELL_BYTES } else { 2 * MASKED_CELL_BYTES };
    usize::try_from(bytes / (heads * cell_bytes)).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::{Heads, masked_cells, prefers_flash};

    const BOX: Heads = Heads { count: 4, layers: 5, length: 32 };
    const AVX512: &str = "avx avx2 avx512f fma";

    #[test]
    fn flash_attention_is_off_only_where_most_of_a_key_is_taken_one_by_one() {
        assert!(!prefers_flash(BOX, AVX512, 32_768, 512));
        assert!(prefers_flash(BOX, "avx avx2 fma", 32_768, 512));
        assert!(prefers_flash(BOX, "", 32_768, 512));
        assert!(prefers_flash(Heads { length: 64, ..BOX }, AVX512, 32_768, 512));
        assert!(prefers_flash(Heads { length: 128, ..BOX }, AVX512, 32_768, 512));
        assert!(!prefers_flash(Heads { length: 80, ..BOX }, AVX512, 32_768, 512));
    }

    #[test]
    fn scores_take_a_bounded_part_of_memory() {
        let most = 512 * 1_024 * 1_024 / (512 * 4 * 4);
        assert!(!prefers_flash(BOX, AVX512, most, 512));
        assert!(prefers_flash(BOX, AVX512, most + 1, 512));
        assert!(prefers_flash(BOX, AVX512, usize::MAX, usize::MAX));
    }

    #[test]
    fn larger_models_bear_more_cells_of_others() {
        let large = Heads { count: 32, layers: 32, length: 128 };
        assert_eq!(masked_cells(BOX, true, 1_200_000), 2_500);
        assert_eq!(masked_cells(BOX, false, 1_200_000), 1_250);
        assert_eq!(masked_cells(large, true, 4_915_200_000), 200_000);
        assert_eq!(masked_cells(Heads { count: 0, layers: 0, length: 0 }, true, 24), 1);
    }
}
