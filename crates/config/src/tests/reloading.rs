use super::*;

const TWO: &str = "[[models]]\nname = \"a\"\n[[models]]\nname = \"b\"\n";

fn reloaded(before: &str, after: &str) -> Reloaded {
    load_text(before).unwrap().reloaded(load_text(after).unwrap())
}

#[test]
fn what_holds_without_a_restart_is_taken_and_the_rest_is_told() {
    let same = reloaded(TWO, TWO);
    assert_eq!((same.changed.len(), same.needs_restart.len()), (0, 0));
    assert_eq!(same.config, load_text(TWO).unwrap());

    let root = "retention = \"30d\"\ndrain = \"9s\"\nlinger = \"1s\"\naggregation_period = \"3s\"\ndisk_reserve = \"2 GiB\"\n";
    let sections = "[limits]\nbatch_requests = 7\nconnections = 9\n[quotas]\nlive_requests = 5\n[webhooks]\nallow_insecure_targets = true\n";
    let other = "listen = \"127.0.0.1:9\"\nlease = \"31s\"\n";
    let after = format!("{other}{root}{TWO}{sections}");
    let Reloaded { config, changed, needs_restart } = reloaded(TWO, &after);
    let expected = "limits quotas retention disk_reserve aggregation_period webhooks drain linger";
    assert_eq!(changed.join(" "), expected);
    assert_eq!(needs_restart, ["listen", "lease", "limits on connections"]);
    let (before, after) = (load_text(TWO).unwrap(), load_text(&after).unwrap());
    let Config { listen, lease, connections, .. } = before;
    assert_eq!(config, Config { listen, lease, connections, ..after });
}

#[test]
fn what_is_different_in_lists_is_told_by_name() {
    let priced = TWO.replace("\"a\"\n", "\"a\"\ninput_price = \"1\"\noutput_price = \"1\"\n");
    assert_eq!(reloaded(TWO, &priced).changed, ["models (changed `a`)"]);
    let other = TWO.replace("\"b\"", "\"c\"");
    assert_eq!(reloaded(TWO, &other).changed, ["models (added `c`; removed `b`)"]);
    let swapped = "[[models]]\nname = \"b\"\n[[models]]\nname = \"a\"\n";
    assert_eq!(reloaded(TWO, swapped).changed, ["models (in another order)"]);
}

#[test]
fn a_port_that_the_system_chose_is_none_that_changed() {
    let chosen = "listen = \"127.0.0.1:0\"\n";
    let mut running = load_text(chosen).unwrap();
    running.listen.set_port(4_711);
    let reloaded = running.reloaded(load_text(chosen).unwrap());
    assert!(reloaded.needs_restart.is_empty());
    assert_eq!(reloaded.config.listen.port(), 4_711);
    let elsewhere = load_text("listen = \"127.0.0.2:0\"\n").unwrap();
    assert_eq!(running.reloaded(elsewhere).needs_restart, ["listen"]);
}
