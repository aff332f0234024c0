//! Compiles forms, and keeps those used last.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex, OnceLock, PoisonError},
    thread,
    time::Duration,
};

use llguidance::{
    Matcher, ParserFactory, TokenParser,
    api::TopLevelGrammar,
    earley::SlicedBiasComputer,
    toktrie::{ApproximateTokEnv, INVALID_TOKEN, InferenceCapabilities, TokEnv, TokRxInfo, TokTrie},
};

use super::{Form, Grammar, Shape, Unkept, grammar::unkept, limits::parser_limits};
use crate::{clock::Stopwatch, model::Vocabulary};

/// The most grammars that are kept.
const GRAMMARS_MAX: usize = 16;
/// The stack of a compilation, which descends into schemas, rules and references. Only what is used takes memory.
const STACK_BYTES: usize = 128 * 1024 * 1024;
/// The byte that marks special tokens to the library. No text in UTF-8 holds it.
const MARK: u8 = 0xFF;

/// The compiler for one vocabulary. What it needs of the vocabulary is made when the first form comes.
pub struct Grammars {
    vocabulary: Arc<dyn Vocabulary>,
    factory: OnceLock<Result<ParserFactory, String>>,
    /// Forms with their grammars, the one used last at the end.
    kept: Mutex<VecDeque<(String, Arc<Grammar>)>>,
    /// One compilation at a time: a form may take a second, and the model computes meanwhile.
    compiling: Mutex<()>,
}

impl Grammars {
    /// A compiler that has compiled nothing.
    #[must_use]
    pub fn new(vocabulary: Arc<dyn Vocabulary>) -> Self {
        Self { vocabulary, factory: OnceLock::new(), kept: Mutex::default(), compiling: Mutex::default() }
    }

    /// The grammar of a form, compiled or kept. May take a second.
    ///
    /// # Errors
    /// [`Unkept`] for a form that is invalid, not supported or too costly.
    pub fn compile(&self, form: &Form) -> Result<Arc<Grammar>, Unkept> {
        let key = format!("{}{}", form.field, form.shape);
        form.shape.review().map_err(|reason| Unkept { field: form.field, reason })?;
        if let Some(grammar) = self.find(&key) {
            return Ok(grammar);
        }
        let _turn = self.compiling.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(grammar) = self.find(&key) {
            return Ok(grammar);
        }
        let (parser, first_time) = self.build(&form.shape).map_err(|fault| unkept(form.field, &fault))?;
        let grammar = Arc::new(Grammar::new(form.field, parser, first_time));
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() == GRAMMARS_MAX {
            kept.pop_front();
        }
        kept.push_back((key, Arc::clone(&grammar)));
        Ok(grammar)
    }

    fn find(&self, key: &str) -> Option<Arc<Grammar>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let place = kept.iter().position(|(schema, _)| schema == key)?;
        let found = kept.remove(place)?;
        let grammar = Arc::clone(&found.1);
        kept.push_back(found);
        Some(grammar)
    }

    fn build(&self, shape: &Shape) -> Result<(TokenParser, Duration), String> {
        let factory = self.factory.get_or_init(|| factory(self.vocabulary.as_ref())).as_ref();
        let factory = factory.map_err(Clone::clone)?;
        thread::scope(|scope| {
            let compiling = move || parser(factory, shape.grammar());
            let thread = thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, compiling);
            let broke = |_| Err("the compiler of forms broke".to_owned());
            thread.map_err(|fault| fault.to_string())?.join().unwrap_or_else(broke)
        })
    }
}

impl fmt::Debug for Grammars {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Grammars").finish_non_exhaustive()
    }
}

/// Compiles a grammar and tries whether an answer can begin. Also says how long the trial took.
fn parser(factory: &ParserFactory, grammar: TopLevelGrammar) -> Result<(TokenParser, Duration), String> {
    let parser = factory.create_parser(grammar).map_err(|fault| fault.to_string())?;
    let mut trial = Matcher::new(Ok(parser.deep_clone()));
    let stopwatch = Stopwatch::start();
    trial.compute_mask().map_err(|_| "no answer is valid under it".to_owned())?;
    Ok((parser, stopwatch.elapsed()))
}

fn factory(vocabulary: &dyn Vocabulary) -> Result<ParserFactory, String> {
    let count = u32::try_from(vocabulary.token_count()).map_err(|fault| fault.to_string())?;
    let ends = vocabulary.end_tokens();
    let piece = |token| match vocabulary.piece(token) {
        [MARK, ..] => Vec::new(),
        _ if ends.contains(&token) => Vec::new(),
        piece => piece.to_vec(),
    };
    let pieces: Vec<Vec<u8>> = (0..count).map(piece).collect();
    let trie = TokTrie::from(&TokRxInfo::new(count, INVALID_TOKEN), &pieces);
    let trie = if ends.is_empty() { trie } else { trie.with_eos_tokens(ends) };
    let environment: TokEnv = Arc::new(ApproximateTokEnv::new(trie));
    let slices = SlicedBiasComputer::json_slices();
    let mut factory = ParserFactory::new(&environment, InferenceCapabilities::default(), &slices)
        .map_err(|fault| fault.to_string())?;
    factory.quiet();
    *factory.limits_mut() = parser_limits();
    Ok(factory)
}
