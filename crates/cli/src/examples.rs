//! Examples at the end of each command's help. `$REQUEST`, `$BATCH`, `$ACCOUNT`, `$KEY_ID` and `$EVENT` stand for identifiers.

use clap::Command;

/// The path of each command below `overnight`, and lines for a shell.
pub(crate) const EXAMPLES: &[(&str, &[&str])] = &[
    (
        "",
        &[
            "overnight run examples/prompts.jsonl -o results.jsonl",
            "overnight serve",
            "overnight submit examples/prompts.jsonl --wait",
            "overnight help submit",
        ],
    ),
    (
        "serve",
        &[
            "overnight serve",
            "overnight serve --listen 127.0.0.1:9000 --data-dir /srv/overnight",
            "overnight serve --database-url postgres://overnight:secret@db.example/overnight --role api",
        ],
    ),
    (
        "run",
        &[
            "overnight run examples/prompts.jsonl -o results.jsonl",
            "overnight run prompts.jsonl -o results.jsonl --model hf:Qwen/Qwen2.5-1.5B-Instruct-GGUF",
            "overnight run tickets.csv --prompt 'Summarise: {{ body }}' --model overnight-tiny -o answered.parquet",
        ],
    ),
    (
        "submit",
        &[
            "overnight submit prompts.jsonl --dry-run",
            "overnight submit prompts.jsonl --batch-name nightly --wait",
            "overnight submit tickets.csv --prompt @prompt.txt --model overnight-tiny --max-cost 5",
        ],
    ),
    ("status", &["overnight status $BATCH", "overnight status $REQUEST --json"]),
    ("watch", &["overnight watch $BATCH"]),
    (
        "results",
        &[
            "overnight results $BATCH -o results.jsonl",
            "overnight results $BATCH --follow",
            "overnight results $BATCH -o answers.csv",
            "overnight results @batches --table tickets.csv -o answered.csv",
        ],
    ),
    ("cancel", &["overnight cancel $BATCH", "overnight cancel $REQUEST"]),
    (
        "list",
        &[
            "overnight list --status failed --limit 10",
            "overnight list --model overnight-tiny --json",
            "overnight list batches",
        ],
    ),
    ("listen", &["overnight listen", "overnight listen --forward-to http://127.0.0.1:3000/hooks"]),
    (
        "account",
        &[
            "overnight account create --name research",
            "overnight account grant $ACCOUNT 25 --source invoice-17",
        ],
    ),
    ("account create", &["overnight account create --name research"]),
    ("account list", &["overnight account list", "overnight account list --json"]),
    ("account show", &["overnight account show $ACCOUNT"]),
    ("account activate", &["overnight account activate $ACCOUNT"]),
    ("account suspend", &["overnight account suspend $ACCOUNT"]),
    ("account close", &["overnight account close $ACCOUNT"]),
    ("account erase", &["overnight account erase $ACCOUNT --yes"]),
    (
        "account retention",
        &["overnight account retention $ACCOUNT 7d", "overnight account retention $ACCOUNT default"],
    ),
    ("account resume", &["overnight account resume $ACCOUNT"]),
    (
        "account grant",
        &["overnight account grant $ACCOUNT 25 --source invoice-17", "overnight account grant $ACCOUNT -0.5"],
    ),
    (
        "account monthly",
        &["overnight account monthly $ACCOUNT 25", "overnight account monthly $ACCOUNT none"],
    ),
    (
        "account low-credits",
        &[
            "overnight account low-credits $ACCOUNT 10 --webhook https://example.com/hooks",
            "overnight account low-credits $ACCOUNT none",
        ],
    ),
    (
        "account limit",
        &[
            "overnight account limit $ACCOUNT --requests-per-second 50 --stored-bytes '20 GiB'",
            "overnight account limit $ACCOUNT --live-requests none --tokens-per-day default",
        ],
    ),
    ("account top-up", &["overnight account top-up $ACCOUNT 25"]),
    ("account payments", &["overnight account payments $ACCOUNT --check"]),
    ("account ledger", &["overnight account ledger $ACCOUNT --limit 20"]),
    (
        "account spend",
        &[
            "overnight account spend $ACCOUNT --days 7 --by model",
            "overnight account spend $ACCOUNT --by key",
        ],
    ),
    (
        "key",
        &["overnight key create --account $ACCOUNT --name laptop", "overnight key list --account $ACCOUNT"],
    ),
    (
        "key create",
        &[
            "overnight key create --account $ACCOUNT --name laptop --expires-in 90d",
            "overnight key create --account $ACCOUNT --name dashboard --scope read",
        ],
    ),
    ("key list", &["overnight key list --account $ACCOUNT"]),
    ("key revoke", &["overnight key revoke $KEY_ID"]),
    ("user", &["overnight user create ada@example.com --operator", "overnight user link ada@example.com"]),
    ("user list", &["overnight user list"]),
    (
        "user create",
        &[
            "overnight user create ada@example.com --operator",
            "overnight user create ada@example.com --account $ACCOUNT --role developer",
        ],
    ),
    (
        "user link",
        &[
            "overnight user link ada@example.com",
            "overnight user link ada@example.com --subject 248289761001",
        ],
    ),
    ("user remove", &["overnight user remove ada@example.com"]),
    ("user sign-out", &["overnight user sign-out ada@example.com"]),
    ("webhook", &["overnight webhook secret", "overnight webhook events --state exhausted"]),
    ("webhook secret", &["export OVERNIGHT_WEBHOOK_SECRET=$(overnight webhook secret)"]),
    ("webhook rotate", &["overnight webhook rotate --overlap 48h"]),
    ("webhook events", &["overnight webhook events --state exhausted --limit 20"]),
    ("webhook deliveries", &["overnight webhook deliveries --event $EVENT"]),
    (
        "webhook replay",
        &["overnight webhook replay $EVENT", "overnight webhook replay --exhausted --account $ACCOUNT"],
    ),
    ("webhook test", &["overnight webhook test https://example.com/hooks"]),
    ("model", &["overnight model recommended", "overnight model pull hf:Qwen/Qwen2.5-1.5B-Instruct-GGUF"]),
    ("model pull", &["overnight model pull hf:Qwen/Qwen2.5-1.5B-Instruct-GGUF:Q8_0"]),
    ("model list", &["overnight model list"]),
    ("model show", &["overnight model show hf:Qwen/Qwen2.5-1.5B-Instruct-GGUF"]),
    ("model remove", &["overnight model remove hf:Qwen/Qwen2.5-1.5B-Instruct-GGUF"]),
    ("model recommended", &["overnight model recommended"]),
    ("explain", &["overnight explain $REQUEST"]),
    (
        "audit-log",
        &[
            "overnight audit-log --since 7d",
            "overnight audit-log --account $ACCOUNT --action api_key.create",
            "overnight audit-log --until 2026-11-20 --limit 0 --json",
        ],
    ),
    (
        "audit",
        &[
            "overnight audit",
            "overnight audit --objects",
            "overnight audit --database-url postgres://overnight:secret@db.example/overnight",
        ],
    ),
    ("reload", &["overnight reload", "overnight reload --config /etc/overnight/overnight.toml"]),
    (
        "top",
        &["overnight top", "overnight top --data-dir /var/lib/overnight --every 5s", "overnight top --once"],
    ),
    ("migrate", &["overnight migrate --check", "overnight migrate"]),
    (
        "backup",
        &[
            "overnight backup /mnt/backups/overnight",
            "overnight backup /mnt/backups/overnight --keep 24 --keep-days 30",
            "overnight backup /mnt/backups/overnight --every 1m --keep 60 --keep-days 7",
        ],
    ),
    (
        "restore",
        &[
            "overnight restore /mnt/backups/overnight --list",
            "overnight restore /mnt/backups/overnight --check",
            "overnight restore /mnt/backups/overnight --data-dir restored",
            "overnight restore /mnt/backups/overnight --backup 20261120T211403.512Z --data-dir restored",
        ],
    ),
    ("vacuum", &["overnight vacuum", "overnight vacuum --data-dir /var/lib/overnight"]),
    ("export", &["overnight export overnight.export"]),
    ("import", &["overnight import overnight.export --data-dir restored"]),
    ("doctor", &["overnight doctor"]),
    ("bench", &["overnight bench dispatch --requests 2000", "overnight bench --help"]),
    ("openapi", &["overnight openapi > openapi.json"]),
    (
        "completion",
        &[
            "source <(overnight completion bash)",
            "overnight completion zsh > ~/.zfunc/_overnight",
            "overnight completion fish > ~/.config/fish/completions/overnight.fish",
        ],
    ),
    ("man", &["overnight man | man -l -", "overnight man -o ~/.local/share/man/man1"]),
];

/// Adds its examples to the help of the command and of its subcommands.
pub(crate) fn add(command: Command) -> Command {
    add_below(command, "")
}

fn add_below(command: Command, path: &str) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|below| below.get_name().to_owned()).collect();
    let command = names.into_iter().fold(command, |command, name| {
        let path = format!("{path} {name}");
        command.mut_subcommand(name, |below| add_below(below, path.trim_start()))
    });
    let Some(lines) = of(path) else { return command };
    let examples = format!("Examples:\n  {}", lines.join("\n  "));
    let text = match command.get_after_help() {
        Some(text) => format!("{text}\n\n{examples}"),
        None => examples,
    };
    command.after_help(text)
}

pub(crate) fn of(path: &str) -> Option<&'static [&'static str]> {
    EXAMPLES.iter().find_map(|(known, lines)| (*known == path).then_some(*lines))
}
