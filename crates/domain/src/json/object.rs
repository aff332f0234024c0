//! The members of an object.

use std::borrow::Cow;

use super::Json;
use super::repeated_keys::group_repeated;
use super::strings::{find_stop, skip_rest};
use super::value::skip_value;

/// One member as it stands in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member<'a> {
    /// The key with its quotes and escapes.
    pub raw_key: Json<'a>,
    /// The value.
    pub value: Json<'a>,
    is_plain: bool,
}

impl<'a> Member<'a> {
    /// The decoded key.
    #[inline]
    pub fn key(&self) -> Cow<'a, str> {
        match self.raw_key.as_str() {
            raw if self.is_plain => Cow::Borrowed(raw.get(1..raw.len() - 1).unwrap_or("")),
            _ => self.raw_key.decode_string().unwrap_or_default(),
        }
    }
}

/// The members of an object in order, read one by one, without an allocation.
#[derive(Debug, Clone)]
pub struct Members<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Members<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 1 }
    }
}

impl<'a> Iterator for Members<'a> {
    type Item = Member<'a>;

    fn next(&mut self) -> Option<Member<'a>> {
        let bytes = self.text.as_bytes();
        if bytes.get(self.at) != Some(&b'"') {
            return None;
        }
        let stop = find_stop(bytes, self.at + 1);
        let key_end = skip_rest(bytes, stop);
        let value_end = skip_value(bytes, key_end + 1);
        let raw_key = Json::from_part(self.text.get(self.at..key_end)?);
        let value = Json::from_part(self.text.get(key_end + 1..value_end)?);
        self.at = value_end + 1;
        Some(Member { raw_key, value, is_plain: stop + 1 == key_end })
    }
}

/// The members of an object with decoded keys, in order, including repeated keys.
#[derive(Debug, Clone)]
pub struct RawObject<'a> {
    members: Vec<(Cow<'a, str>, Json<'a>)>,
}

impl<'a> RawObject<'a> {
    pub(super) fn collect(members: Members<'a>) -> Self {
        Self { members: members.map(|member| (member.key(), member.value)).collect() }
    }

    /// The members in order: decoded key, value.
    pub fn members(&self) -> &[(Cow<'a, str>, Json<'a>)] {
        &self.members
    }

    /// The first value under `key`.
    pub fn get(&self, key: &str) -> Option<Json<'a>> {
        self.members.iter().find(|(name, _)| name == key).map(|&(_, value)| value)
    }

    /// The first value under `key`, unless it is `null`: in an optional field, null means absent.
    pub fn get_some(&self, key: &str) -> Option<Json<'a>> {
        self.get(key).filter(|value| !value.is_null())
    }

    /// The keys that occur more than once, compared decoded: each once, in order of first appearance.
    pub fn duplicate_keys(&self) -> Vec<&str> {
        let key = |index: usize| self.members[index].0.as_ref();
        group_repeated(self.members.len(), key)
            .iter()
            .filter_map(|group| group.first())
            .map(|it| key(*it))
            .collect()
    }
}
