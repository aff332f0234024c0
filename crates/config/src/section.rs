//! Typed reading of one section; every error names the setting and where it was written.

use std::fmt::Display;

use super::tree::{Node, Value};
use super::{ConfigError, Read};

pub(super) struct Section<'a> {
    node: &'a Node,
    path: String,
}

impl<'a> Section<'a> {
    pub(super) fn root(node: &'a Node) -> Self {
        Self { node, path: String::new() }
    }

    fn name(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    pub(super) fn refuse(&self, key: &str, what: impl Display) -> ConfigError {
        let origin = &self.node.get(key).unwrap_or(self.node).origin;
        ConfigError::new(format!("`{}` {what} ({origin})", self.name(key)))
    }

    pub(super) fn forbid(&self, key: &str, fault: Option<impl Display>) -> Read<()> {
        fault.map_or(Ok(()), |what| Err(self.refuse(key, what)))
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.node.get(key).is_some()
    }

    /// A setting that may be absent. The error of `read` describes its value, like the errors of `values`.
    pub(super) fn find<T>(
        &self,
        key: &str,
        read: impl FnOnce(&'a Value) -> Result<T, String>,
    ) -> Read<Option<T>> {
        let found = self.node.get(key).map(|node| read(&node.value));
        found.transpose().map_err(|what| self.refuse(key, what))
    }

    /// A setting that must be given, here or by the defaults.
    pub(super) fn get<T>(&self, key: &str, read: impl FnOnce(&'a Value) -> Result<T, String>) -> Read<T> {
        self.find(key, read)?.ok_or_else(|| self.refuse(key, "is missing"))
    }

    pub(super) fn section(&self, key: &str) -> Read<Self> {
        let node = self.node.get(key).ok_or_else(|| self.refuse(key, "is missing"))?;
        match node.value {
            Value::Table(_) => Ok(Self { node, path: self.name(key) }),
            _ => Err(self.refuse(key, node.value.is_not("a section"))),
        }
    }

    pub(super) fn sections(&self, key: &str) -> Read<Vec<Self>> {
        let items = self.find(key, |value| match value {
            Value::List(items) if items.iter().all(|item| matches!(item.value, Value::Table(_))) => Ok(items),
            other => Err(other.is_not("a list of sections")),
        })?;
        let sections = items.into_iter().flatten().enumerate();
        Ok(sections.map(|(index, node)| Self { node, path: self.name(&format!("{key}[{index}]")) }).collect())
    }
}
