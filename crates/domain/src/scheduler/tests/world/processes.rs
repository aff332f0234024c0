//! Engines that are started and stopped.

use super::super::super::*;
use super::super::replica;
use super::{Engine, Event, World};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Process {
    Ended,
    Started,
    Ready,
}

impl World {
    /// All replicas are started and stopped from now on, on one device or each separately.
    pub(in super::super) fn give_processes(&mut self, device: Option<DeviceKey>) {
        let rules =
            ProcessRules { start_after_ms: 1_000, idle_stop_ms: 5_000, device, time_slice_ms: 20_000 };
        let limit = |engine: &Engine| u32::try_from(engine.limit).unwrap();
        self.is_on_one_device = device.is_some();
        let process = Some(rules);
        let list = self
            .engines
            .iter()
            .map(|(key, engine)| Replica { process: process.clone(), ..replica(key.0, limit(engine)) });
        let list = list.collect();
        self.engines.values_mut().for_each(|engine| engine.process = Some(Process::Ended));
        self.tell(SchedulerInput::Replicas(list));
    }

    /// Engines that were started and have not ended.
    pub(in super::super) fn started(&self) -> usize {
        self.engines.values().filter(|engine| engine.process.is_some_and(|it| it != Process::Ended)).count()
    }

    pub(super) fn start(&mut self, key: ReplicaKey, order: ProcessOrder) {
        assert_eq!(self.engines[&key].process, Some(Process::Ended));
        assert!(!self.is_on_one_device || self.started() == 0, "another has the device");
        self.engines.get_mut(&key).unwrap().process = Some(Process::Started);
        let error = self.strikes(self.luck.error).then(|| "not ready in time".to_owned());
        let (ms, replica) = (500 + self.random.up_to(3_000), key);
        let input = match error {
            Some(error) => SchedulerInput::Stopped { replica, order, error: Some(error) },
            None => SchedulerInput::Started { replica, order },
        };
        self.later(ms, Event::Tell(input));
    }

    pub(super) fn stop(&mut self, key: ReplicaKey, order: ProcessOrder) {
        assert!(self.engines[&key].running.is_empty(), "what is in flight is finished before");
        let (ms, replica) = (self.random.up_to(1_000), key);
        self.later(ms, Event::Tell(SchedulerInput::Stopped { replica, order, error: None }));
    }

    pub(super) fn note_process(&mut self, input: &SchedulerInput) {
        let (key, process) = match input {
            SchedulerInput::Started { replica, .. } => (replica, Process::Ready),
            SchedulerInput::Stopped { replica, .. } => (replica, Process::Ended),
            _ => return,
        };
        self.engines.get_mut(key).unwrap().process = Some(process);
    }
}
