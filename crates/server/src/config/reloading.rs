//! Which settings hold without a restart.

use super::Config;

/// Settings as they are to hold from now on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reloaded {
    /// All of them.
    pub config: Config,
    /// Those that are others than before, by name, with what is different in lists.
    pub changed: Vec<String>,
    /// The names of those that differ in what was loaded and hold after a restart only.
    pub needs_restart: Vec<String>,
}

impl Config {
    /// What holds when these settings are loaded again as `loaded`: prices, models, engines, limits, quotas and the like are taken
    /// from there. Where the service listens, what it stores where, and what is made of settings at its start stay as they are.
    pub fn reloaded(&self, loaded: Self) -> Reloaded {
        let config = Self {
            models: loaded.models.clone(),
            engines: loaded.engines.clone(),
            limits: loaded.limits.clone(),
            quotas: loaded.quotas.clone(),
            retention: loaded.retention.clone(),
            disk_reserve: loaded.disk_reserve.clone(),
            aggregation_period: loaded.aggregation_period.clone(),
            webhooks: loaded.webhooks.clone(),
            drain: loaded.drain.clone(),
            linger: loaded.linger.clone(),
            listen: self.listen.clone(),
            public_url: self.public_url.clone(),
            tls: self.tls.clone(),
            metrics_listen: self.metrics_listen.clone(),
            metrics_token_env: self.metrics_token_env.clone(),
            data_dir: self.data_dir.clone(),
            database: self.database.clone(),
            role: self.role.clone(),
            node: self.node.clone(),
            lease: self.lease.clone(),
            log: self.log.clone(),
            log_format: self.log_format.clone(),
            connections: self.connections.clone(),
            console: self.console.clone(),
            billing: self.billing.clone(),
        };
        let has_same_listen = loaded.listen.port() == 0 && loaded.listen.ip() == self.listen.ip();
        let changed = [
            ("limits", self.limits != loaded.limits),
            ("quotas", self.quotas != loaded.quotas),
            ("retention", self.retention != loaded.retention),
            ("disk_reserve", self.disk_reserve != loaded.disk_reserve),
            ("aggregation_period", self.aggregation_period != loaded.aggregation_period),
            ("webhooks", self.webhooks != loaded.webhooks),
            ("drain", self.drain != loaded.drain),
            ("linger", self.linger != loaded.linger),
        ];
        let needs_restart = [
            ("listen", self.listen != loaded.listen && !has_same_listen),
            ("public_url", self.public_url != loaded.public_url),
            ("tls", self.tls != loaded.tls),
            ("metrics_listen", self.metrics_listen != loaded.metrics_listen),
            ("metrics_token_env", self.metrics_token_env != loaded.metrics_token_env),
            ("data_dir", self.data_dir != loaded.data_dir),
            ("database", self.database != loaded.database),
            ("role", self.role != loaded.role),
            ("node", self.node != loaded.node),
            ("lease", self.lease != loaded.lease),
            ("log", self.log != loaded.log),
            ("log_format", self.log_format != loaded.log_format),
            ("connections", self.connections != loaded.connections),
            ("console", self.console != loaded.console),
            ("billing", self.billing != loaded.billing),
        ];
        let names = |found: &[(&'static str, bool)]| -> Vec<String> {
            found.iter().filter(|(_, is_other)| *is_other).map(|(name, _)| (*name).to_owned()).collect()
        };
        let mut changed = names(&changed);
        changed.extend(difference("models", &self.models, &loaded.models, |model| &model.name));
        changed.extend(difference("engines", &self.engines, &loaded.engines, |engine| &engine.name));
        Reloaded { config, changed, needs_restart: names(&needs_restart) }
    }
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
