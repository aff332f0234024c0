//! Lists that have large bodies, and what operators see of them.

use crate::requests::Filter;
use crate::tests::objects::{MIN_BYTES, World, large_body, large_result};
use crate::tests::prelude::*;

on_both!(a_list_of_large_bodies_is_in_order_and_its_pages_stay_small);
async fn a_list_of_large_bodies_is_in_order_and_its_pages_stay_small(world: &mut World) {
    let mut ids = Vec::new();
    for key in 0..150 {
        // Some are large in the database, and some are small.
        match key {
            40 => world.set(None).await,
            44 => world.set(Some(MIN_BYTES)).await,
            _ => {}
        }
        match key % 10 {
            7 => ids.extend(world.fixture.insert(&[key]).await),
            _ => ids.push(world.insert_large(key).await),
        }
    }
    world.complete().await;
    for direction in [Direction::OldestFirst, Direction::NewestFirst] {
        let scope = PageScope::Account(world.fixture.account, direction);
        let (mut found, mut after, mut pages) = (Vec::new(), None, 0);
        loop {
            let page = requests::page_records(world.store(), scope, &Filter::default(), after, None).await;
            let page = page.expect("a page");
            let bytes =
                page.rows.iter().map(|it| it.body.len() + it.result.as_ref().map_or(0, |it| it.len()));
            assert!(bytes.sum::<usize>() <= (1 << 20) + 2 * large_result().len());
            pages += 1;
            for record in page.rows {
                assert_eq!(record.result, Some(large_result()));
                found.push(record.summary.id);
                if record.body.len() > 1_000 {
                    let key = u8::try_from(ids.iter().position(|id| *id == record.summary.id).expect("ours"));
                    assert_eq!(record.body, large_body(key.expect("a key")));
                }
            }
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        assert!(pages > 3, "{pages}");
        if direction == Direction::NewestFirst {
            found.reverse();
        }
        assert_eq!(found, ids);
    }
}

on_both!(operators_see_how_long_large_bodies_are_and_what_waits_to_be_deleted);
async fn operators_see_how_long_large_bodies_are_and_what_waits_to_be_deleted(world: &mut World) {
    let deleted = world.insert_large(1).await;
    world.insert_large(2).await;
    world.fixture.insert(&[3]).await;
    world.complete().await;
    let account = world.fixture.account;
    world.store().stored(account, large_body(9), START).await.expect("a put that is never used");
    world.delete(deleted).await;
    let mut connection = world.store().connect().await.expect("a connection");
    let lengths = sql(
        "SELECT CAST(body_bytes AS BIGINT) AS body, CAST(result_bytes AS BIGINT) AS result FROM overnight_requests ORDER BY seq",
    );
    let lengths = connection.fetch(lengths).await.expect("rows");
    let lengths: Vec<(i64, i64)> = lengths
        .iter()
        .map(|row| (row.get("body").expect("a length"), row.get("result").expect("a length")))
        .collect();
    let (body, result) = (large_body(2).len() as i64, large_result().len() as i64);
    assert_eq!(lengths[0], (body, result));
    assert!(lengths.len() == 2 && lengths[1].0 < 1_000 && lengths[1].1 == result, "{lengths:?}");
    let objects = sql(
        "SELECT state, objects, bytes, CASE WHEN next_deleted_at IS NULL THEN 0 ELSE 1 END AS is_timed FROM overnight_objects ORDER BY state",
    );
    let objects = connection.fetch(objects).await.expect("rows");
    connection.close().await.expect("an end");
    let objects: Vec<(String, i64, i64, bool)> = objects
        .iter()
        .map(|row| {
            let state = row.get("state").expect("a state");
            let figure = |column| row.get(column).expect("a figure");
            (state, figure("objects"), figure("bytes"), row.get("is_timed").expect("a flag"))
        })
        .collect();
    let (used, bytes) = (3, body + 2 * result);
    let wanted = [
        ("being put", 1, body, true),
        ("in use", used, bytes, false),
        ("in use no more", 2, body + result, false),
    ];
    assert_eq!(objects, wanted.map(|(state, count, bytes, timed)| (state.to_owned(), count, bytes, timed)));
}
