//! Whether a run makes sense, and what is wrong if not.

use std::collections::{HashMap, HashSet};

use crate::cc;
use crate::packet::HEADER_BYTES;
use crate::path::EffectSpec;
use crate::run::{FORMAT, FlowSpec, Run, Sampling};

/// A run that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {problem}")]
pub struct RunError {
    /// The field, as `flows.0.start_ns`.
    pub at: String,
    /// What is wrong with it, and what would be right.
    pub problem: String,
}

impl RunError {
    pub(crate) fn new(at: impl Into<String>, problem: impl Into<String>) -> RunError {
        RunError { at: at.into(), problem: problem.into() }
    }
}

/// Largest IP packet.
const MAX_PACKET_BYTES: u32 = 65_535;
/// Most rows of the time series of one run: some gigabytes.
const MAX_ROWS: u64 = 20_000_000;
/// Longest run: a year, so that sums of times cannot overflow.
const MAX_DURATION_NS: u64 = 366 * 24 * 3_600 * 1_000_000_000;

impl Run {
    /// Checks what does not need the network to be built.
    ///
    /// # Errors
    /// The first field that makes no sense.
    pub fn check(&self) -> Result<(), RunError> {
        let fail = |at: &str, problem: String| Err(RunError::new(at, problem));
        if self.format != FORMAT {
            return fail("format", format!("{}; this version reads {FORMAT}", self.format));
        }
        if self.duration_ns == 0 || self.duration_ns > MAX_DURATION_NS {
            return fail("duration_ns", format!("{} ns; give 1 ns to a year", self.duration_ns));
        }
        if self.steady.from_ns >= self.steady.to_ns || self.steady.to_ns > self.duration_ns {
            return fail("steady", "begins after it ends, or ends after the run".to_owned());
        }
        if let Sampling::EveryNs(every_ns) = self.record.sampling {
            self.check_rows(every_ns)?;
        }
        let mut elements = HashMap::new();
        for (i, element) in self.elements.iter().enumerate() {
            if elements.insert(element.name.as_str(), &element.effect).is_some() {
                return fail(&format!("elements.{i}.name"), format!("{} is taken", element.name));
            }
        }
        if self.flows.is_empty() {
            return fail("flows", "there is none; give at least one".to_owned());
        }
        let mut names = HashSet::new();
        for (i, flow) in self.flows.iter().enumerate() {
            if !names.insert(flow.name.as_str()) {
                return fail(&format!("flows.{i}.name"), format!("{} is taken", flow.name));
            }
            self.check_flow(flow, &elements)
                .map_err(|RunError { at, problem }| RunError::new(format!("flows.{i}.{at}"), problem))?;
        }
        Ok(())
    }

    fn check_rows(&self, every_ns: u64) -> Result<(), RunError> {
        let rows_at_once = (self.flows.len() + self.elements.len()).max(1) as u64;
        let shortest_ns = (self.duration_ns / (MAX_ROWS / rows_at_once).max(1)).max(1);
        if every_ns < shortest_ns {
            let problem = format!("{every_ns} ns makes more than {MAX_ROWS} rows; give at least {shortest_ns}");
            return Err(RunError::new("record.sampling.every_ns", problem));
        }
        Ok(())
    }

    fn check_flow(&self, flow: &FlowSpec, elements: &HashMap<&str, &EffectSpec>) -> Result<(), RunError> {
        let fail = |at: &str, problem: String| Err(RunError::new(at, problem));
        let Some(entry) = cc::Entry::find(&flow.algorithm) else {
            let known: Vec<_> = cc::REGISTRY.iter().map(|entry| entry.name).collect();
            return fail(
                "algorithm",
                format!("no algorithm is called {}; there are {}", flow.algorithm, known.join(", ")),
            );
        };
        if let Err(problem) = entry.parameters(&flow.parameters) {
            return fail("parameters", problem.to_string());
        }
        if flow.mss_bytes == 0 || flow.mss_bytes > MAX_PACKET_BYTES - HEADER_BYTES {
            let most = MAX_PACKET_BYTES - HEADER_BYTES;
            return fail("mss_bytes", format!("{} bytes; give 1 to {most}", flow.mss_bytes));
        }
        if flow.start_ns >= self.duration_ns {
            return fail("start_ns", format!("starts at {} ns, when the run is over", flow.start_ns));
        }
        if flow.stop_ns.is_some_and(|stop| stop <= flow.start_ns) {
            return fail("stop_ns", "stops before it starts".to_owned());
        }
        if flow.bytes.is_some_and(|bytes| {
            bytes == 0 || bytes.div_ceil(u64::from(flow.mss_bytes)) >= u64::from(u32::MAX)
        }) {
            return fail("bytes", "give at least 1, and fewer than 2^32 packets".to_owned());
        }
        if flow.receive_window_bytes.is_some_and(|window| window < u64::from(flow.mss_bytes)) {
            return fail(
                "receive_window_bytes",
                format!("give at least one packet, {} bytes", flow.mss_bytes),
            );
        }
        for (side, path) in [("forward", &flow.forward), ("reverse", &flow.reverse)] {
            if let Some(unknown) = path.iter().find(|name| !elements.contains_key(name.as_str())) {
                return fail(side, format!("no element is called {unknown}"));
            }
        }
        let takes_time = |name: &String| match elements.get(name.as_str()) {
            Some(EffectSpec::Link(_)) => true,
            Some(EffectSpec::Delay(delay)) => delay.delay_ns > 0,
            Some(EffectSpec::Loss(_)) | None => false,
        };
        if !flow.forward.iter().chain(&flow.reverse).any(takes_time) {
            return fail("forward", "a round trip takes no time; give the path a delay or a link".to_owned());
        }
        Ok(())
    }
}
