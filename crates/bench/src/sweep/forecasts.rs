//! The accuracy of forecasts, over a night in which files of several accounts arrive and an engine dies.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use super::CONCURRENCY;
use super::chance::Chance;
use super::fleet::{self, Dispatcher, Event, Trouble, Work};
use super::swept::{Limit, Swept};
use super::workload::{Kind, Request, Workload};

const SECOND_US: u64 = 1_000_000;
/// Arriving work, as a share of the engines' capacity in the night.
const LOAD: f64 = 0.75;
/// The files of a night. Accounts and kinds alternate; each account asks for another multiple of the output that it gets.
const FILES: usize = 8;
const ACCOUNTS: [(i64, Kind, i64); 3] =
    [(1, Kind::DocumentQa, 1), (2, Kind::Chat, 4), (3, Kind::DocumentQa, 8)];
/// The death of the first engine, as a part of the time in which files arrive or work is done.
const DEATH: f64 = 0.5;
/// Requests of each file whose ends are forecast, in addition to the file's own end.
const REQUESTS: usize = 4;
/// Requests of a file whose last one determines its end.
const OF_FILE: usize = 32;
/// The time after the engine's death in which its forecasts must be withdrawn.
const ADMITTED_US: u64 = 10 * SECOND_US;
/// Numbers of timers that are not the scheduler's.
const ARRIVAL: u64 = 1 << 62;
const FORECAST: u64 = ARRIVAL + 1;

#[derive(Debug, Clone, Copy)]
struct NightKind {
    name: &'static str,
    /// The multiple of the other measures' number of requests.
    times: usize,
    /// The length of the night, to which the engines' speed is adapted; `None` if it is as long as they need.
    night_us: Option<u64>,
    /// Whether files arrive all night; otherwise all wait at its beginning.
    arrive: bool,
    away_us: u64,
    /// The interval of forecasts. Nearer ends are not judged by their percentage.
    every_us: u64,
}

const HOURS_8_US: u64 = 8 * 3_600 * SECOND_US;

const NIGHTS: [NightKind; 3] = [
    NightKind {
        name: "all known, 8 hours",
        times: 4,
        night_us: Some(HOURS_8_US),
        arrive: false,
        away_us: 600 * SECOND_US,
        every_us: 300 * SECOND_US,
    },
    NightKind {
        name: "arriving, 8 hours",
        times: 4,
        night_us: Some(HOURS_8_US),
        arrive: true,
        away_us: 600 * SECOND_US,
        every_us: 300 * SECOND_US,
    },
    NightKind {
        name: "arriving, fast engine",
        times: 1,
        night_us: None,
        arrive: true,
        away_us: 120 * SECOND_US,
        every_us: 60 * SECOND_US,
    },
];

/// The accuracy of forecasts. An error is a share of the time that was left.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ForecastFigures {
    pub night: &'static str,
    pub seed: u64,
    pub replicas: usize,
    /// Whether the ends of files were forecast, instead of single requests.
    pub is_files: bool,
    /// Forecasts of ends at least one interval of forecasts ahead.
    pub forecasts: usize,
    /// The error that half of them do not exceed.
    pub median_error: f64,
    /// The error that nine of ten do not exceed.
    pub p90_error: f64,
    /// Forecasts without a time.
    pub unknown: usize,
    /// Forecasts with a time while no engine ran, more than ten seconds after the last had died.
    pub promised_in_outage: usize,
}

struct Forecast {
    made_us: u64,
    of: Vec<usize>,
    is_file: bool,
    at_us: Option<u64>,
}

/// The subject of a forecast, with some requests that represent all.
struct Subject {
    asked: Vec<usize>,
    of: Vec<usize>,
}

struct Night<'a> {
    kind: NightKind,
    requests: &'a [Request],
    swept: Swept,
    replicas: usize,
    /// Each file's arrival, and the end of its range of requests.
    files: Vec<(u64, usize)>,
    arrived: usize,
    sent_us: BTreeMap<usize, u64>,
    done_us: BTreeMap<usize, u64>,
    death_us: u64,
    forecasts: Vec<Forecast>,
    chance: Chance,
}

