//! Typed reading of one section; every error names the setting and where it was written.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use super::ConfigError;
use super::tree::{Node, Value};

/// A section and its path as errors name it.
pub(super) struct Section<'a> {
    node: &'a Node,
    path: String,
}

impl<'a> Section<'a> {
    pub(super) fn root(node: &'a Node) -> Self {
        Self { node, path: String::new() }
    }

    pub(super) fn name(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// The error that `what` is wrong with a setting.
    pub(super) fn refuse(&self, key: &str, what: impl Display) -> ConfigError {
        let origin = &self.node.get(key).unwrap_or(self.node).origin;
        ConfigError::new(format!("`{}` {what} ({origin})", self.name(key)))
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.node.get(key).is_some()
    }

    fn wanted<T>(
        &self,
        key: &str,
        wanted: &str,
        read: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Result<Option<T>, ConfigError> {
        let Some(node) = self.node.get(key) else { return Ok(None) };
        let found = || self.refuse(key, format!("must be {wanted}, and is {}", node.value.kind()));
        read(&node.value).map(Some).ok_or_else(found)
    }

    /// What must be given, here or by the defaults.
    pub(super) fn required<T>(&self, key: &str, found: Option<T>) -> Result<T, ConfigError> {
        found.ok_or_else(|| self.refuse(key, "is missing"))
    }

    pub(super) fn string(&self, key: &str) -> Result<Option<&'a str>, ConfigError> {
        self.wanted(key, "a string", as_string)
    }

    pub(super) fn boolean(&self, key: &str) -> Result<Option<bool>, ConfigError> {
        self.wanted(key, "true or false", |value| match value {
            Value::Boolean(flag) => Some(*flag),
            _ => None,
        })
    }

    pub(super) fn integer<T>(&self, key: &str, range: RangeInclusive<T>) -> Result<Option<T>, ConfigError>
    where
        T: Copy + Display + PartialOrd + TryFrom<i64>,
    {
        let wanted = format!("an integer from {} to {}", range.start(), range.end());
        let number = self.wanted(key, &wanted, |value| match value {
            Value::Integer(number) => Some(*number),
            _ => None,
        })?;
        let Some(number) = number else { return Ok(None) };
        let fits = T::try_from(number).ok().filter(|number| range.contains(number));
        fits.map(Some).ok_or_else(|| self.refuse(key, format!("must be {wanted}, and is {number}")))
    }

    /// A string that `parse` reads; its error says what it must be.
    pub(super) fn read<T>(
        &self,
        key: &str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<Option<T>, ConfigError> {
        // What is copied from elsewhere often has a space or a line's end behind it.
        let Some(text) = self.string(key)?.map(str::trim) else { return Ok(None) };
        let refuse =
            |wanted| self.refuse(key, format!("must be {wanted}, and is {:?}", without_password(text)));
        parse(text).map(Some).map_err(refuse)
    }

    /// The same for a type that reads itself.
    pub(super) fn parsed<T: FromStr<Err = String>>(&self, key: &str) -> Result<Option<T>, ConfigError> {
        self.read(key, str::parse)
    }

    /// The same within bounds, which `described` puts in words.
    pub(super) fn bounded<T: FromStr<Err = String> + PartialOrd>(
        &self,
        key: &str,
        range: RangeInclusive<T>,
        described: &str,
    ) -> Result<Option<T>, ConfigError> {
        match self.parsed(key)? {
            Some(value) if !range.contains(&value) => Err(self.refuse(key, format!("must be {described}"))),
            other => Ok(other),
        }
    }

    pub(super) fn strings(&self, key: &str) -> Result<Option<Vec<String>>, ConfigError> {
        self.wanted(key, "a list of strings", |value| match value {
            Value::List(items) => {
                items.iter().map(|item| as_string(&item.value).map(str::to_owned)).collect()
            }
            _ => None,
        })
    }

    pub(super) fn string_map(&self, key: &str) -> Result<Option<BTreeMap<String, String>>, ConfigError> {
        self.wanted(key, "a section of strings", |value| match value {
            Value::Table(entries) => entries
                .iter()
                .map(|(name, entry)| Some((name.clone(), as_string(&entry.value)?.to_owned())))
                .collect(),
            _ => None,
        })
    }

    pub(super) fn section(&self, key: &str) -> Result<Self, ConfigError> {
        let node = self.required(key, self.node.get(key))?;
        match node.value {
            Value::Table(_) => Ok(Self { node, path: self.name(key) }),
            _ => Err(self.refuse(key, format!("must be a section, and is {}", node.value.kind()))),
        }
    }

    /// The sections of a list, none where it is absent.
    pub(super) fn sections(&self, key: &str) -> Result<Vec<Self>, ConfigError> {
        let items = self.wanted(key, "a list of sections", |value| match value {
            Value::List(items) if items.iter().all(|item| matches!(item.value, Value::Table(_))) => {
                Some(items)
            }
            _ => None,
        })?;
        let sections = items.into_iter().flatten().enumerate();
        Ok(sections.map(|(index, node)| Self { node, path: self.name(&format!("{key}[{index}]")) }).collect())
    }
}

fn as_string(value: &Value) -> Option<&str> {
    match value {
        Value::String(text) => Some(text),
        _ => None,
    }
}

/// An address without the name and the password in it.
fn without_password(text: &str) -> String {
    match (text.find("://"), text.rfind('@')) {
        (Some(scheme), Some(at)) if scheme < at => format!("{}[key]{}", &text[..scheme + 3], &text[at..]),
        _ => text.to_owned(),
    }
}
