//! What is true: types, state machines, sort key, sweep order. No I/O, no async, no clock.