impl Night<'_> {
    fn file(&self, index: usize) -> std::ops::Range<usize> {
        let first = index.checked_sub(1).map_or(0, |before| self.files[before].1);
        first..self.files[index].1
    }

    fn arrive(&mut self, now_us: u64) -> Vec<Work> {
        let mut works = Vec::new();
        while self.arrived < self.files.len() && self.files[self.arrived].0 <= now_us {
            works.extend(self.swept.arrive(self.file(self.arrived), u64::MAX / 2, now_us));
            self.arrived += 1;
        }
        let next = self.files.get(self.arrived);
        works.extend(next.map(|(at, _)| Work::After { us: at - now_us, number: ARRIVAL }));
        works
    }

    fn forecast(&mut self, now_us: u64) {
        let mut subjects: BTreeMap<i64, Vec<Subject>> = BTreeMap::new();
        for index in 0..self.arrived {
            let left: Vec<usize> = self.file(index).filter(|it| !self.done_us.contains_key(it)).collect();
            let Some(first) = left.first() else { continue };
            let of_account = subjects.entry(self.requests[*first].account).or_default();
            for _ in 0..REQUESTS {
                let one = vec![left[self.chance.below(left.len())]];
                of_account.push(Subject { asked: one.clone(), of: one });
            }
            let some = left.iter().step_by(left.len().div_ceil(OF_FILE)).copied().collect();
            of_account.push(Subject { asked: some, of: left });
        }
        for (account, subjects) in subjects {
            let outlook = self.swept.account_outlook(account, self.replicas, now_us);
            let sent_us = |request| self.sent_us.get(&request).copied();
            let at_us = |asked: &[usize]| outlook.as_ref()?.completed_us(asked, sent_us);
            let made = subjects.into_iter().map(|Subject { asked, of }| Forecast {
                made_us: now_us,
                is_file: of.len() > 1,
                at_us: at_us(&asked),
                of,
            });
            self.forecasts.extend(made);
        }
    }
}

impl Dispatcher for Night<'_> {
    fn on(&mut self, event: Event, now_us: u64) -> Vec<Work> {
        if let Event::Completed { request, .. } = event {
            self.done_us.insert(request, now_us);
        }
        let mut works = match event {
            Event::Due(ARRIVAL) => self.arrive(now_us),
            Event::Due(FORECAST) => {
                self.forecast(now_us);
                vec![Work::After { us: self.kind.every_us, number: FORECAST }]
            }
            event => self.swept.on(event, now_us),
        };
        if matches!(event, Event::Start) {
            works.extend(self.arrive(now_us));
            works.push(Work::After { us: self.kind.every_us, number: FORECAST });
        }
        for work in &works {
            if let Work::Send { request, .. } = work {
                self.sent_us.insert(*request, now_us);
            }
        }
        works
    }
}

/// Runs a night with this number of seeds.
pub(super) fn measure(requests: usize, seeds: usize) -> Vec<ForecastFigures> {
    let fleets = NIGHTS.into_iter().flat_map(|kind| [(kind, 1), (kind, 4)]);
    let seeds = |(kind, replicas)| (0..seeds as u64).map(move |seed| (kind, replicas, seed));
    fleets
        .flat_map(seeds)
        .flat_map(|(kind, replicas, seed)| measure_one(kind, requests, replicas, seed))
        .collect()
}

fn measure_one(kind: NightKind, requests: usize, replicas: usize, seed: u64) -> [ForecastFigures; 2] {
    let (all, files) = files(requests * kind.times * replicas.min(2) * 2, seed);
    let cost = Kind::DocumentQa.generate(0, seed).cost;
    let whole = fleet::run(&all, &cost, replicas, &mut Swept::new(&all, replicas, Limit::Told(CONCURRENCY)));
    let night_us = kind.night_us.unwrap_or_else(|| part_of(whole.us, 1.0 / LOAD));
    let work_us = part_of(night_us, LOAD);
    let cost = cost.faster(whole.us as f64 / work_us as f64);
    let files = match kind.arrive {
        true => arrivals(&files, night_us, seed),
        false => files.into_iter().map(|end| (0, end)).collect(),
    };
    let death_us = part_of(files.last().map_or(0, |(at, _)| *at).max(work_us / 2), DEATH);
    let swept = Swept::new(&all, replicas, Limit::Told(CONCURRENCY)).with_seed(seed).with_arrivals();
    let times = |account| ACCOUNTS.iter().find(|it| it.0 == account).map_or(1, |it| it.2);
    let mut night = Night {
        kind,
        requests: &all,
        swept: swept.with_output_limits(&all, times),
        replicas,
        files,
        arrived: 0,
        sent_us: BTreeMap::new(),
        done_us: BTreeMap::new(),
        death_us,
        forecasts: Vec::new(),
        chance: Chance::new(seed),
    };
    let trouble = Trouble {
        dies_at_us: Some(death_us),
        away_us: kind.away_us,
        full: CONCURRENCY as usize,
        poison: None,
    };
    fleet::run_troubled(&all, &cost, replicas, trouble, &mut night);
    [true, false].map(|is_files| judge(&night, is_files, seed))
}

