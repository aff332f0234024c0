//! The world: one service, its clients, its engines and its clock, one event at a time.

mod attempts;
mod calls;
mod clients;
mod commits;
mod conclusions;
mod couriers;
mod deletions;
mod duties;
mod files;
mod filler;
mod promptness;
mod scheduling;
mod verify;
mod weather;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use overnight_config::Config;
use overnight_domain::ids::AccountId;
use overnight_domain::money::Credits;
use overnight_domain::scheduler::{AccountKey, Replica};
use overnight_domain::webhooks::signature::SigningSecret;
use overnight_store::identity::accounts::{self, NewAccount};

use self::couriers::Couriers;
use crate::broken::{Broken, Step, ensure};
use crate::chance::Chance;
use crate::engines::{Engines, Weather};
use crate::events::{Client, Duty, Event};
use crate::leases::Leases;
use crate::life::Life;
use crate::oracle::Oracle;
use crate::pending::Operation;
use crate::plan::Plan;
use crate::summary::Summary;
use crate::tags::Tag;
use crate::timeline::Timeline;
use crate::trace::Trace;

const HOUR_MS: i64 = 3_600_000;
/// With healthy engines, all remaining work at the end is done within this time.
const DRAIN_MS: i64 = 2 * HOUR_MS;
const DRAIN_VERIFY_MS: i64 = 10 * 60_000;
/// The order in which the tasks of a starting process first run is not defined.
const BATCH_CANCEL_RESUMER_LATE_MS: i64 = 3_000;

pub(super) struct World<'f> {
    plan: Plan,
    chance: Chance,
    pub(super) trace: Trace,
    timeline: Timeline,
    pub(super) summary: Summary,
    oracle: Oracle,
    leases: Leases,
    couriers: Couriers,
    engines: Engines,
    replicas: Vec<Replica>,
    accounts: Vec<AccountKey>,
    /// `None` while the process is down.
    life: Option<Life>,
    lives: u64,
    cancelling: BTreeSet<Tag>,
    /// Accounts whose filling waits for credits, as the filler last reported.
    unpaid: BTreeSet<AccountKey>,
    /// There are no more faults and no new requests.
    is_draining: bool,
    /// From this elapsed time on, all overdue requests have expired.
    punctual_from: i64,
    seed: u64,
    folder: &'f Path,
    config: Arc<Config>,
}

impl<'f> World<'f> {
    pub(super) fn new(seed: u64, hours: u32, folder: &'f Path) -> Step<Self> {
        let mut chance = Chance::new(seed);
        let plan = Plan::draw(seed, hours, &mut chance);
        let config = Arc::new(plan.config(folder)?);
        Ok(Self {
            plan,
            chance,
            trace: Trace::new(),
            timeline: Timeline::new(),
            summary: Summary::default(),
            oracle: Oracle::default(),
            leases: Leases::default(),
            couriers: Couriers::default(),
            engines: Engines::new(&[]),
            replicas: Vec::new(),
            accounts: Vec::new(),
            life: None,
            lives: 0,
            cancelling: BTreeSet::new(),
            unpaid: BTreeSet::new(),
            is_draining: false,
            punctual_from: 0,
            seed,
            folder,
            config,
        })
    }

    /// Runs the planned hours, then until everything has ended.
    pub(super) async fn run(&mut self) -> Step {
        self.settle_in().await?;
        self.plan_bursts();
        self.plan_weather();
        self.plan_jumps();
        let end_at = self.plan.hours * HOUR_MS;
        while self.timeline.elapsed() < end_at {
            let Some(event) = self.timeline.next() else { break };
            self.happen(event).await?;
        }
        self.drain().await?;
        self.conclude_run().await
    }

    async fn settle_in(&mut self) -> Step {
        self.begin_life().await?;
        let Some(life) = &self.life else { return Ok(()) };
        for (number, credits) in (1..).zip(self.plan.credits) {
            let account = NewAccount {
                id: AccountId::from_bits(number),
                name: format!("account {number}"),
                created_at: self.timeline.now(),
                is_activated: true,
                credits: Credits::from_nanos(credits * 1_000_000_000),
                webhook_secret: SigningSecret::new([7; 32]),
            };
            self.accounts.push(accounts::insert(life.store(), &account).await?.key);
        }
        Ok(())
    }

    async fn happen(&mut self, event: Event) -> Step {
        self.summary.steps += 1;
        if !matches!(event, Event::Tick | Event::Tell(_)) {
            self.note(format_args!("{event:?}"));
        }
        match event {
            Event::Tick => self.tick().await,
            Event::Tell(input) => self.tell(input).await,
            Event::DrainSignals => self.drain_signals().await,
            Event::Commit => self.commit().await,
            Event::Duty(duty) => self.begin_duty(duty).await,
            Event::Answer { replica, lease } => self.answer(replica, &lease).await,
            Event::Tried { due, failures } => self.conclude_try(&due, failures).await,
            Event::Late(late) => self.write_late(late).await,
            Event::Weather { replica, weather } => self.change_weather(replica, weather),
            Event::Client(client) => self.serve_client(client).await,
            Event::Jump { ms } => self.jump(ms),
            Event::Look => self.look().await,
            Event::Prompt { request, life } => self.check_promptness(request, life).await,
            Event::Crash(point) => self.plan_crash(point).await,
            Event::Stop => self.stop().await,
            Event::Start => self.begin_life().await,
            Event::Verify => self.verify().await,
        }
    }

