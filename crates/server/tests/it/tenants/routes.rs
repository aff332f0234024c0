//! The served operations, read from the router.

use std::collections::{BTreeMap, BTreeSet};

use overnight_app::Services;
use overnight_http as http;

/// Every operation of a service, such as `GET /v1/requests`: the router's paths with their methods. Only the router's `Debug` output has
/// them. A list by hand could lack one.
pub(super) fn operations(services: &Services) -> BTreeSet<String> {
    let router = format!("{:?}", http::router(services.clone(), overnight_console::routes));
    // The fallback routes follow after it.
    let router = before(&router, "fallback_router");
    let (mut methods, mut paths) = (BTreeMap::new(), BTreeMap::new());
    for entry in router.split("RouteId(").skip(1) {
        let (number, rest) = entry.split_once("): ").expect("the number of a route");
        if let Some(path) = rest.strip_prefix('"') {
            paths.insert(number.to_owned(), before(path, "\"").to_owned());
        } else {
            let (_, allowed) = rest.split_once("allow_header: Bytes(b\"").expect("the methods of a route");
            methods.insert(number.to_owned(), before(allowed, "\"").to_owned());
        }
    }
    let is_so = paths.len() > 50 && paths.keys().eq(methods.keys());
    assert!(is_so, "the router tells its routes otherwise now: {router}");
    let of_path = |(number, path): (&String, &String)| {
        let allowed: Vec<String> =
            methods[number].split(',').map(|method| format!("{method} {path}")).collect();
        allowed
    };
    // HEAD is implied by GET and answered like it.
    paths.iter().flat_map(of_path).filter(|operation| !operation.starts_with("HEAD ")).collect()
}

fn before<'t>(text: &'t str, end: &str) -> &'t str {
    text.split_once(end).map_or(text, |(before, _)| before)
}
