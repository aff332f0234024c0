use std::{env, fmt, io};

use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

const LLAMA: &str = "llama-cpp-2";

/// Logs to stderr: what `RUST_LOG` asks for, by default `info`, and warnings of llama.cpp.
pub fn init() {
    let asked = env::var("RUST_LOG").ok().and_then(|text| {
        let directives = text.split(',').map(str::trim).filter(|it| !it.is_empty());
        directives.collect::<Vec<_>>().join(",").parse().ok()
    });
    let filter: Targets = asked.unwrap_or_else(|| {
        Targets::new().with_default(LevelFilter::INFO).with_target(LLAMA, LevelFilter::WARN)
    });
    let log = tracing_subscriber::fmt().with_max_level(LevelFilter::TRACE);
    log.with_writer(io::stderr).with_ansi(false).finish().with(filter).with(WithoutUntrue).init();
}

/// Suppresses a false warning of llama.cpp. It takes all cells of the cache for the context of one sequence, and warns if the model was
/// trained on less; the scheduler ends every sequence at the training context.
struct WithoutUntrue;

impl<S: Subscriber> Layer<S> for WithoutUntrue {
    fn event_enabled(&self, event: &Event<'_>, _: Context<'_, S>) -> bool {
        if event.metadata().target() != LLAMA {
            return true;
        }
        let mut message = Message(String::new());
        event.record(&mut message);
        !is_untrue(&message.0)
    }
}

fn is_untrue(message: &str) -> bool {
    message.contains("n_ctx_seq (") && message.contains("> n_ctx_train (")
}

struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            self.0 = format!("{value:?}");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Paper(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Paper {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn only_what_is_untrue_of_the_context_is_kept_back() {
        let paper = Paper::default();
        let writer = paper.clone();
        let log = tracing_subscriber::fmt().with_writer(move || writer.clone()).with_ansi(false).finish();
        tracing::subscriber::with_default(log.with(WithoutUntrue), || {
            let (small, large) = (4_096, 32_768);
            tracing::warn!(
                target: LLAMA,
                "n_ctx_seq ({large}) > n_ctx_train ({small}) -- possible training context overflow"
            );
            tracing::warn!(target: LLAMA, "n_ctx_seq ({small}) < n_ctx_train ({large}) -- the full capacity of the model");
            tracing::warn!("n_ctx_seq (2) > n_ctx_train (1)");
        });
        let said = String::from_utf8(paper.0.lock().unwrap().clone()).unwrap();
        assert!(!said.contains("overflow"), "{said}");
        assert!(said.contains("full capacity") && said.contains("n_ctx_seq (2)"), "{said}");
    }
}
