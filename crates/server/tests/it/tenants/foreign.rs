//! Every operation with foreign identifiers by four kinds of callers.

use std::collections::BTreeSet;

use overnight_testkit::proof;

use super::attack::{Attack, call_as_everybody};
use super::cases::{self, For};
use super::routes;
use super::world::World;

#[tokio::test]
async fn every_operation_has_a_case_that_attacks_it() {
    let world = World::open().await;
    let served = routes::operations(&world.app.services);
    let tried: BTreeSet<String> = cases::all().map(|case| case.operation.to_owned()).collect();
    let missing: Vec<_> = served.difference(&tried).collect();
    assert!(
        missing.is_empty(),
        "{missing:#?} have no case: add one to the list of its dialect in crates/server/tests/it/tenants/cases/, with \
         whose the operation is, what the identifiers in its path, query and body may name (`naming`, `naming_in`), and \
         what it sends"
    );
    let gone: Vec<_> = tried.difference(&served).collect();
    assert!(gone.is_empty(), "{gone:#?} are not served any more: take their cases away");
    for case in cases::all().filter(|case| matches!(case.whose, For::Member | For::Operator | For::Program)) {
        let named =
            case.path().replace("{account}", if case.whose == For::Member { "" } else { "{account}" });
        let names_nothing = !named.contains('{') || named.contains("{*model}");
        let is_named = cases::all().any(|other| other.operation == case.operation && !other.nouns.is_empty());
        assert!(names_nothing || is_named, "{}: no case says what its path names", case.operation);
    }
    world.app.stop().await;
}

#[tokio::test]
async fn a_foreign_id_is_answered_as_an_unknown_one_by_every_operation() {
    let mut world = World::open().await;
    let (mut calls, mut attacks) = (0, 0);
    for case in cases::all() {
        if case.whose == For::Anyone {
            calls += call_as_everybody(&mut world, case).await;
            continue;
        }
        for target in case.targets() {
            calls += Attack::prepare(&mut world, case, target).await.run().await;
            attacks += 1;
        }
    }
    let operations = cases::all().map(|case| case.operation).collect::<BTreeSet<_>>().len();
    proof::record(
        "tenants",
        &format!(
            "{operations} operations × 4 callers, {attacks} attacks with foreign and unknown ids in {calls} calls"
        ),
    );
    world.app.stop().await;
}
