//! An engine's load and the size of its prefix cache, from its metrics in Prometheus' text format.

use overnight_domain::scheduler::EngineLoad;

/// An engine's names of the four figures; empty if it does not have one.
struct Names {
    running: &'static str,
    waiting: &'static str,
    /// A share from 0 to 1.
    cache_usage: &'static [&'static str],
    preemptions: &'static str,
}

const ENGINES: [Names; 3] = [
    // vLLM; the second name of the cache is that of versions before 0.10.
    Names {
        running: "vllm:num_requests_running",
        waiting: "vllm:num_requests_waiting",
        cache_usage: &["vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"],
        preemptions: "vllm:num_preemptions_total",
    },
    // SGLang.
    Names {
        running: "sglang:num_running_reqs",
        waiting: "sglang:num_queue_reqs",
        cache_usage: &["sglang:token_usage"],
        preemptions: "sglang:num_retracted_reqs_total",
    },
    // llama-server.
    Names {
        running: "llamacpp:requests_processing",
        waiting: "llamacpp:requests_deferred",
        cache_usage: &["llamacpp:kv_cache_usage_ratio"],
        preemptions: "",
    },
];

/// The tokens of the engine's key-value cache, if its metrics say so: all of it serves as a prefix cache while it is not needed otherwise.
pub(super) fn read_cache_tokens(page: &str) -> Option<u64> {
    let total = |tokens: &mut dyn Iterator<Item = u64>| tokens.reduce(u64::saturating_add);
    let of_vllm = page.lines().filter_map(|line| {
        let labels = line.strip_prefix("vllm:cache_config_info{")?;
        let text = |name| labels.split(',').find_map(|label| label.strip_prefix(name)?.split('"').next());
        let number = |name| text(name)?.parse::<u64>().ok();
        number("block_size=\"")?.checked_mul(number("num_gpu_blocks=\"")?)
    });
    let of_sglang = values(page, "sglang:max_total_num_tokens").map(|tokens| whole(tokens).unsigned_abs());
    total(&mut of_vllm.chain(of_sglang)).filter(|tokens| *tokens > 0)
}

/// Whether the engine has a prefix cache, if its metrics say so, as vLLM's do. Of several processes each must have one.
pub(super) fn read_prefix_caching(page: &str) -> Option<bool> {
    let told = page.lines().filter_map(|line| {
        let labels = line.strip_prefix("vllm:cache_config_info{")?;
        let value = labels.split_once("enable_prefix_caching=\"")?.1.split('"').next()?;
        value.to_ascii_lowercase().parse().ok()
    });
    told.reduce(|all, one| all && one)
}

/// The load in a page of metrics; `None` if it has no known ones. Series of several models or processes are added up, except the cache:
/// there the fullest counts.
pub(super) fn read(page: &str) -> Option<EngineLoad> {
    ENGINES.iter().find_map(|names| {
        let sum = |name: &str| total(page, name);
        let usage = names.cache_usage.iter().flat_map(|name| values(page, name)).fold(0.0_f64, f64::max);
        Some(EngineLoad {
            running: sum(names.running)?,
            waiting: sum(names.waiting)?,
            cache_permille: whole(usage.clamp(0.0, 1.0) * 1_000.0),
            preemptions: sum(names.preemptions).unwrap_or(0),
        })
    })
}

fn total(page: &str, name: &str) -> Option<i64> {
    let mut values = values(page, name).peekable();
    values.peek()?;
    Some(values.fold(0_i64, |sum, value| sum.saturating_add(whole(value))))
}

#[expect(clippy::cast_possible_truncation, reason = "a count that engines tell as a float, within bounds")]
const fn whole(value: f64) -> i64 {
    value.clamp(0.0, 1e15) as i64
}

