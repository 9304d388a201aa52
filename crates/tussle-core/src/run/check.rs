//! Validation of runs.

use std::collections::{HashMap, HashSet};

use crate::net::path::ElementKind;
use crate::run::application::ApplicationSpec;
use crate::run::{FORMAT, FlowSpec, Qdisc, Run, Sampling};
use crate::util::calendar::Calendar;

/// Reason why a run is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {problem}")]
pub struct RunError {
    /// Path of the field, such as `flows.0.start_ns`.
    pub at: String,
    /// The problem, and the permitted values.
    pub problem: String,
}

impl RunError {
    pub(crate) fn new(at: impl Into<String>, problem: impl Into<String>) -> RunError {
        RunError { at: at.into(), problem: problem.into() }
    }

    /// Prefixes the field with that of the flow `index`.
    pub(crate) fn of_flow(self, index: usize) -> RunError {
        self.within(&format!("flows.{index}"))
    }

    /// Prefixes the field with that of its table.
    pub(crate) fn within(self, table: &str) -> RunError {
        RunError { at: format!("{table}.{}", self.at), ..self }
    }
}

/// Size of the largest IP packet.
const MAX_PACKET_BYTES: u32 = 65_535;
/// Largest number of time-series rows of one run: some gigabytes.
const MAX_ROWS: u64 = 20_000_000;
/// Longest run: 30 days, before the timestamps of TCP wrap around (RFC 7323, 5.4).
const MAX_DURATION_NS: u64 = 30 * 24 * 3_600 * 1_000_000_000;