/// The requests of all files, and the end of each file's range.
fn files(requests: usize, seed: u64) -> (Vec<Request>, Vec<usize>) {
    let (mut all, mut ends) = (Vec::new(), Vec::new());
    for file in 0..FILES {
        let (account, kind, _) = ACCOUNTS[file % ACCOUNTS.len()];
        let Workload { requests: mut own, .. } = kind.generate(requests, seed ^ (file as u64 + 1) << 16);
        own.iter_mut().for_each(|request| request.account = account);
        all.extend(own);
        ends.push(all.len());
    }
    (all, ends)
}

/// The arrival of each file: two at the beginning, the others at a random time of their part of the night.
fn arrivals(ends: &[usize], night_us: u64, seed: u64) -> Vec<(u64, usize)> {
    let mut chance = Chance::new(seed);
    let part_us = night_us / FILES as u64;
    let at = |file: usize, tenths: usize| {
        if file < 2 { 0 } else { part_us * file as u64 + part_us * tenths as u64 / 10 }
    };
    ends.iter().enumerate().map(|(file, end)| (at(file, chance.below(10)), *end)).collect()
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a time within a night")]
fn part_of(us: u64, part: f64) -> u64 {
    (us as f64 * part) as u64
}

fn judge(night: &Night<'_>, is_files: bool, seed: u64) -> ForecastFigures {
    let (mut errors, mut unknown, mut promised) = (Vec::new(), 0, 0);
    let away = night.death_us + ADMITTED_US..night.death_us + night.kind.away_us;
    for Forecast { made_us, of, at_us, .. } in night.forecasts.iter().filter(|it| it.is_file == is_files) {
        let Some(at_us) = at_us else {
            unknown += 1;
            continue;
        };
        promised += usize::from(night.replicas == 1 && away.contains(made_us));
        let done_us = of.iter().filter_map(|request| night.done_us.get(request)).max().copied().unwrap_or(0);
        let left_us = done_us.saturating_sub(*made_us);
        if left_us >= night.kind.every_us {
            errors.push(at_us.abs_diff(done_us) as f64 / left_us as f64);
        }
    }
    errors.sort_by(f64::total_cmp);
    let quantile = |tenths: usize| errors.get(errors.len() * tenths / 10).copied().unwrap_or(0.0);
    ForecastFigures {
        night: night.kind.name,
        seed,
        replicas: night.replicas,
        is_files,
        forecasts: errors.len(),
        median_error: quantile(5),
        p90_error: quantile(9),
        unknown,
        promised_in_outage: promised,
    }
}

impl ForecastFigures {
    pub(super) fn write_all(lines: &[Self], formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            formatter,
            "{:<22} {:<16} {:>8} {:>4} {:>9} {:>10} {:>10} {:>8} {:>18}",
            "forecasts of a night",
            "of",
            "replicas",
            "seed",
            "judged",
            "half in",
            "9 of 10 in",
            "unknown",
            "made in the outage"
        )?;
        for line in lines {
            writeln!(
                formatter,
                "{:<22} {:<16} {:>8} {:>4} {:>9} {:>8.1} % {:>8.1} % {:>8} {:>18}",
                line.night,
                if line.is_files { "ends of files" } else { "single requests" },
                line.replicas,
                line.seed,
                line.forecasts,
                100.0 * line.median_error,
                100.0 * line.p90_error,
                line.unknown,
                line.promised_in_outage
            )?;
        }
        Ok(())
    }
}
