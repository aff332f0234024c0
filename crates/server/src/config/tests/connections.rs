use std::time::Duration;

use super::*;

#[test]
fn the_default_limits_on_connections_are_those_of_the_documents() {
    let config = load_text("").unwrap();
    let expected = ConnectionLimits {
        max: 4096,
        per_address: 512,
        calls_per_account: 256,
        followers_per_account: 64,
        waiting_per_account: 256,
        idle: Duration::from_secs(180),
        stalled: Duration::from_secs(30),
        response_buffer_bytes: 256 << 20,
        request_buffer_bytes: 256 << 20,
    };
    assert_eq!(config.connections, expected);
    let text = "[limits]\nconnections = 7\nconnections_per_address = 6\ncalls_per_account = 5\nfollowers_per_account = 4\nwaiting_calls_per_account = 9\n\
        idle_connection = \"4s\"\nstalled_response = \"3s\"\nresponse_buffer = \"2 GiB\"\nrequest_buffer = \"1 GiB\"";
    let expected = ConnectionLimits {
        max: 7,
        per_address: 6,
        calls_per_account: 5,
        followers_per_account: 4,
        waiting_per_account: 9,
        idle: Duration::from_secs(4),
        stalled: Duration::from_secs(3),
        response_buffer_bytes: 2 << 30,
        request_buffer_bytes: 1 << 30,
    };
    assert_eq!(load_text(text).unwrap().connections, expected);
}

#[test]
fn limits_on_connections_have_bounds() {
    for (text, parts) in [
        ("[limits]\nconnections_per_address = 0", ["`limits.connections_per_address`", "from 1 to 1000000"]),
        ("[limits]\ncalls_per_account = 0", ["`limits.calls_per_account`", "from 1 to 1000000"]),
        ("[limits]\nfollowers_per_account = 0", ["`limits.followers_per_account`", "from 1 to 1000000"]),
        ("[limits]\nidle_connection = \"999ms\"", ["`limits.idle_connection` must be 1s to 1h", "line 2"]),
        ("[limits]\nstalled_response = \"2h\"", ["`limits.stalled_response` must be 1s to 1h", "line 2"]),
        ("[limits]\nresponse_buffer = \"15 MiB\"", ["`limits.response_buffer` must be 16 MiB", "line 2"]),
    ] {
        check_refused(text, &parts);
    }
}
