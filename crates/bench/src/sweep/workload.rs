//! Requests as clients of batch services send them, by published statistics if available.

use serde_json::{Value, json};

use overnight_testkit::engine::{CostModel, Job};

use super::chance::Chance;
use crate::workload::MODEL;

/// Llama 3.1 8B in 16 bits on an A100 with 40 GB: 45 % of its arithmetic for prompts; the weights and the context are read once a step at
/// 1.55 TB/s, and a token of context has 131,072 bytes.
pub(super) const A100: CostModel = CostModel {
    prompt_tokens_per_second: 8_800.0,
    output_tokens_per_second: 95.0,
    batch_growth: 0.011,
    context_tokens_per_second: 11_800_000.0,
    step_tokens_max: 2_048,
    kv_cache_tokens: 147_456,
    prefix_caching: true,
};

/// The same model on an L4 with 24 GB.
const L4: CostModel = CostModel {
    prompt_tokens_per_second: 3_400.0,
    output_tokens_per_second: 18.7,
    batch_growth: 0.009,
    context_tokens_per_second: 2_290_000.0,
    step_tokens_max: 2_048,
    kv_cache_tokens: 36_864,
    prefix_caching: true,
};

#[derive(Debug)]
pub(super) struct Request {
    pub(super) account: i64,
    /// The number of its file.
    pub(super) file: usize,
    pub(super) body: Vec<u8>,
    pub(super) job: Job,
}

/// Requests in order of arrival, and the engines for them.
#[derive(Debug)]
pub(super) struct Workload {
    pub(super) requests: Vec<Request>,
    pub(super) cost: CostModel,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Thirteen questions about each document, which precedes them.
    DocumentQa,
    /// Rows after the examples of one of several tasks, on an engine whose cache holds few tasks.
    FewShot,
    /// Turns of conversations, each a request with all turns before; lengths of LMSYS-Chat-1M (L. Zheng et al., 2024: a prompt has 70
    /// tokens, an answer 215).
    Chat,
    /// Rows of tables whose first columns repeat (S. Liu et al.: "Optimizing LLM queries in relational data analytics workloads", 2025).
    TableRows,
    /// Steps of agents of two accounts, each after its long list of tools and system prompt.
    Agents,
}

impl Kind {
    /// All kinds, in the order of the reports.
    pub const ALL: [Self; 5] = [Self::DocumentQa, Self::FewShot, Self::Chat, Self::TableRows, Self::Agents];

    pub const fn name(self) -> &'static str {
        match self {
            Self::DocumentQa => "document QA",
            Self::FewShot => "few-shot, small cache",
            Self::Chat => "chat",
            Self::TableRows => "table rows",
            Self::Agents => "agents",
        }
    }

    /// About `count` requests, in an order that mixes their groups as parallel clients do.
    pub(super) fn generate(self, count: usize, seed: u64) -> Workload {
        let mut chance = Chance::new(seed ^ (self as u64) << 32);
        let (mut drafts, cost) = match self {
            Self::DocumentQa => (document_qa(count, &mut chance), A100),
            Self::FewShot => (few_shot(count, &mut chance), L4),
            Self::Chat => (chat(count, &mut chance), A100),
            Self::TableRows => (table_rows(count, &mut chance), L4),
            Self::Agents => (agents(count, &mut chance), A100),
        };
        chance.shuffle(&mut drafts);
        let requests = drafts.into_iter().enumerate().map(|(at, draft)| draft.finish(at)).collect();
        Workload { requests, cost }
    }
}

pub(super) const FILE_REQUESTS: usize = 200;

#[derive(Debug)]
struct Draft {
    account: i64,
    tools: Option<Value>,
    messages: Vec<Value>,
    output_tokens: usize,
}

impl Draft {
    fn new(messages: Vec<Value>, output_tokens: usize) -> Self {
        Self { account: 1, tools: None, messages, output_tokens: output_tokens.max(1) }
    }