impl Run {
    /// Checks the fields that can be checked without building the network and the algorithms.
    ///
    /// # Errors
    /// The first invalid field.
    pub fn check(&self) -> Result<(), RunError> {
        let fail = |at: &str, problem: String| Err(RunError::new(at, problem));
        if self.format != FORMAT {
            return fail("format", format!("{}; this version reads {FORMAT}", self.format));
        }
        if self.duration_ns == 0 || self.duration_ns > MAX_DURATION_NS {
            return fail("duration_ns", format!("{} ns; give 1 ns to 30 days", self.duration_ns));
        }
        let last = Calendar::last_time(self.components());
        if self.duration_ns > last.ns() {
            let (flows, elements) = (self.flows.len(), self.elements.len());
            let problem = format!(
                "{} ns; with {flows} flows over {elements} elements give at most {last}",
                self.duration_ns
            );
            return fail("duration_ns", problem);
        }
        if self.steady.from_ns >= self.steady.to_ns || self.steady.to_ns > self.duration_ns {
            return fail("steady", "begins after it ends, or ends after the run".to_owned());
        }
        if let Sampling::EveryNs(every_ns) = self.record.sampling {
            self.check_rows(every_ns)?;
        }
        self.hosts.check().map_err(|error| error.within("hosts"))?;
        let mut elements = HashMap::new();
        for (i, element) in self.elements.iter().enumerate() {
            if elements.insert(element.name.as_str(), &element.kind).is_some() {
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
            self.check_flow(flow, &elements).map_err(|error| error.of_flow(i))?;
        }
        Ok(())
    }

    /// Largest number of components in the simulation of the run: its elements, two capture taps, both ends
    /// of each flow, and the recorder.
    fn components(&self) -> usize {
        self.elements.len() + 2 + 2 * self.flows.len() + 1
    }

    fn check_rows(&self, every_ns: u64) -> Result<(), RunError> {
        let rows_at_once = (self.flows.len() + self.elements.len()).max(1) as u64;
        let shortest_ns = (self.duration_ns / (MAX_ROWS / rows_at_once).max(1)).max(1);
        if every_ns < shortest_ns {
            let problem =
                format!("{every_ns} ns makes more than {MAX_ROWS} rows; give at least {shortest_ns} ns");
            return Err(RunError::new("record.sampling.every_ns", problem));
        }
        Ok(())
    }

    fn check_flow(&self, flow: &FlowSpec, elements: &HashMap<&str, &ElementKind>) -> Result<(), RunError> {
        let fail = |at: &str, problem: String| Err(RunError::new(at, problem));
        let most = MAX_PACKET_BYTES - self.ends(flow).header_bytes();
        if flow.mss_bytes == 0 || flow.mss_bytes > most {
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
        for (end, host) in [("sender", flow.sender), ("receiver", flow.receiver)] {
            host.map_or(Ok(()), |host| host.check()).map_err(|error| error.within(end))?;
        }
        let receiver = self.ends(flow).receiver;
        if let Some(window) = receiver.first_window_bytes()
            && flow.receive_window_bytes.is_none()
            && window < 2 * flow.mss_bytes
        {
            let at = if flow.receiver.is_some() { "receiver.rmem" } else { "rmem" };
            let problem = format!(
                "its default makes a window of {window} bytes; give one for two packets, of {} bytes each",
                flow.mss_bytes
            );
            return Err(RunError::new(at, problem));
        }
        if self.ends(flow).sender.qdisc != Qdisc::None && flow.forward.is_empty() {
            return fail(
                "forward",
                "no element; a host with a queue needs one, which counts its drops".to_owned(),
            );
        }
        if let Some(rate_bit_per_s) = flow.device_rate_bit_per_s {
            let access = flow.forward.first().and_then(|name| elements.get(name.as_str()));
            if rate_bit_per_s == 0 || !access.is_some_and(|element| element.is_link()) {
                let problem =
                    "give the rate of the flow's access link, which is the first element of its forward path";
                return fail("device_rate_bit_per_s", problem.to_owned());
            }
        }
        flow.schedule(0).map_err(|problem| RunError::new("application", problem))?;
        if flow.is_udp() {
            check_udp(flow)?;
        }
        for (side, path) in [("forward", &flow.forward), ("reverse", &flow.reverse)] {
            if let Some(unknown) = path.iter().find(|name| !elements.contains_key(name.as_str())) {
                return fail(side, format!("no element is called {unknown}"));
            }
        }
        let takes_time = |name: &String| {
            elements
                .get(name.as_str())
                .is_some_and(|element| element.is_link() || element.delays().shortest_ns > 0)
        };
        if !flow.forward.iter().chain(&flow.reverse).any(takes_time) {
            return fail("forward", "a round trip takes no time; give the path a delay or a link".to_owned());
        }
        Ok(())
    }
}

/// Largest number of datagrams of a chunk, which all leave at once: 6 MB. A video frame has a tenth of that.
const MAX_DATAGRAMS_AT_ONCE: u64 = 4096;

/// Checks a UDP flow. Its datagrams are not acknowledged.
fn check_udp(flow: &FlowSpec) -> Result<(), RunError> {
    let fail = |at: &str, problem: &str| Err(RunError::new(at, problem));
    match flow.application {
        None => return fail("application", "missing; udp sends what its application writes"),
        Some(ApplicationSpec::Requests(_)) => {
            return fail("application", "a response by udp is not acknowledged; give rate, on_off or chunks");
        }
        Some(ApplicationSpec::Chunks(ref spec))
            if spec.chunk_bytes.div_ceil(flow.mss_bytes.into()) > MAX_DATAGRAMS_AT_ONCE =>
        {
            let problem = format!(
                "a chunk of {} bytes; udp sends it at once: give at most {MAX_DATAGRAMS_AT_ONCE} datagrams of {} bytes",
                spec.chunk_bytes, flow.mss_bytes
            );
            return Err(RunError::new("application", problem));
        }
        Some(_) => {}
    }
    if flow.bytes.is_some() {
        return fail("bytes", "a udp receiver cannot detect the last byte; give stop_ns instead");
    }
    if flow.ecn || flow.pacing {
        let field = if flow.ecn { "ecn" } else { "pacing" };
        return fail(field, "udp has none; give off");
    }
    check_udp_parameters(flow)
}

/// Checks that a UDP flow has no algorithm parameters.
pub(crate) fn check_udp_parameters(flow: &FlowSpec) -> Result<(), RunError> {
    flow.parameters
        .keys()
        .next()
        .map_or(Ok(()), |name| Err(RunError::new("parameters", format!("udp has none; leave out {name}"))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn valid() -> serde_json::Value {
        serde_json::json!({
            "format": 1, "profile": "linux-6.1", "seed": 1, "duration_ns": 1_000_000_000u64,
            "steady": {"from_ns": 0, "to_ns": 1_000_000_000u64},
            "record": {"sampling": {"every_ns": 1_000_000}, "events": false},
            "elements": [{"name": "wire", "kind": "delay", "delay_ns": 1_000_000}],
            "flows": [{"name": "a", "algorithm": "reno", "start_ns": 0, "mss_bytes": 1448,
                       "forward": ["wire"], "reverse": ["wire"]}],
        })
    }

    /// The error of a run with one changed field, or "fine".
    fn verdict(pointer: &str, value: serde_json::Value) -> String {
        let mut run = valid();
        let (parent, field) = pointer.rsplit_once('/').unwrap();
        match run.pointer_mut(parent).unwrap() {
            serde_json::Value::Object(fields) => drop(fields.insert(field.to_owned(), value)),
            other => panic!("{other}"),
        }
        let parsed: Run = serde_json::from_value(run).unwrap();
        crate::Simulation::new(&parsed).map_or_else(|problem| problem.to_string(), |_| "fine".to_owned())
    }

    #[test]
    fn errors_name_the_field() {
        let cases = [
            ("/format", serde_json::json!(2), "format: 2; this version reads 1"),
            ("/duration_ns", serde_json::json!(0), "duration_ns: 0 ns; give 1 ns to 30 days"),
            (
                "/steady/to_ns",
                serde_json::json!(2_000_000_000),
                "steady: begins after it ends, or ends after the run",
            ),
            (
                "/record/sampling/every_ns",
                serde_json::json!(1),
                "record.sampling.every_ns: 1 ns makes more than 20000000 rows; give at least 100 ns",
            ),
            (
                "/flows/0/algorithm",
                serde_json::json!("renno"),
                "flows.0.algorithm: no algorithm is called renno; there are",
            ),
            (
                "/flows/0/start_ns",
                serde_json::json!(1_000_000_000),
                "flows.0.start_ns: starts at 1000000000 ns, when the run is over",
            ),
            ("/flows/0/mss_bytes", serde_json::json!(0), "flows.0.mss_bytes: 0 bytes; give 1 to 65483"),
            ("/flows/0/forward", serde_json::json!(["wyre"]), "flows.0.forward: no element is called wyre"),
            ("/flows", serde_json::json!([]), "flows: there is none; give at least one"),
            (
                "/elements/0/delay_ns",
                serde_json::json!(0),
                "flows.0.forward: a round trip takes no time; give the path a delay or a link",
            ),
            (
                "/flows/0/application",
                serde_json::json!({"kind": "rate", "rate_bit_per_s": 0}),
                "flows.0.application: rate_bit_per_s: 0 bit/s; give 1 to 400000000000",
            ),
            (
                "/flows/0/algorithm",
                serde_json::json!("udp"),
                "flows.0.application: missing; udp sends what its application writes",
            ),
            (
                "/elements/0/delay_ns",
                serde_json::json!(200_000_000_000u64),
                "elements.0: delay_ns: 200.000000000 s; give 0 to 100.000000000 s",
            ),
        ];
        for (pointer, value, expected) in cases {
            let found = verdict(pointer, value);
            assert!(found.starts_with(expected), "{pointer}: {found}");
        }
        assert_eq!(verdict("/seed", serde_json::json!(9)), "fine");
    }

    /// A chunk of 256 GiB, which a UDP flow would send in one event, is refused.
    #[test]
    fn a_chunk_of_datagrams_is_limited() {
        let mut run = valid();
        let every = serde_json::json!({"constant_ns": 10_000_000});
        run["flows"][0]["algorithm"] = "udp".into();
        let mut verdict_for_chunk = |chunk_bytes: u64| {
            run["flows"][0]["application"] =
                serde_json::json!({"kind": "chunks", "chunk_bytes": chunk_bytes, "every": every});
            match serde_json::from_value::<Run>(run.clone()).expect("a run").check() {
                Ok(()) => "fine".to_owned(),
                Err(error) => error.to_string(),
            }
        };
        assert_eq!(verdict_for_chunk(4096 * 1448), "fine");
        assert_eq!(
            verdict_for_chunk(1 << 38),
            "flows.0.application: a chunk of 274877906944 bytes; udp sends it at once: give at most 4096 datagrams of \
             1448 bytes"
        );
    }

    /// 2048 flows and one element are 4100 components, which need 13 bits; the remaining 51 bits hold 26 days
    /// in ns.
    #[test]
    fn many_flows_shorten_the_longest_run() {
        let mut run = valid();
        let flow = run["flows"][0].clone();
        let flows: Vec<_> = (0..2048)
            .map(|number| {
                let mut flow = flow.clone();
                flow["name"] = format!("flow-{number}").into();
                flow
            })
            .collect();
        run["flows"] = flows.into();
        run["record"]["sampling"] = "off".into();
        let verdict_for_days = |days: u64| {
            let duration_ns = days * 24 * 3_600 * 1_000_000_000;
            let run = Run { duration_ns, ..serde_json::from_value(run.clone()).unwrap() };
            run.check().map_or_else(|problem| problem.to_string(), |()| "fine".to_owned())
        };
        assert_eq!(verdict_for_days(26), "fine");
        assert_eq!(
            verdict_for_days(27),
            "duration_ns: 2332800000000000 ns; with 2048 flows over 1 elements give at most 2251799.813685246 s"
        );
    }

    #[test]
    fn unknown_fields_are_refused() {
        for pointer in ["", "/steady", "/record", "/elements/0", "/flows/0"] {
            let mut run = valid();
            run.pointer_mut(pointer).unwrap().as_object_mut().unwrap().insert("colour".to_owned(), 1.into());
            let problem = serde_json::from_value::<Run>(run).unwrap_err().to_string();
            assert!(problem.contains("colour"), "{pointer}: {problem}");
        }
    }
}
