//! Checks the lines of a file: counts and prices them, and finds duplicates.

use std::collections::HashSet;

use overnight_domain::files::BatchEndpoint;
use overnight_domain::json::ObjectWriter;
use sha2::{Digest, Sha256};

use super::lines::{self, Asked, LineFault, line_codes};
use crate::Services;

/// The maximum number of faults kept per file; others are only counted.
const FAULTS_KEPT_MAX: i64 = 1_000;

pub(super) struct Check {
    /// Parses the endpoint of a line.
    parse: fn(&str) -> Option<BatchEndpoint>,
    pub(super) number: i64,
    custom_ids: HashSet<[u8; 16]>,
    pub(super) endpoint: Option<BatchEndpoint>,
    pub(super) lines: i64,
    pub(super) hold: i64,
    pub(super) fault_count: i64,
    pub(super) faults: Vec<u8>,
}

impl Check {
    pub(super) fn new(parse: fn(&str) -> Option<BatchEndpoint>) -> Self {
        Self {
            parse,
            number: 0,
            custom_ids: HashSet::new(),
            endpoint: None,
            lines: 0,
            hold: 0,
            fault_count: 0,
            faults: Vec::new(),
        }
    }

    /// Leaves an empty check in its place.
    pub(super) fn take_out(&mut self) -> Self {
        let parse = self.parse;
        std::mem::replace(self, Self::new(parse))
    }

    pub(super) fn line(&mut self, services: &Services, line: &[u8]) {
        self.number += 1;
        if line.is_empty() {
            return;
        }
        let limit = services.config().limits.request_body_bytes;
        if line.len() > limit {
            return self.refuse(&LineFault {
                code: line_codes::TOO_LARGE,
                message: format!("the line must be at most {limit} bytes"),
                param: None,
            });
        }
        match lines::read(services, line, self.parse, services.clock.now()) {
            Err(fault) => self.refuse(&fault),
            Ok(line) => self.take(&line),
        }
    }

    fn take(&mut self, line: &lines::Line) {
        let lines::Line { custom_id, endpoint, asked } = line;
        let mut digest = [0; 16];
        digest.copy_from_slice(&Sha256::digest(custom_id)[..16]);
        let fault = |code, param: &str, message: &str| LineFault {
            code,
            message: format!("{param} {message}"),
            param: Some(param.to_owned()),
        };
        if !self.custom_ids.insert(digest) {
            return self.refuse(&fault(
                line_codes::DUPLICATE_CUSTOM_ID,
                "custom_id",
                "stands in an earlier line",
            ));
        }
        if self.endpoint.is_some_and(|first| first != *endpoint) {
            return self.refuse(&fault(
                line_codes::MISMATCHED_URL,
                "url",
                "must be the same in all lines of a file",
            ));
        }
        self.endpoint = Some(*endpoint);
        self.lines += 1;
        let hold = match asked {
            Asked::Answer(request) => request.hold().map_or(0, |hold| hold.amount.nanos()),
            Asked::Refusal(_) => 0,
        };
        self.hold = self.hold.saturating_add(hold);
    }

    fn refuse(&mut self, LineFault { code, message, param }: &LineFault) {
        self.fault_count += 1;
        if self.fault_count > FAULTS_KEPT_MAX {
            return;
        }
        let mut fault = ObjectWriter::with_capacity(message.len() + 128);
        fault.string("code", code);
        fault.string("message", message);
        if let Some(param) = param {
            fault.string("param", param);
        }
        fault.integer("line", self.number);
        if !self.faults.is_empty() {
            self.faults.push(b',');
        }
        self.faults.extend_from_slice(fault.finish().as_str().as_bytes());
    }
}
