//! Lists for people: pages of the newest, and the search in metadata.

pub mod pages;
pub mod search;