fn values<'a>(page: &'a str, name: &'a str) -> impl Iterator<Item = f64> + 'a {
    page.lines().filter_map(move |line| {
        let rest = line.strip_prefix(name).filter(|rest| rest.starts_with(['{', ' ']) && !name.is_empty())?;
        // A label's value may contain anything; the last closing brace ends the labels.
        let value = rest.rsplit_once('}').map_or(rest, |(_, value)| value);
        value.split_whitespace().next()?.parse().ok().filter(|value: &f64| value.is_finite())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loads_of_known_engines_are_read() {
        let vllm = "# HELP vllm:num_requests_running Number of requests\n\
            vllm:num_requests_running{engine=\"0\",model_name=\"a}b\"} 30.0\n\
            vllm:num_requests_running{engine=\"1\",model_name=\"c\"} 2.0\n\
            vllm:num_requests_waiting{engine=\"0\",model_name=\"a\"} 5.0 1700000000000\n\
            vllm:num_requests_waiting_by_reason{reason=\"x\"} 99.0\n\
            vllm:kv_cache_usage_perc{engine=\"0\"} 0.25\nvllm:kv_cache_usage_perc{engine=\"1\"} 0.5\n\
            vllm:num_preemptions_total{engine=\"0\"} 7.0\n";
        let load = EngineLoad { running: 32, waiting: 5, cache_permille: 500, preemptions: 7 };
        assert_eq!(read(vllm), Some(load));
        let sglang =
            "sglang:num_running_reqs{m=\"a\"} 4\nsglang:num_queue_reqs{m=\"a\"} 1\nsglang:token_usage 0.9\n";
        let load = EngineLoad { running: 4, waiting: 1, cache_permille: 900, preemptions: 0 };
        assert_eq!(read(sglang), Some(load));
        let llama = "llamacpp:requests_processing 2\nllamacpp:requests_deferred 0\n";
        let load = EngineLoad { running: 2, waiting: 0, cache_permille: 0, preemptions: 0 };
        assert_eq!(read(llama), Some(load));
    }

    #[test]
    fn the_size_of_a_cache_is_read() {
        for (page, expected) in [
            (
                "vllm:cache_config_info{block_size=\"16\",mamba_block_size=\"32\",num_cpu_blocks=\"7\",num_gpu_blocks=\"573\",num_gpu_blocks_override=\"None\"} 1.0\n",
                Some(9_168),
            ),
            (
                "vllm:cache_config_info{block_size=\"16\",engine=\"0\",num_gpu_blocks=\"10\"} 1.0\nvllm:cache_config_info{block_size=\"16\",engine=\"1\",num_gpu_blocks=\"10\"} 1.0\n",
                Some(320),
            ),
            ("vllm:cache_config_info{block_size=\"16\",num_gpu_blocks=\"None\"} 1.0\n", None),
            ("vllm:cache_config_info{block_size=\"16\"} 1.0\n", None),
            ("vllm:cache_config_info{block_size=\"16\",num_gpu_blocks=\"18446744073709551615\"} 1.0\n", None),
            (
                "# TYPE sglang:max_total_num_tokens gauge\nsglang:max_total_num_tokens{model=\"a\"} 471258.0\n",
                Some(471_258),
            ),
            ("sglang:max_total_num_tokens 0\n", None),
            ("up 1\n", None),
        ] {
            assert_eq!(read_cache_tokens(page), expected, "{page}");
        }
    }

    #[test]
    fn whether_prefixes_are_cached_is_read() {
        for (page, expected) in [
            (
                "vllm:cache_config_info{block_size=\"16\",enable_prefix_caching=\"True\",engine=\"0\"} 1.0\n",
                Some(true),
            ),
            (
                "vllm:cache_config_info{enable_prefix_caching=\"False\",num_gpu_blocks=\"573\"} 1.0\n",
                Some(false),
            ),
            (
                "vllm:cache_config_info{enable_prefix_caching=\"True\"} 1.0\nvllm:cache_config_info{enable_prefix_caching=\"False\"} 1.0\n",
                Some(false),
            ),
            ("vllm:cache_config_info{enable_prefix_caching=\"None\"} 1.0\n", None),
            ("vllm:cache_config_info{block_size=\"16\"} 1.0\n", None),
            ("sglang:token_usage 0.9\n", None),
        ] {
            assert_eq!(read_prefix_caching(page), expected, "{page}");
        }
    }

    #[test]
    fn what_is_no_load_is_none() {
        for page in [
            "",
            "<html>",
            "up 1\n",
            "vllm:num_requests_running 3\n",
            "vllm:num_requests_running NaN\nvllm:num_requests_waiting x\n",
        ] {
            assert_eq!(read(page), None, "{page}");
        }
    }
}
