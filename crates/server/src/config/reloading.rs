//! Which settings hold without a restart.
//!
//! Settings are a snapshot that can be replaced. `app::Settings` holds the settings as last loaded and the models that they name;
//! whoever needs them takes both of a moment. `service::reload` puts others in their place: first `engines::Engines` (an engine that
//! cannot be used refuses the whole reload), then settings and models, then it tells the scheduler. `config/reloading.rs` says which
//! settings hold without a restart. `scheduler::Replicas` is a value: a reload makes its successor, in which a replica keeps its key
//! while it has its name and its process. What the settings name no more leaves as a replica that another node takes over: it runs
//! out, and `Shell` then releases its client. Engines that DNS names (`engines/discovery.rs`) are the same replacement, every 10 s:
//! each address is an engine's settings under a name of its own.

use super::Config;

/// Settings as they are to hold from now on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reloaded {
    pub config: Config,
    /// Those that are others than before, by name, with what is different in lists.
    pub changed: Vec<String>,
    /// The names of those that differ in what was loaded and hold after a restart only.
    pub needs_restart: Vec<String>,
}

impl Config {
    /// What holds when these settings are loaded again as `loaded`: prices, models, engines, limits, quotas and the like are taken
    /// from there. Where the service listens, what it stores where, and what is made of settings at its start stay as they are.
    pub fn reloaded(&self, mut loaded: Self) -> Reloaded {
        if loaded.listen.port() == 0 && loaded.listen.ip() == self.listen.ip() {
            loaded.listen = self.listen;
        }
        let needs_restart = [
            ("listen", self.listen != loaded.listen),
            ("public_url", self.public_url != loaded.public_url),
            ("tls", self.tls != loaded.tls),
            ("metrics_listen", self.metrics_listen != loaded.metrics_listen),
            ("metrics_token_env", self.metrics_token_env != loaded.metrics_token_env),
            ("data_dir", self.data_dir != loaded.data_dir),
            ("database_url", self.database != loaded.database),
            ("encryption", self.encryption != loaded.encryption),
            ("object_store", self.object_store != loaded.object_store),
            ("role", self.role != loaded.role),
            ("node", self.node != loaded.node),
            ("lease", self.lease != loaded.lease),
            ("traces", self.traces != loaded.traces),
            ("outgoing", self.outgoing != loaded.outgoing),
            ("log", self.log != loaded.log),
            ("log_format", self.log_format != loaded.log_format),
            ("limits on connections", self.connections != loaded.connections),
            ("console", self.console != loaded.console),
            ("billing", self.billing != loaded.billing),
        ];
        let kept = self.clone();
        // Each setting is named here once, so that a new one must be put on a side.
        let config = Self {
            listen: kept.listen,
            public_url: kept.public_url,
            tls: kept.tls,
            metrics_listen: kept.metrics_listen,
            metrics_token_env: kept.metrics_token_env,
            data_dir: kept.data_dir,
            database: kept.database,
            encryption: kept.encryption,
            object_store: kept.object_store,
            role: kept.role,
            node: kept.node,
            lease: kept.lease,
            traces: kept.traces,
            outgoing: kept.outgoing,
            log: kept.log,
            log_format: kept.log_format,
            connections: kept.connections,
            console: kept.console,
            billing: kept.billing,
            limits: loaded.limits,
            quotas: loaded.quotas,
            retention: loaded.retention,
            audit_log_retention: loaded.audit_log_retention,
            backup_max_age: loaded.backup_max_age,
            disk_reserve: loaded.disk_reserve,
            aggregation_period: loaded.aggregation_period,
            webhooks: loaded.webhooks,
            drain: loaded.drain,
            linger: loaded.linger,
            models: loaded.models,
            engines: loaded.engines,
        };
        let changed = self.changed(&config);
        Reloaded { config, changed, needs_restart: others(&needs_restart) }
    }

    /// What holds without a restart and is another in `config`, in words.
    fn changed(&self, config: &Self) -> Vec<String> {
        let mut changed = others(&[
            ("limits", self.limits != config.limits),
            ("quotas", self.quotas != config.quotas),
            ("retention", self.retention != config.retention),
            ("audit_log_retention", self.audit_log_retention != config.audit_log_retention),
            ("backup_max_age", self.backup_max_age != config.backup_max_age),
            ("disk_reserve", self.disk_reserve != config.disk_reserve),
            ("aggregation_period", self.aggregation_period != config.aggregation_period),
            ("webhooks", self.webhooks != config.webhooks),
            ("drain", self.drain != config.drain),
            ("linger", self.linger != config.linger),
        ]);
        changed.extend(difference("models", &self.models, &config.models, |model| &model.name));
        changed.extend(difference("engines", &self.engines, &config.engines, |engine| &engine.name));
        changed
    }
}

/// The names of settings that are others.
fn others(found: &[(&str, bool)]) -> Vec<String> {
    found.iter().filter(|(_, is_other)| *is_other).map(|(name, _)| (*name).to_owned()).collect()
}

/// What is different in a list of sections that have names, in words.
fn difference<T: PartialEq>(key: &str, before: &[T], after: &[T], name: fn(&T) -> &str) -> Option<String> {
    let found = |list: &'_ [T], wanted: &str| list.iter().position(|it| name(it) == wanted);
    let of = |list: &[T], is_meant: &dyn Fn(&T) -> bool| -> Vec<String> {
        list.iter().filter(|it| is_meant(it)).map(|it| format!("`{}`", name(it))).collect()
    };
    let added = of(after, &|it| found(before, name(it)).is_none());
    let removed = of(before, &|it| found(after, name(it)).is_none());
    let changed = of(after, &|it| found(before, name(it)).is_some_and(|place| before[place] != *it));
    let parts = [("added", added), ("removed", removed), ("changed", changed)];
    let parts: Vec<_> = parts
        .into_iter()
        .filter(|(_, names)| !names.is_empty())
        .map(|(what, names)| format!("{what} {}", names.join(", ")))
        .collect();
    let order = || format!("{key} (in another order)");
    match parts.is_empty() {
        true => (before != after).then(order),
        false => Some(format!("{key} ({})", parts.join("; "))),
    }
}
