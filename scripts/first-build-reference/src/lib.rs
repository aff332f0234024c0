//! Nothing but its dependencies.
