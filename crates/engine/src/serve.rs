//! One run of the program, from the key to the end of standard input.

use std::{
    io::{self, Write},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use tokio::{
    net::TcpListener,
    sync::{mpsc, oneshot},
    time::timeout,
};

use crate::{
    args::Arguments,
    chance::Seeds,
    constraint::Grammars,
    embeddings::Embeddings,
    http::{Chat, Engine, Ready, Serving, Vectors, router},
    llama::{Llama, Purpose, Settings},
    metrics::Metrics,
    parent,
    scheduler::Scheduler,
    template::{Renderer, Source},
    worker::{self, Command, Stepping},
};

/// How long the current step may take once the parent is gone.
const STOP_WAIT: Duration = Duration::from_secs(5);

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Serves until standard input ends. Fails with a sentence.
pub fn serve(arguments: Arguments) -> Pin<Box<dyn Future<Output = Result<(), Failure>>>> {
    // Boxed, so that it is compiled here, and not again in the program.
    Box::pin(start(arguments))
}

async fn start(arguments: Arguments) -> Result<(), Failure> {
    let mut input = io::BufReader::new(io::stdin());
    let Some(key) = parent::read_key(&mut input)? else { return Ok(()) };
    let parent_gone = parent::watch(input);
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    announce(&listener)?;
    let metrics = Arc::new(Metrics::default());
    let settings = arguments.settings();
    let engine = Engine::new(arguments.name, key, Seeds::from_system()?, Arc::clone(&metrics));
    let engine = Arc::new(engine);
    let stop = Arc::new(AtomicBool::new(false));
    let work = Work { settings, engine: Arc::clone(&engine), metrics, stop: Arc::clone(&stop) };
    let mut worker_ended = work.start()?;
    let server = axum::serve(listener, router(Arc::clone(&engine))).into_future();
    tokio::select! {
        served = server => served.map_err(Into::into),
        ended = &mut worker_ended => ended.unwrap_or_else(|_| Err("the thread that computes broke".into())),
        _ = parent_gone => {
            stop.store(true, Ordering::SeqCst);
            engine.stop();
            let _ = timeout(STOP_WAIT, worker_ended).await;
            Ok(())
        }
    }
}

fn announce(listener: &TcpListener) -> Result<(), Failure> {
    let line = serde_json::json!({ "listening": listener.local_addr()?.to_string() });
    let mut output = io::stdout();
    writeln!(output, "{line}")?;
    Ok(output.flush()?)
}

/// The inputs of the computing thread.
struct Work {
    settings: Settings,
    engine: Arc<Engine>,
    metrics: Arc<Metrics>,
    stop: Arc<AtomicBool>,
}

impl Work {
    /// Starts the thread; the receiver gets its result, or nothing if it panicked.
    fn start(self) -> io::Result<oneshot::Receiver<Result<(), Failure>>> {
        let (ended, hears) = oneshot::channel();
        let run = move || {
            // The receiver is gone if the process is ending.
            let _ = ended.send(self.run());
        };
        thread::Builder::new().name("compute".to_owned()).spawn(run)?;
        Ok(hears)
    }

    fn run(self) -> Result<(), Failure> {
        let llama = match Llama::load(self.settings.clone(), Arc::clone(&self.stop)) {
            Err(_) if self.stop.load(Ordering::Relaxed) => return Ok(()),
            loaded => loaded?,
        };
        match llama.purpose() {
            Purpose::Chat => self.serve_chat(&llama),
            Purpose::Embeddings => self.serve_embeddings(&llama),
        }
    }

    fn serve_chat(self, llama: &Llama) -> Result<(), Failure> {
        let decoder = llama.decoder()?;
        let (capacity, vocabulary) = (llama.capacity(), llama.vocabulary());
        let (bos_token, eos_token) = llama.edge_texts();
        let (template, controls) = (llama.chat_template(), llama.control_texts());
        let template = Renderer::start(&Source { template, bos_token, eos_token, controls })
            .map_err(|fault| format!("the model's chat template cannot be read: {fault}"))?;
        let scheduler = Scheduler::new(decoder, vocabulary.clone(), capacity, self.metrics);
        let grammars = Arc::new(Grammars::new(vocabulary.clone()));
        let (commands, received) = mpsc::unbounded_channel();
        let serving = Serving::Chat(Box::new(Chat { template, grammars, commands }));
        self.engine.open(Ready { vocabulary, context: capacity.context, serving });
        tracing::info!(devices = %llama.devices(), ?capacity, "serve model");
        run(&self.stop, scheduler, received);
        Ok(())
    }

    fn serve_embeddings(self, llama: &Llama) -> Result<(), Failure> {
        let (capacity, vocabulary) = (llama.embedder_capacity()?, llama.vocabulary());
        let embeddings = Embeddings::new(llama.embedder()?, capacity, self.metrics);
        let (commands, received) = mpsc::unbounded_channel();
        let serving = Serving::Embeddings(Vectors { width: capacity.width, commands });
        self.engine.open(Ready { vocabulary, context: capacity.context, serving });
        tracing::info!(devices = %llama.devices(), ?capacity, "serve embedding model");
        run(&self.stop, embeddings, received);
        Ok(())
    }
}

/// Computes, unless a stop came before there was a receiver for it.
fn run<S: Stepping>(stop: &AtomicBool, computing: S, received: mpsc::UnboundedReceiver<Command<S::Job>>) {
    if !stop.load(Ordering::SeqCst) {
        worker::run(computing, received);
    }
}
