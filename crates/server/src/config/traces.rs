//! Where traces are sent, and how much is traced.

use url::Url;

use super::section::Section;
use super::{ConfigError, engines};

/// Where spans are sent, and of what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TracesConfig {
    /// The collector: its path `/v1/traces` takes spans by OTLP over HTTP.
    pub endpoint: Url,
    /// The environment variable that holds headers for the collector; `None` where it needs none.
    pub headers_env: Option<String>,
    /// The part of the calls that is traced, whoever calls.
    pub sample: SampleRatio,
    /// How many calls and requests of an account are traced in a minute because its own `traceparent` asks for it.
    pub caller_traces_per_minute: u32,
    /// What the service is called in traces.
    pub service_name: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SampleRatio(u32);

impl SampleRatio {
    pub const fn millionths(self) -> u32 {
        self.0
    }

    /// Reads a percentage with up to four decimals.
    fn parse(text: &str) -> Result<Self, String> {
        let wanted = || "a percentage like \"100%\", \"0.1%\" or \"0%\", with up to four decimals".to_owned();
        let (whole, decimals) = text
            .strip_suffix('%')
            .map(|number| number.split_once('.').map_or((number, "0"), |parts| parts))
            .filter(|(whole, decimals)| (1..=3).contains(&whole.len()) && (1..=4).contains(&decimals.len()))
            .ok_or_else(wanted)?;
        let digits = format!("{whole}{decimals:0<4}");
        let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
        let millionths = digits.parse().ok().filter(|millionths| is_number && *millionths <= 1_000_000);
        millionths.map(Self).ok_or_else(wanted)
    }
}

/// The `[traces]` section; `None` where it names no collector.
pub(super) fn read(section: &Section<'_>) -> Result<Option<TracesConfig>, ConfigError> {
    let headers_env = section.read("headers_env", engines::variable_name)?;
    let sample = section.required("sample", section.read("sample", SampleRatio::parse)?)?;
    let key = "caller_traces_per_minute";
    let caller_traces_per_minute = section.required(key, section.integer(key, 0..=1_000_000)?)?;
    let service_name = section.required("service_name", section.read("service_name", name)?)?;
    let endpoint = section.read("endpoint", engines::base_url)?;
    if endpoint.is_none() && headers_env.is_some() {
        return Err(section.refuse("headers_env", "is set, and `traces.endpoint` is missing"));
    }
    Ok(endpoint.map(|endpoint| TracesConfig {
        endpoint,
        headers_env,
        sample,
        caller_traces_per_minute,
        service_name,
    }))
}

fn name(text: &str) -> Result<String, String> {
    let fits = (1..=255).contains(&text.chars().count()) && !text.contains(char::is_control);
    fits.then(|| text.to_owned()).ok_or_else(|| "a name of 1 to 255 characters".to_owned())
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
        for wrong in [
            "",
            "%",
            "1",
            "101%",
            "100.0001%",
            "-1%",
            "+1%",
            ".5%",
            "1.%",
            "0.00001%",
            "1e1%",
            "0,5%",
            "1.-1%",
        ] {
            assert!(SampleRatio::parse(wrong).is_err(), "{wrong}");
        }
    }
}
