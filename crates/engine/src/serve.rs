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
    http::{Engine, Ready, router},
    llama::{Llama, Settings},
    metrics::Metrics,
    parent,
    scheduler::Scheduler,
    template::ChatTemplate,
    worker::{self, Command},
};

/// How long the step under way may take once the parent is gone.
const STOP_WAIT: Duration = Duration::from_secs(5);

/// Why a run failed.
type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Serves until standard input ends.
///
/// # Errors
/// Whatever keeps the engine from serving, as a sentence.
pub fn serve(arguments: Arguments) -> Pin<Box<dyn Future<Output = Result<(), Failure>>>> {
    // Boxed, so that it is compiled here, and not a second time as a part of the program.
    Box::pin(start(arguments))
}

async fn start(arguments: Arguments) -> Result<(), Failure> {
    let mut input = io::BufReader::new(io::stdin());
    let Some(key) = parent::read_key(&mut input)? else { return Ok(()) };
    let parent_gone = parent::watch(input);
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    announce(&listener)?;
    let metrics = Arc::new(Metrics::default());
    let (commands, received) = mpsc::unbounded_channel();
    let settings = arguments.settings();
    let engine =
        Engine::new(arguments.name, key, Seeds::from_system()?, Arc::clone(&metrics), commands.clone());
    let engine = Arc::new(engine);
    let stop = Arc::new(AtomicBool::new(false));
    let work = Work { settings, engine: Arc::clone(&engine), metrics, received, stop: Arc::clone(&stop) };
    let mut worker_ended = work.start()?;
    let server = axum::serve(listener, router(engine)).into_future();
    tokio::select! {
        served = server => served.map_err(Into::into),
        ended = &mut worker_ended => ended.unwrap_or_else(|_| Err("the thread that computes broke".into())),
        _ = parent_gone => {
            stop.store(true, Ordering::Relaxed);
            let _ = commands.send(Command::Stop);
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

/// What the thread that computes needs.
struct Work {
    settings: Settings,
    engine: Arc<Engine>,
    metrics: Arc<Metrics>,
    received: mpsc::UnboundedReceiver<Command>,
    stop: Arc<AtomicBool>,
}

impl Work {
    /// Starts the thread; the receiver hears how it ended, or nothing if it broke.
    fn start(self) -> io::Result<oneshot::Receiver<Result<(), Failure>>> {
        let (ended, hears) = oneshot::channel();
        let run = move || {
            // Nobody hears of the end of a process that is ending.
            let _ = ended.send(self.run());
        };
        thread::Builder::new().name("compute".to_owned()).spawn(run)?;
        Ok(hears)
    }

    fn run(self) -> Result<(), Failure> {
        let llama = match Llama::load(self.settings, Arc::clone(&self.stop)) {
            Err(_) if self.stop.load(Ordering::Relaxed) => return Ok(()),
            loaded => loaded?,
        };
        let decoder = llama.decoder()?;
        let (capacity, vocabulary) = (llama.capacity(), llama.vocabulary());
        let (bos_token, eos_token) = llama.edge_texts();
        let template = ChatTemplate::compile(llama.chat_template().as_deref(), bos_token, eos_token)
            .map_err(|fault| format!("the model's chat template cannot be read: {fault}"))?;
        let scheduler = Scheduler::new(decoder, vocabulary.clone(), capacity, self.metrics);
        let grammars = Grammars::new(vocabulary.clone());
        self.engine.open(Ready { vocabulary, template, capacity, grammars });
        tracing::info!(devices = %llama.devices(), ?capacity, "serve model");
        worker::run(scheduler, self.received);
        Ok(())
    }
}
