//! Readers of one value. A reader's error is the expected type, and the type or text that it found.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;

use overnight_base::paths::expanded;
use url::{Host, Url};

use super::tree::Value;

pub(super) fn text(value: &Value) -> Result<String, String> {
    as_text(value).ok_or_else(|| value.is_not("a string"))
}

pub(super) fn flag(value: &Value) -> Result<bool, String> {
    match value {
        Value::Boolean(flag) => Ok(*flag),
        other => Err(other.is_not("true or false")),
    }
}

pub(super) fn texts(value: &Value) -> Result<Vec<String>, String> {
    let texts = match value {
        Value::List(items) => items.iter().map(|item| as_text(&item.value)).collect(),
        _ => None,
    };
    texts.ok_or_else(|| value.is_not("a list of strings"))
}

pub(super) fn text_map(value: &Value) -> Result<BTreeMap<String, String>, String> {
    let texts = match value {
        Value::Table(entries) => {
            entries.iter().map(|(name, entry)| Some((name.clone(), as_text(&entry.value)?))).collect()
        }
        _ => None,
    };
    texts.ok_or_else(|| value.is_not("a section of strings"))
}

pub(super) fn integer<T>(range: RangeInclusive<T>) -> impl FnOnce(&Value) -> Result<T, String>
where
    T: Display + PartialOrd + TryFrom<i64>,
{
    move |value| {
        let wanted = format!("an integer from {} to {}", range.start(), range.end());
        let Value::Integer(number) = value else { return Err(value.is_not(&wanted)) };
        let fits = T::try_from(*number).ok().filter(|number| range.contains(number));
        fits.ok_or_else(|| format!("must be {wanted}, and is {number}"))
    }
}

/// A string that `parse` reads; its error names the expected form.
pub(super) fn like<T, W: Display>(
    parse: impl FnOnce(&str) -> Result<T, W>,
) -> impl FnOnce(&Value) -> Result<T, String> {
    move |value| {
        let text = text(value)?;
        // Copied text often ends with a space or a line break.
        let text = text.trim();
        parse(text).map_err(|wanted| format!("must be {wanted}, and is {:?}", without_password(text)))
    }
}

pub(super) fn parsed<T: FromStr<Err: Display>>(value: &Value) -> Result<T, String> {
    like(str::parse)(value)
}

/// A parsed value within bounds, written like `1s to 1h`.
pub(super) fn within<T>(bounds: &'static str) -> impl FnOnce(&Value) -> Result<T, String>
where
    T: FromStr<Err = String> + PartialOrd,
{
    like(move |text: &str| {
        let value: T = text.parse()?;
        let range = bounds.split_once(" to ").and_then(|(least, most)| {
            let bound = |text: &str| text.parse::<T>().ok();
            Some(bound(least)?..=bound(most)?)
        });
        range.is_some_and(|range| range.contains(&value)).then_some(value).ok_or_else(|| bounds.to_owned())
    })
}

/// A word in `wanted`, like `all, api or scheduler`, mapped to its value.
pub(super) fn one_of<T, const N: usize>(
    wanted: &'static str,
    values: [T; N],
) -> impl FnOnce(&Value) -> Result<T, String> {
    like(move |text: &str| {
        let words = wanted.split([' ', ',', '"']).filter(|word| !["", "or"].contains(word));
        let found = words.zip(values).find(|(word, _)| *word == text);
        found.map(|(_, value)| value).ok_or(wanted)
    })
}

/// A list of strings, each read by `parse`.
pub(super) fn each<T>(
    wanted: &'static str,
    parse: impl Fn(&str) -> Option<T>,
) -> impl FnOnce(&Value) -> Result<Vec<T>, String> {
    move |value| {
        let refuse = |text| format!("must be {wanted}, and has {text:?}");
        texts(value)?.iter().map(|text| parse(text).ok_or_else(|| refuse(text))).collect()
    }
}

/// Not empty.
pub(super) fn path(value: &Value) -> Result<PathBuf, String> {
    like(|text: &str| if text.is_empty() { Err("a path".to_owned()) } else { expanded(text) })(value)
}

pub(super) fn variable(value: &Value) -> Result<String, String> {
    like(variable_name)(value)
}

/// The name of an environment variable that is not a setting.
pub(super) fn variable_name(text: &str) -> Result<String, &'static str> {
    let fits = !text.is_empty() && !text.contains(['=', '\0']) && !text.starts_with("OVERNIGHT_");
    let wanted = "the name of an environment variable that does not begin with OVERNIGHT_";
    fits.then(|| text.to_owned()).ok_or(wanted)
}

/// An http or https URL without a query, a fragment, user information, or a slash at its end.
pub(super) fn base_url(text: &str) -> Result<Url, &'static str> {
    let wanted = "an http or https address like \"http://127.0.0.1:8000/v1\", without a query or user";
    let mut url = Url::parse(text).map_err(|_| wanted)?;
    let fits = matches!(url.scheme(), "http" | "https") && url.has_host() && is_plain(&url);
    let path = url.path().trim_end_matches('/').to_owned();
    url.set_path(&path);
    fits.then_some(url).ok_or(wanted)
}

/// Whether a URL has neither query nor fragment nor user information.
pub(super) fn is_plain(url: &Url) -> bool {
    let has_user = !url.username().is_empty() || url.password().is_some();
    !has_user && url.query().is_none() && url.fragment().is_none()
}

/// Whether only this machine reaches it.
pub(super) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback() || address.is_unspecified(),
        Some(Host::Ipv6(address)) => address.is_loopback() || address.is_unspecified(),
        None => false,
    }
}

fn as_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        _ => None,
    }
}

fn without_password(text: &str) -> String {
    match (text.find("://"), text.rfind('@')) {
        (Some(scheme), Some(at)) if scheme < at => format!("{}[key]{}", &text[..scheme + 3], &text[at..]),
        _ => text.to_owned(),
    }
}
