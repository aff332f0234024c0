"""The parts of `scripts/engines`: the engines, the service, the trials, and what came of them."""
