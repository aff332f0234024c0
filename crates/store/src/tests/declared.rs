//! Every statement that is declared, file by file.

use crate::database::Sql;
use crate::{
    audit_log, batches, closing, database, disk_space, effects, encryption, files, idempotency_keys,
    identity, key_retention, last_deleted, ledger, low_credits, nodes, objects, opening, operations, outbox,
    queue, request_blocks, requests, server_faults, waits, writer, writes,
};

pub(super) fn statements() -> Vec<&'static [&'static Sql]> {
    [of_other_rooms(), of_batches(), of_outbox(), of_queue_and_requests()].concat()
}

fn of_other_rooms() -> Vec<&'static [&'static Sql]> {
    vec![
        closing::STATEMENTS,
        closing::erase::STATEMENTS,
        closing::live::STATEMENTS,
        database::migrations::STATEMENTS,
        database::ownership::STATEMENTS,
        database::settings::STATEMENTS,
        database::transaction::STATEMENTS,
        disk_space::STATEMENTS,
        effects::batch_counters::STATEMENTS,
        effects::batch_ends::STATEMENTS,
        effects::events::STATEMENTS,
        encryption::STATEMENTS,
        request_blocks::STATEMENTS,
        files::coming::STATEMENTS,
        files::deletion::STATEMENTS,
        files::parts::STATEMENTS,
        files::reads::STATEMENTS,
        files::upload_ends::STATEMENTS,
        files::uploads::STATEMENTS,
        idempotency_keys::STATEMENTS,
        identity::accounts::STATEMENTS,
        identity::api_keys::STATEMENTS,
        audit_log::bounds::STATEMENTS,
        audit_log::entries::STATEMENTS,
        audit_log::reads::STATEMENTS,
        audit_log::retention::STATEMENTS,
        identity::invitations::STATEMENTS,
        identity::withdrawals::STATEMENTS,
        identity::members::STATEMENTS,
        identity::sessions::STATEMENTS,
        identity::sign_in_failures::STATEMENTS,
        identity::users::STATEMENTS,
        ledger::activity::STATEMENTS,
        ledger::entries::STATEMENTS,
        ledger::monthly_grants::STATEMENTS,
        ledger::payment_checks::STATEMENTS,
        ledger::payments::STATEMENTS,
        ledger::price_points::STATEMENTS,
        ledger::spend::STATEMENTS,
        ledger::spend_by_key::STATEMENTS,
        ledger::totals::STATEMENTS,
        ledger::usage::STATEMENTS,
        nodes::engine_days::STATEMENTS,
        nodes::engine_reports::STATEMENTS,
        nodes::hints::STATEMENTS,
        nodes::lifecycle::STATEMENTS,
        nodes::replicas::STATEMENTS,
        nodes::statuses::STATEMENTS,
        opening::STATEMENTS,
        operations::backup::restoring::STATEMENTS,
        operations::backup::taking::STATEMENTS,
        operations::integrity::STATEMENTS,
        operations::own_schema::STATEMENTS,
        operations::transfer::target::STATEMENTS,
        operations::vacuum::STATEMENTS,
        key_retention::STATEMENTS,
        last_deleted::STATEMENTS,
        low_credits::STATEMENTS,
    ]
}

fn of_batches() -> Vec<&'static [&'static Sql]> {
    vec![
        batches::cancel::STATEMENTS,
        batches::deletion::STATEMENTS,
        batches::ends::STATEMENTS,
        batches::filling::STATEMENTS,
        batches::grouping::STATEMENTS,
        batches::inputs::STATEMENTS,
        batches::insert::STATEMENTS,
        batches::listing::STATEMENTS,
        batches::new::STATEMENTS,
        batches::reads::STATEMENTS,
    ]
}

fn of_outbox() -> Vec<&'static [&'static Sql]> {
    vec![
        outbox::account_events::STATEMENTS,
        outbox::claims::STATEMENTS,
        outbox::deletion::STATEMENTS,
        outbox::attempt_results::STATEMENTS,
        outbox::interruptions::STATEMENTS,
        outbox::lanes::STATEMENTS,
        outbox::test_events::STATEMENTS,
        outbox::reads::STATEMENTS,
        outbox::replays::STATEMENTS,
        outbox::webhook_secrets::STATEMENTS,
    ]
}

fn of_queue_and_requests() -> Vec<&'static [&'static Sql]> {
    vec![
        objects::audit::STATEMENTS,
        objects::owner::STATEMENTS,
        objects::sweep::STATEMENTS,
        objects::table::STATEMENTS,
        objects::unused::STATEMENTS,
        queue::queue_scan::STATEMENTS,
        queue::deadlines::STATEMENTS,
        queue::endings::STATEMENTS,
        queue::expiry::STATEMENTS,
        queue::leases::STATEMENTS,
        queue::outlook::STATEMENTS,
        queue::place::STATEMENTS,
        queue::releases::STATEMENTS,
        queue::segments::STATEMENTS,
        queue::scan::STATEMENTS,
        queue::settle::postgres::STATEMENTS,
        queue::settle::sqlite::STATEMENTS,
        requests::cancel::STATEMENTS,
        requests::deletion::STATEMENTS,
        requests::live::STATEMENTS,
        requests::listing::STATEMENTS,
        requests::STATEMENTS,
        requests::retention::STATEMENTS,
        requests::models::STATEMENTS,
        requests::unmarking::STATEMENTS,
        requests::pages::STATEMENTS,
        queue::attempts::STATEMENTS,
        queue::counts::STATEMENTS,
        requests::records::STATEMENTS,
        server_faults::STATEMENTS,
        waits::STATEMENTS,
        writer::core::STATEMENTS,
        writes::STATEMENTS,
    ]
}
