//! The program overnight: serve, run, submit, watch, results and the operator commands.

fn main() {}
