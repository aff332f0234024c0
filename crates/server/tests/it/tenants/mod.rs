//! Attacks of one account on another: every operation of every dialect and page is called with identifiers of the other account.

mod attack;
mod budgets;
mod callers;
mod cases;
mod foreign;
mod ids;
mod routes;
mod scripts;
mod sent;
mod statements;
mod world;
