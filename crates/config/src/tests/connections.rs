use std::time::Duration;

use super::*;

#[test]
fn the_default_limits_on_connections_are_those_of_the_documents() {
    let limits = |counts: [usize; 5], seconds: [u64; 2], bytes: [usize; 2]| ConnectionLimits {
        max: counts[0],
        per_address: counts[1],
        calls_per_account: counts[2],
        followers_per_account: counts[3],
        waiting_per_account: counts[4],
        idle: Duration::from_secs(seconds[0]),
        stalled: Duration::from_secs(seconds[1]),
        response_buffer_bytes: bytes[0],
        request_buffer_bytes: bytes[1],
    };
    let expected = limits([4096, 512, 256, 64, 256], [180, 30], [256 << 20, 256 << 20]);
    assert_eq!(load_text("").unwrap().connections, expected);
    let text = "[limits]\nconnections = 7\nconnections_per_address = 6\ncalls_per_account = 5\nfollowers_per_account = 4\nwaiting_calls_per_account = 9\n\
        idle_connection = \"4s\"\nstalled_response = \"3s\"\nresponse_buffer = \"2 GiB\"\nrequest_buffer = \"1 GiB\"";
    assert_eq!(load_text(text).unwrap().connections, limits([7, 6, 5, 4, 9], [4, 3], [2 << 30, 1 << 30]));
}

#[test]
fn limits_on_connections_have_bounds() {
    check_table(
        "[limits]\n",
        r#"
        connections_per_address = 0 => `limits.connections_per_address` | from 1 to 1000000
        calls_per_account = 0 => `limits.calls_per_account` | from 1 to 1000000
        followers_per_account = 0 => `limits.followers_per_account` | from 1 to 1000000
        idle_connection = "999ms" => `limits.idle_connection` must be 1s to 1h | line 2
        stalled_response = "2h" => `limits.stalled_response` must be 1s to 1h | line 2
        response_buffer = "15 MiB" => `limits.response_buffer` must be 16 MiB | line 2
        "#,
    );
}
