//! The command line.

use std::path::PathBuf;

use clap::Parser;

use crate::{cpu, llama::Settings};

/// llama.cpp behind OpenAI's HTTP API, for one machine.
///
/// A parent process starts it: the first line on standard input is {"key":"<64 hexadecimal digits>"}, wanted as
/// `Authorization: Bearer` by every path but /health; the first line on standard output is
/// {"listening":"127.0.0.1:PORT"}. It ends when standard input ends.
#[derive(Debug, Parser)]
#[command(name = "overnight-engine", version, about, long_about)]
pub struct Arguments {
    /// The model, a GGUF file.
    #[arg(long, value_name = "PATH")]
    pub model: PathBuf,
    /// The name that clients call the model by.
    #[arg(long, value_name = "SERVED_NAME")]
    pub name: String,
    /// Threads that compute; more than the free cores are slower [default: physical cores less one, at least 1].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// The most sequences that are computed together.
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u16).range(1..=128))]
    parallel: u16,
    /// Tokens that one request may hold, prompt and answer together; at most what the model was trained on.
    #[arg(long, value_name = "N", default_value_t = 4096, value_parser = clap::value_parser!(u32).range(16..=16_777_216))]
    context: u32,
    /// Layers of the model that GPUs compute, where the program was built for them; 0 leaves all to the processor [default: all].
    #[arg(long, value_name = "N")]
    gpu_layers: Option<u32>,
}

impl Arguments {
    #[must_use]
    pub fn settings(&self) -> Settings {
        Settings {
            path: self.model.clone(),
            threads: self.threads.map_or_else(cpu::default_threads, usize::from),
            parallel: usize::from(self.parallel),
            context: self.context as usize,
            gpu_layers: self.gpu_layers,
        }
    }
}