    fn finish(self, at: usize) -> Request {
        let mut body = json!({"model": MODEL, "messages": self.messages, "max_tokens": self.output_tokens});
        if let Some(tools) = self.tools {
            body["tools"] = tools;
        }
        let body = body.to_string().into_bytes();
        let job = Job::from_body(&body).unwrap_or_default();
        Request { account: self.account, file: at / FILE_REQUESTS, body, job }
    }
}

fn message(role: &str, content: &str) -> Value {
    json!({"role": role, "content": content})
}

fn document_qa(count: usize, chance: &mut Chance) -> Vec<Draft> {
    let mut drafts = Vec::new();
    while drafts.len() < count {
        let length = chance.length(6_000, 0.5);
        let document = chance.words(length);
        for _ in 0..13 {
            let question = chance.words(40);
            let messages = vec![
                message("system", "Answer from the document."),
                message("user", &format!("{document}\n\nQuestion: {question}")),
            ];
            drafts.push(Draft::new(messages, chance.length(48, 0.5)));
        }
    }
    drafts
}

fn few_shot(count: usize, chance: &mut Chance) -> Vec<Draft> {
    let tasks: Vec<String> = (0..32).map(|_| chance.words(2_500)).collect();
    (0..count)
        .map(|at| {
            let row = chance.words(80);
            let messages = vec![message("user", &format!("{}\n\nInput: {row}", tasks[at % tasks.len()]))];
            Draft::new(messages, chance.length(8, 0.3))
        })
        .collect()
}

fn chat(count: usize, chance: &mut Chance) -> Vec<Draft> {
    let systems: Vec<String> = (0..32)
        .map(|_| {
            let length = chance.length(500, 0.6);
            chance.words(length)
        })
        .collect();
    let mut drafts = Vec::new();
    while drafts.len() < count {
        let system = &systems[chance.below(systems.len())];
        let mut messages = vec![message("system", system)];
        for _ in 0..1 + chance.below(9) {
            let (asked, answered) = (chance.length(60, 0.8), chance.length(190, 0.7));
            messages.push(message("user", &chance.words(asked)));
            drafts.push(Draft::new(messages.clone(), answered));
            messages.push(message("assistant", &chance.words(answered)));
        }
    }
    drafts
}

fn table_rows(count: usize, chance: &mut Chance) -> Vec<Draft> {
    let mut drafts = Vec::new();
    let tables = 8;
    for _ in 0..tables {
        let instruction = chance.words(150);
        let brands: Vec<String> = (0..6).map(|_| chance.words(60)).collect();
        let products: Vec<String> = (0..24).map(|_| chance.words(400)).collect();
        for _ in 0..count / tables {
            let product = chance.below(products.len());
            let (brand, product) = (&brands[product % brands.len()], &products[product]);
            let review = chance.length(60, 0.6);
            let row = format!(
                "{{\"brand\": \"{brand}\", \"product\": \"{product}\", \"review\": \"{}\"}}",
                chance.words(review)
            );
            let messages = vec![message("system", &instruction), message("user", &row)];
            drafts.push(Draft::new(messages, chance.length(12, 0.5)));
        }
    }
    drafts
}

fn agents(count: usize, chance: &mut Chance) -> Vec<Draft> {
    let mut drafts = Vec::new();
    for account in [1, 2] {
        let tools: Vec<Value> = (0..40)
            .map(|number| {
                let function = json!({"name": format!("tool_{number}"), "description": chance.words(180)});
                json!({"type": "function", "function": function})
            })
            .collect();
        let system = message("system", &chance.words(4_500));
        let before = drafts.len();
        while drafts.len() - before < count / 2 {
            let task = chance.length(500, 0.5);
            let mut messages = vec![system.clone(), message("user", &chance.words(task))];
            for _ in 0..4 + chance.below(16) {
                let answered = chance.length(70, 0.6);
                let mut draft = Draft::new(messages.clone(), answered);
                (draft.account, draft.tools) = (account, Some(Value::from(tools.clone())));
                drafts.push(draft);
                messages.push(message("assistant", &chance.words(answered)));
                let seen = chance.length(350, 0.8);
                messages.push(message("tool", &chance.words(seen)));
            }
        }
    }
    drafts
}
