//! Compiles forms, and keeps the most recently used.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    thread,
};

use llguidance::{
    Matcher, ParserFactory, TokenParser,
    api::TopLevelGrammar,
    earley::SlicedBiasComputer,
    toktrie::{ApproximateTokEnv, INVALID_TOKEN, InferenceCapabilities, TokEnv, TokRxInfo, TokTrie},
};

use super::{
    Grammar, Reviewed, Shape, Unkept,
    grammar::{is_limit, unkept},
    limits::{
        FIRST_STEP_TIME_MAX, GRAMMARS_BYTES_MAX, GRAMMARS_MAX, NICENESS, STACK_BYTES, STEP_TIME_MAX,
        parser_limits,
    },
    watchdog::Watchdog,
};
use crate::model::Vocabulary;

/// Marks special tokens to the library. No UTF-8 text contains it.
const MARK: u8 = 0xFF;

/// The compiler for one vocabulary, initialised with the first form.
pub struct Grammars {
    vocabulary: Arc<dyn Vocabulary>,
    tools: OnceLock<Result<(ParserFactory, Watchdog), String>>,
    /// The most recently used last.
    kept: Mutex<VecDeque<Kept>>,
    /// One compilation at a time: a form may take a second, and the model computes meanwhile.
    compiling: Mutex<()>,
}

/// A form that an account used.
struct Kept {
    account: Arc<str>,
    field: &'static str,
    text: String,
    grammar: Arc<Grammar>,
}

impl Kept {
    fn bytes(&self) -> usize {
        self.text.len() + self.grammar.bytes()
    }
}

impl Grammars {
    #[must_use]
    pub fn new(vocabulary: Arc<dyn Vocabulary>) -> Self {
        Self { vocabulary, tools: OnceLock::new(), kept: Mutex::default(), compiling: Mutex::default() }
    }

    /// The grammar of a form that the account used lately. Takes no time.
    pub fn find(&self, account: &str, form: &Reviewed) -> Option<Arc<Grammar>> {
        let mut kept = self.kept();
        let is_same =
            |it: &Kept| *it.account == *account && it.field == form.form.field && it.text == form.text;
        let place = kept.iter().position(is_same)?;
        let found = kept.remove(place)?;
        let grammar = Arc::clone(&found.grammar);
        kept.push_back(found);
        // Grammars grow with their answers.
        shrink(&mut kept);
        Some(grammar)
    }

    /// Compiles a form of an account, and keeps its grammar, which takes about `bytes`. A form that [`super::try_out`] accepts takes up to
    /// a second. Fails if the form is invalid, unsupported or too costly.
    pub fn compile(&self, account: &Arc<str>, form: &Reviewed, bytes: usize) -> Result<Arc<Grammar>, Unkept> {
        let _turn = self.compiling.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(grammar) = self.find(account, form) {
            return Ok(grammar);
        }
        let Reviewed { form, text } = form;
        let grammar = self.build(&form.shape, |parser, watchdog| {
            Arc::new(Grammar::new(form.field, parser, watchdog.clone(), bytes))
        });
        let grammar = grammar.map_err(|fault| unkept(form.field, &fault))?;
        let (account, field, text) = (Arc::clone(account), form.field, text.clone());
        let mut kept = self.kept();
        kept.push_back(Kept { account, field, text, grammar: Arc::clone(&grammar) });
        shrink(&mut kept);
        Ok(grammar)
    }

    fn build<T>(&self, shape: &Shape, make: impl FnOnce(TokenParser, &Watchdog) -> T) -> Result<T, String> {
        let tools = self.tools.get_or_init(|| {
            let watchdog = Watchdog::start(STEP_TIME_MAX).map_err(|fault| fault.to_string())?;
            Ok((factory(&environment(self.vocabulary.as_ref())?)?, watchdog))
        });
        let (factory, watchdog) = tools.as_ref().map_err(Clone::clone)?;
        Ok(make(compile(factory, shape)?, watchdog))
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Grammars {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Grammars").finish_non_exhaustive()
    }
}

/// Removes forms down to both limits: of the account with the most forms or memory, the least recently used first.
fn shrink(kept: &mut VecDeque<Kept>) {
    loop {
        let weight: fn(&Kept) -> usize = if kept.len() > GRAMMARS_MAX {
            |_| 1
        } else if kept.iter().map(Kept::bytes).sum::<usize>() > GRAMMARS_BYTES_MAX {
            Kept::bytes
        } else {
            return;
        };
        let of =
            |account: &str| -> usize { kept.iter().filter(|it| *it.account == *account).map(weight).sum() };
        // Of equal accounts, the one whose form was used the longest ago.
        let most = kept.iter().rev().map(|it| Arc::clone(&it.account)).max_by_key(|account| of(account));
        let place = kept.iter().position(|it| Some(&it.account) == most.as_ref());
        place.and_then(|place| kept.remove(place));
    }
}

/// Compiles a shape and checks that an answer can begin.
pub(super) fn compile(factory: &ParserFactory, shape: &Shape) -> Result<TokenParser, String> {
    thread::scope(|scope| {
        let compiling = move || {
            // Elsewhere it would apply to the whole process. The unit of systemd forbids it.
            #[cfg(target_os = "linux")]
            let _ = rustix::process::nice(NICENESS);
            parser(factory, shape.grammar())
        };
        let thread = thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, compiling);
        let broke = |_| Err("the compiler of forms broke".to_owned());
        thread.map_err(|fault| fault.to_string())?.join().unwrap_or_else(broke)
    })
}

fn parser(factory: &ParserFactory, grammar: TopLevelGrammar) -> Result<TokenParser, String> {
    let parser = factory.create_parser(grammar).map_err(|fault| fault.to_string())?;
    let mut trial = Matcher::new(Ok(parser.deep_clone())).into_cancellable();
    let watchdog = Watchdog::start(FIRST_STEP_TIME_MAX).map_err(|fault| fault.to_string())?;
    let mask = watchdog.watch(trial.cancellation_handle(), || trial.compute_mask());
    match mask {
        Ok(_) => Ok(parser),
        Err(_) if trial.is_cancelled() => Err(format!("it is too complex, {}", watchdog.limit())),
        Err(fault) if is_limit(&fault.to_string()) => Err(fault.to_string()),
        Err(_) => Err("no answer is valid under it".to_owned()),
    }
}

fn environment(vocabulary: &dyn Vocabulary) -> Result<TokEnv, String> {
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
    Ok(Arc::new(ApproximateTokEnv::new(trie)))
}

pub(super) fn factory(environment: &TokEnv) -> Result<ParserFactory, String> {
    let slices = SlicedBiasComputer::json_slices();
    let mut factory = ParserFactory::new(environment, InferenceCapabilities::default(), &slices)
        .map_err(|fault| fault.to_string())?;
    factory.quiet();
    *factory.limits_mut() = parser_limits();
    Ok(factory)
}
