//! The destination of traces, and what is traced.

use url::Url;

use super::Read;
use super::section::Section;
use super::values::{base_url, integer, like, variable};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TracesConfig {
    /// The collector's URL; its path `/v1/traces` takes spans by OTLP over HTTP.
    pub endpoint: Url,
    /// The environment variable of the collector's headers.
    pub headers_env: Option<String>,
    /// The part of all calls that is traced.
    pub sample: SampleRatio,
    /// Traced calls and requests of an account per minute because of its own `traceparent`.
    pub caller_traces_per_minute: u32,
    pub service_name: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SampleRatio(u32);

impl SampleRatio {
    pub const fn millionths(self) -> u32 {
        self.0
    }

    /// With up to four decimals.
    fn parse(text: &str) -> Result<Self, &'static str> {
        let wanted = "a percentage like \"100%\", \"0.1%\" or \"0%\", with up to four decimals";
        let (whole, decimals) = text
            .strip_suffix('%')
            .map(|number| number.split_once('.').map_or((number, "0"), |parts| parts))
            .filter(|(whole, decimals)| (1..=3).contains(&whole.len()) && (1..=4).contains(&decimals.len()))
            .ok_or(wanted)?;
        let digits = format!("{whole}{decimals:0<4}");
        let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
        let millionths = digits.parse().ok().filter(|millionths| is_number && *millionths <= 1_000_000);
        millionths.map(Self).ok_or(wanted)
    }
}

pub(super) fn read(section: &Section<'_>) -> Read<Option<TracesConfig>> {
    let headers_env = section.find("headers_env", variable)?;
    let sample = section.get("sample", like(SampleRatio::parse))?;
    let caller_traces_per_minute = section.get("caller_traces_per_minute", integer(0..=1_000_000))?;
    let service_name = section.get("service_name", like(name))?;
    let endpoint = section.find("endpoint", like(base_url))?;
    let is_alone = endpoint.is_none() && headers_env.is_some();
    section.forbid("headers_env", is_alone.then_some("is set, and `traces.endpoint` is missing"))?;
    Ok(endpoint.map(|endpoint| TracesConfig {
        endpoint,
        headers_env,
        sample,
        caller_traces_per_minute,
        service_name,
    }))
}

fn name(text: &str) -> Result<String, &'static str> {
    let fits = (1..=255).contains(&text.chars().count()) && !text.contains(char::is_control);
    fits.then(|| text.to_owned()).ok_or("a name of 1 to 255 characters")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_are_read_to_the_millionth() {
        for (text, millionths) in [
            ("100%", 1_000_000),
            ("0%", 0),
            ("1%", 10_000),
            ("0.1%", 1_000),
            ("0.0001%", 1),
            ("99.95%", 999_500),
        ] {
            assert_eq!(SampleRatio::parse(text), Ok(SampleRatio(millionths)), "{text}");
        }
        for wrong in " % 1 101% 100.0001% -1% +1% .5% 1.% 0.00001% 1e1% 0,5% 1.-1%".split(' ') {
            assert!(SampleRatio::parse(wrong).is_err(), "{wrong}");
        }
    }
}