    /// Ends all faults and finishes the remaining work.
    async fn drain(&mut self) -> Step {
        self.note(format_args!("drain"));
        let until = self.timeline.elapsed() + DRAIN_MS;
        self.is_draining = true;
        self.timeline.retain(|event| {
            !matches!(
                event,
                Event::Weather { .. }
                    | Event::Jump { .. }
                    | Event::Prompt { .. }
                    | Event::Crash(_)
                    | Event::Stop
                    | Event::Start
                    | Event::Client(
                        Client::Create(_) | Client::Repeat(_) | Client::Upload(_) | Client::EndUpload(_)
                    )
                    | Event::Verify
            )
        });
        for replica in self.engines.keys() {
            self.change_weather(replica, Weather::Fair)?;
        }
        match &mut self.life {
            Some(life) => life.crash_point = None,
            None => self.begin_life().await?,
        }
        self.timeline.after(0, Event::Verify);
        while self.timeline.elapsed() < until {
            let Some(event) = self.timeline.next() else { break };
            let has_seen = matches!(event, Event::Verify);
            self.happen(event).await?;
            if has_seen && !self.is_finished() {
                self.timeline.after(DRAIN_VERIFY_MS, Event::Verify);
            }
        }
        Ok(())
    }

    fn is_finished(&self) -> bool {
        self.life.as_ref().is_some_and(|life| life.pending.is_empty())
            && self.oracle.requests.values().all(|facts| !facts.is_live())
    }

    async fn conclude_run(&mut self) -> Step {
        self.verify().await?;
        self.audit().await?;
        let live = self.oracle.requests.values().find(|facts| facts.is_live());
        ensure!(live.is_none(), "a request has not ended though every engine is well: {live:?}");
        self.check_rest().await?;
        self.check_filled().await?;
        self.check_deleted()?;
        self.check_outbox().await?;
        self.oracle.count(&mut self.summary);
        ensure!(
            !self.plan.is_calm || self.summary.expired == 0,
            "{} requests expired though capacity sufficed",
            self.summary.expired
        );
        Ok(())
    }

    /// Opens the store and starts everything as the program does; recovers what a crash left.
    async fn begin_life(&mut self) -> Step {
        self.lives += 1;
        self.timeline.start_clock();
        let seed = self.seed ^ self.lives.wrapping_mul(0x2545_f491_4f6c_dd1d);
        let life = Life::begin(self.folder, Arc::clone(&self.config), self.timeline.clock(), seed).await?;
        if self.replicas.is_empty() {
            self.replicas = self.plan.replicas(&life.models());
            self.engines = Engines::new(&self.replicas);
        }
        self.life = Some(life);
        self.expect_punctuality_after(0);
        self.audit().await?;
        self.verify().await?;
        self.forget_deletions();
        // As at a start with a clock that is behind.
        self.begin_duty(Duty::ClockFollower { by_ms: 0 }).await?;
        self.begin_scheduling().await?;
        self.begin_duty(Duty::Heartbeat).await?;
        let late_ms = self.chance.between(0, BATCH_CANCEL_RESUMER_LATE_MS);
        self.plan_duty(Duty::BatchCancelResumer, late_ms);
        for duty in [Duty::Courier, Duty::BatchDeletionResumer, Duty::Files] {
            self.plan_duty(duty, late_ms);
        }
        self.plan_filler(late_ms);
        self.plan_expirer(0);
        Ok(())
    }

    /// Begins an operation of the service and polls it as far as it gets without a commit.
    async fn begin(&mut self, is_carried: bool, operation: Operation) -> Step {
        let Some(life) = &mut self.life else { return Ok(()) };
        let outcome = life.pending.begin(is_carried, operation).await;
        self.plan_commit();
        match outcome {
            Some(outcome) => self.conclude(outcome).await,
            None => Ok(()),
        }
    }

    fn note(&mut self, what: std::fmt::Arguments<'_>) {
        self.trace.note(self.timeline.elapsed(), what);
    }

    /// From `ms` on, once the expirer has run, overdue requests must have expired.
    fn expect_punctuality_after(&mut self, ms: i64) {
        const TURN_MS: i64 = 5_000;
        self.punctual_from = self.punctual_from.max(self.timeline.elapsed() + ms + TURN_MS);
    }

    fn life(&mut self) -> Step<&mut Life> {
        self.life.as_mut().ok_or_else(|| Broken("the process is down".to_owned()))
    }
}
