//! The program `overnight`.

use std::process::ExitCode;

const _: () =
    assert!(!overnight_server::HOLDS_PLANTED_BUGS, "the mistakes that tests must catch are in no program");

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    overnight_cli::main()
}
