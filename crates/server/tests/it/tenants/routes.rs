//! What is served, as the router itself has it.

use std::collections::{BTreeMap, BTreeSet};

use overnight_server::app::Services;
use overnight_server::http;

/// Every operation of a service, as `GET /v1/requests`: the paths that its router has, each with the methods that it allows. axum tells
/// them in its router's `Debug` form and nowhere else. A list made by hand would lack what somebody forgot.
pub(super) fn operations(services: &Services) -> BTreeSet<String> {
    let router = format!("{:?}", http::router(services.clone()));
    // What answers where there is no route stands behind them.
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
    assert!(
        paths.len() > 50 && paths.keys().eq(methods.keys()),
        "the router tells its routes otherwise now: {router}"
    );
    let of_path = |(number, path): (&String, &String)| {
        let allowed: Vec<String> =
            methods[number].split(',').map(|method| format!("{method} {path}")).collect();
        allowed
    };
    // HEAD comes with GET, and is answered as it is.
    paths.iter().flat_map(of_path).filter(|operation| !operation.starts_with("HEAD ")).collect()
}

fn before<'t>(text: &'t str, end: &str) -> &'t str {
    text.split_once(end).map_or(text, |(before, _)| before)
}
