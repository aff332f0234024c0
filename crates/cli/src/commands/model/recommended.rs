//! A few small models to begin with. Sizes and licences are from their repositories in November 2026.

use serde_json::json;

use super::{MEGABYTE, size};
use crate::errors::CliError;
use crate::lists::{Columns, List};
use crate::output::Output;

const COLUMNS: Columns = &[("", 1), ("SIZE", 7), ("MEMORY", 7), ("LICENCE", 10), ("MODEL", 0)];

/// Cells of the key-value cache with default settings: eight requests of 4,096 tokens.
const CELLS: u64 = 8 * 4_096;
/// Memory for a step and the program itself.
const BESIDE_MB: u64 = 500;
const MEMORY_PART: u64 = 2;

struct Model {
    name: &'static str,
    megabytes: u64,
    /// Of one cell of the key-value cache: layers × key-value heads × their width × 2 (keys and values) × 2 bytes.
    cell_bytes: u64,
    licence: &'static str,
}

/// In order of size.
const MODELS: [Model; 5] = [
    Model {
        name: "hf:Qwen/Qwen2.5-0.5B-Instruct-GGUF:Q4_K_M",
        megabytes: 491,
        cell_bytes: 24 * 2 * 64 * 4,
        licence: "Apache-2.0",
    },
    Model {
        name: "hf:Qwen/Qwen2.5-1.5B-Instruct-GGUF:Q4_K_M",
        megabytes: 1_117,
        cell_bytes: 28 * 2 * 128 * 4,
        licence: "Apache-2.0",
    },
    Model {
        name: "hf:unsloth/Qwen3-4B-Instruct-2507-GGUF:Q4_K_M",
        megabytes: 2_497,
        cell_bytes: 36 * 8 * 128 * 4,
        licence: "Apache-2.0",
    },
    Model {
        name: "hf:bartowski/Qwen2.5-7B-Instruct-GGUF:Q4_K_M",
        megabytes: 4_683,
        cell_bytes: 28 * 4 * 128 * 4,
        licence: "Apache-2.0",
    },
    Model {
        name: "hf:unsloth/Qwen3-30B-A3B-Instruct-2507-GGUF:Q4_K_M",
        megabytes: 18_556,
        cell_bytes: 48 * 4 * 128 * 4,
        licence: "Apache-2.0",
    },
];

impl Model {
    fn memory_mb(&self) -> u64 {
        self.megabytes + CELLS * self.cell_bytes / MEGABYTE + BESIDE_MB
    }
}

/// Lists the models, with an arrow at the one that suits this machine.
pub(super) fn show(output: &Output) -> Result<(), CliError> {
    let suited = memory_mb().and_then(suited_to);
    let mut rows = List::begin(output, COLUMNS);
    for model in &MODELS {
        let is_suited = suited.is_some_and(|suited| suited.name == model.name);
        let memory = size(model.memory_mb() * MEGABYTE);
        let record = json!({
            "name": model.name, "bytes": model.megabytes * MEGABYTE, "memory_bytes": model.memory_mb() * MEGABYTE,
            "licence": model.licence, "is_suited": is_suited,
        });
        let mark = if is_suited { ">" } else { "" };
        rows.row(&record, &[mark, &size(model.megabytes * MEGABYTE), &memory, model.licence, model.name])?;
    }
    rows.end()?;
    if let Some(Model { name, .. }) = suited.filter(|_| !output.is_json) {
        output.note(&format!(
            "> is the largest for half of this machine's memory: overnight run FILE -o RESULTS --model {name}"
        ));
    }
    Ok(())
}

/// The largest model that fits into the usable part of this memory.
fn suited_to(memory_mb: u64) -> Option<&'static Model> {
    MODELS.iter().rev().find(|model| model.memory_mb() <= memory_mb / MEMORY_PART)
}

/// `None` if the system does not report it.
#[cfg(target_os = "linux")]
fn memory_mb() -> Option<u64> {
    let known = rustix::system::sysinfo();
    Some(known.totalram.checked_mul(known.mem_unit.into())? / MEGABYTE)
}

#[cfg(not(target_os = "linux"))]
fn memory_mb() -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use overnight_hub::HubName;

    use super::*;

    #[test]
    fn each_is_a_name_of_the_hub_and_they_grow() {
        assert!(MODELS.iter().all(|model| model.name.parse::<HubName>().is_ok()));
        assert!(MODELS.is_sorted_by_key(|model| model.megabytes));
    }

    #[test]
    fn the_largest_is_taken_that_fits_into_half_of_the_memory() {
        for (memory_mb, expected) in [
            (1_000, None),
            (4_000, Some(491)),
            (8_000, Some(1_117)),
            (16_000, Some(4_683)),
            (1_000_000, Some(18_556)),
        ] {
            assert_eq!(suited_to(memory_mb).map(|model| model.megabytes), expected, "{memory_mb}");
        }
    }
}
