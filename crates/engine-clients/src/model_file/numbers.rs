//! Numbers of a model's architecture that llama.cpp ends its process on if they are wrong.

use super::{ModelFileUnusable, is_own};

/// Its limits of layers and experts.
const LAYERS_MAX: u32 = 512;
const EXPERTS_MAX: u32 = 1_024;
/// It counts tokens in 32 bits with a sign.
const CONTEXT_MAX: u32 = i32::MAX.unsigned_abs();

/// The suffixes of their keys, after the architecture.
const SUFFIXES: [&str; 7] = [
    "block_count",
    "context_length",
    "nextn_predict_layers",
    "expert_count",
    "expert_used_count",
    "expert_group_count",
    "expert_group_used_count",
];

/// The suffixes of keys of what norms add before a root.
const EPSILONS: [&[u8]; 3] = [
    b".attention.layer_norm_rms_epsilon",
    b".attention.layer_norm_epsilon",
    b".attention.group_norm_epsilon",
];

pub(super) fn is_epsilon(key: &[u8]) -> bool {
    EPSILONS.iter().any(|end| is_own(key, end))
}

/// Architectures for which llama.cpp corrects the numbers of experts.
const CORRECTED: &[u8] = b"hunyuan";

/// The numbers in the order of [`SUFFIXES`]; `None` if the file has no such number.
#[derive(Default)]
pub(super) struct Numbers([Option<u32>; SUFFIXES.len()]);

/// Which of the numbers a key names.
pub(super) fn place_of(key: &[u8]) -> Option<usize> {
    let place = SUFFIXES.iter().position(|suffix| is_own(key, format!(".{suffix}").as_bytes()))?;
    (place < 3 || !key.starts_with(CORRECTED)).then_some(place)
}

impl Numbers {
    pub(super) fn set(&mut self, place: usize, value: u32) {
        self.0[place] = Some(value);
    }

    /// Fails if llama.cpp would end its process. It refuses a missing number with a message.
    pub(super) fn check(&self) -> Result<(), ModelFileUnusable> {
        let [blocks, _, _, experts, used, groups, used_groups] = self.0;
        let (experts, groups) = (experts.unwrap_or(0), groups.unwrap_or(0));
        self.within(0, 1, LAYERS_MAX)?;
        self.within(1, 1, CONTEXT_MAX)?;
        self.within(2, 0, blocks.unwrap_or(LAYERS_MAX))?;
        self.within(3, 0, EXPERTS_MAX)?;
        // A list with a number for each layer is not read.
        self.within(4, used.map_or(0, |_| experts.min(1)), experts)?;
        self.within(5, 0, experts.saturating_sub(1))?;
        if groups > 1 {
            self.within(6, 1, groups - 1)?;
            if used_groups.is_none() || !experts.is_multiple_of(groups) {
                return Err(ModelFileUnusable::Damaged("its expert_group_count does not fit its experts"));
            }
        }
        Ok(())
    }

    fn within(&self, place: usize, least: u32, most: u32) -> Result<(), ModelFileUnusable> {
        match self.0[place] {
            Some(value) if !(least..=most).contains(&value) => {
                Err(ModelFileUnusable::Number { key: SUFFIXES[place], value, least, most })
            }
            _ => Ok(()),
        }
    }
}
