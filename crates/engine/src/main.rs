//! The program overnight-engine: llama.cpp behind the OpenAI HTTP API, for one machine.

fn main() {}
