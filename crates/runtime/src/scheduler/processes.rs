//! Starts and stops the processes of engines for the scheduler, and reports to it.

use std::sync::Arc;

use overnight_app::Services;
use overnight_base::tasks;
use overnight_domain::scheduler::{ProcessOrder, ReplicaKey, SchedulerInput};
use overnight_engine_clients::NotReady;
use tokio::sync::mpsc::UnboundedSender;

use super::replicas::Replicas;

/// Starts a replica's process. The scheduler is told when it is ready or could not be started, and when it has ended by itself. If it is
/// stopped before it is ready, [`stop`] reports.
pub(super) fn start(
    replica: ReplicaKey,
    order: ProcessOrder,
    replicas: &Arc<Replicas>,
    services: &Services,
    answers: &UnboundedSender<SchedulerInput>,
) {
    let (replicas_here, clock, told) = (Arc::clone(replicas), Arc::clone(&services.clock), answers.clone());
    let life = async move {
        let (replicas, answers) = (replicas_here, told);
        let engine = replicas.name(replica).to_owned();
        let begun_at = clock.now();
        let outcome = replicas.start_process(replica).await;
        let word = match &outcome {
            Ok(()) => "ready",
            Err(NotReady::Stopped) => "stopped",
            Err(NotReady::Failed(_)) => "failed",
        };
        metrics::counter!("overnight_engine_starts_total", "engine" => engine.clone(), "outcome" => word)
            .increment(1);
        match outcome {
            Ok(()) => {}
            Err(NotReady::Stopped) => return,
            Err(NotReady::Failed(reason)) => {
                let (what, done) = match replicas.holds_one_model(replica) {
                    true => ("model", "loaded"),
                    false => ("engine", "started"),
                };
                tracing::error!(target: "engine", engine, "the {what} could not be {done}: {reason}");
                let error = Some(format!("it could not be {done}: {reason}"));
                let _ = answers.send(SchedulerInput::Stopped { replica, order, error });
                return;
            }
        }
        metrics::histogram!("overnight_engine_start_seconds", "engine" => engine)
            .record((clock.now() - begun_at) as f64 / 1_000.0);
        let _ = answers.send(SchedulerInput::Started { replica, order });
        if let Some(reason) = replicas.process_ended(replica).await {
            let _ = answers.send(SchedulerInput::Stopped { replica, order, error: Some(reason) });
        }
    };
    spawn(replica, order, replicas, services, answers, life);
}

/// Runs `work` as a task. If it panics, the scheduler is told that the process has stopped.
fn spawn(
    replica: ReplicaKey,
    order: ProcessOrder,
    replicas: &Arc<Replicas>,
    services: &Services,
    answers: &UnboundedSender<SchedulerInput>,
    work: impl Future<Output = ()> + Send + 'static,
) {
    let (replicas, supervisor, answers) =
        (Arc::clone(replicas), Arc::clone(&services.supervisor), answers.clone());
    tasks::spawn(async move {
        if let Err(panic) = supervisor.item("engine_process", replicas.name(replica), work).await {
            let error = Some(format!("its supervision panicked at {panic}"));
            let _ = answers.send(SchedulerInput::Stopped { replica, order, error });
        }
    });
}

/// Stops a replica's process. The scheduler is told when nothing of it is left.
pub(super) fn stop(
    replica: ReplicaKey,
    order: ProcessOrder,
    replicas: &Arc<Replicas>,
    services: &Services,
    answers: &UnboundedSender<SchedulerInput>,
) {
    let (replicas_here, told) = (Arc::clone(replicas), answers.clone());
    let end = async move {
        let (replicas, answers) = (replicas_here, told);
        let error = replicas.stop_process(replica).await.err();
        if let Some(reason) = &error {
            let engine = replicas.name(replica);
            tracing::error!(target: "engine", engine, "the engine was not stopped: {reason}");
        }
        // A process that cannot be killed still has its device.
        replicas.process_gone(replica).await;
        let _ = answers.send(SchedulerInput::Stopped { replica, order, error });
    };
    spawn(replica, order, replicas, services, answers, end);
}
