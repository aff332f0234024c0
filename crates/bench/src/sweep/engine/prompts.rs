//! Small workloads in plain words, for a real engine with a small model.

use serde_json::json;

use overnight_testkit::engine::Job;

use crate::sweep::chance::Chance;
use crate::sweep::workload::Request;

/// Words that are one token each in most tokenizers.
const WORDS: [&str; 64] = [
    "time", "year", "people", "way", "day", "man", "thing", "woman", "life", "child", "world", "school",
    "state", "family", "student", "group", "country", "problem", "hand", "part", "place", "case", "week",
    "company", "system", "program", "question", "work", "number", "night", "point", "home", "water", "room",
    "mother", "area", "money", "story", "fact", "month", "lot", "right", "study", "book", "eye", "job",
    "word", "business", "issue", "side", "kind", "head", "house", "service", "friend", "father", "power",
    "hour", "game", "line", "end", "member", "law", "car",
];
const ANSWER_TOKENS: usize = 8;
/// The limit of a shared beginning: with a question, a prompt has at most about 1,500 tokens.
const SHARED_WORDS_MAX: usize = 1_300;
const QUESTIONS: usize = 10;
const ROWS: usize = 25;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Ten questions about each document, which precedes them.
    DocumentQa,
    /// Twenty-five rows after the examples of each task.
    FewShot,
}

impl Kind {
    pub(super) const ALL: [Self; 2] = [Self::DocumentQa, Self::FewShot];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::DocumentQa => "document QA",
            Self::FewShot => "few-shot",
        }
    }

    /// `count` requests in an order that mixes their groups. All prompts begin with words chosen by `salt`, so no cached block of another
    /// salt's prompts matches; apart from that, the requests are the same.
    pub(super) fn generate(self, count: usize, model: &str, salt: u64) -> Vec<Request> {
        let salt = words(&mut Chance::new(salt), 12);
        let mut chance = Chance::new(self as u64 + 1);
        let (group, label) = match self {
            Self::DocumentQa => (QUESTIONS, "Question"),
            Self::FewShot => (ROWS, "Input"),
        };
        let mut prompts = Vec::with_capacity(count + group);
        while prompts.len() < count {
            let length = chance.length(850, 0.3).min(SHARED_WORDS_MAX);
            let shared = words(&mut chance, length);
            for _ in 0..group {
                prompts.push(format!("{salt}.\n\n{shared}.\n\n{label}: {}", words(&mut chance, 30)));
            }
        }
        prompts.truncate(count);
        chance.shuffle(&mut prompts);
        prompts.into_iter().map(|prompt| request(model, &prompt)).collect()
    }
}

fn words(chance: &mut Chance, count: usize) -> String {
    let words: Vec<&str> = (0..count).map(|_| WORDS[chance.below(WORDS.len())]).collect();
    words.join(" ")
}

fn request(model: &str, prompt: &str) -> Request {
    let body = json!({
        "model": model,
        "messages": [{"role": "user", "content": prompt}],
        "max_tokens": ANSWER_TOKENS,
        "temperature": 0,
    });
    Request { account: 1, file: 0, body: body.to_string().into_bytes(), job: Job::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_salt_shares_no_beginning_and_changes_nothing_else() {
        for kind in Kind::ALL {
            let [one, other] = [1, 2].map(|salt| kind.generate(60, "m", salt));
            let prompt = |request: &Request| {
                let body: serde_json::Value = serde_json::from_slice(&request.body).unwrap();
                body["messages"][0]["content"].as_str().unwrap().to_owned()
            };
            assert_eq!(one.len(), 60);
            for (one, other) in one.iter().zip(&other) {
                let (one, other) = (prompt(one), prompt(other));
                assert_ne!(one[..24], other[..24]);
                assert_eq!(one.split_once('.').unwrap().1, other.split_once('.').unwrap().1);
                assert!(one.split_whitespace().count() <= 1_400);
            }
        }
    }
}
