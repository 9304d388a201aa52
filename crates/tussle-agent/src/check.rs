//! Checks whether Linux can honour a run, and which parameters its kernel needs at boot.

use std::collections::BTreeMap;
use std::process::ExitCode;

use anyhow::Context;
use tussle_core::Run;
use tussle_core::run::application::ApplicationSpec;
use tussle_core::run::{FlowSpec, Sampling};

use crate::host_settings;
use crate::network::{Datapath, Network, Refusal, buffers};

/// Reads a run from stdin. Prints the kernel's parameters, one per line. The error is the first part of the
/// run that Linux cannot honour over this kind of network.
pub(crate) fn check(network: &str) -> anyhow::Result<ExitCode> {
    let datapath = Datapath::named(network).map_err(anyhow::Error::msg)?;
    let run: Run = serde_json::from_reader(std::io::stdin().lock()).context("the run on stdin")?;
    for parameter in honoured(&run, datapath)? {
        println!("{parameter}");
    }
    // The guest's kernel passes this parameter on to the agent as an environment variable.
    println!("network={network}");
    Ok(ExitCode::SUCCESS)
}

/// Kernel parameters for a run that the kernel can honour.
fn honoured(run: &Run, datapath: Datapath) -> anyhow::Result<Vec<String>> {
    honoured_by_sockets(run)?;
    host_settings::check(run)?;
    let mut parameters = module_parameters(&run.flows)?;
    Network::plan(run, datapath)?;
    parameters.push(format!("mem={}M", buffers::guest_bytes(run) >> 20));
    Ok(parameters)
}

/// Checks what every socket of Linux can honour of a run.
pub(crate) fn honoured_by_sockets(run: &Run) -> anyhow::Result<()> {
    run.check()?;
    if run.record.sampling == Sampling::Change {
        let problem = "the kernel engine samples at an interval; give one, such as \"10 ms\"";
        return Err(Refusal::new("record.sampling", problem).into());
    }
    for (index, flow) in run.flows.iter().enumerate() {
        honoured_traffic(flow)
            .map_err(|(field, problem)| Refusal::new(format!("flows.{index}.{field}"), problem))?;
    }
    Ok(())
}

/// Checks that sockets can send the traffic of a flow. The error is the field and its problem.
fn honoured_traffic(flow: &FlowSpec) -> Result<(), (&'static str, &'static str)> {
    if flow.is_udp() {
        return Err((
            "algorithm",
            "the kernel engine sends no datagrams; give an algorithm, or the simulator",
        ));
    }
    if let Some(ApplicationSpec::Requests(_)) = flow.application {
        let problem = "the kernel engine does not wait for acknowledgements; give rate, on_off or chunks";
        return Err(("application", problem));
    }
    Ok(())
}

/// Module parameters of the algorithms. A kernel has one value for all flows.
fn module_parameters(flows: &[FlowSpec]) -> Result<Vec<String>, Refusal> {
    let mut chosen: BTreeMap<&str, &FlowSpec> = BTreeMap::new();
    for (index, flow) in flows.iter().enumerate() {
        let first = *chosen.entry(&flow.algorithm).or_insert(flow);
        if first.parameters != flow.parameters {
            let problem = format!(
                "differ from those of {}; in a kernel, all flows of {} have the same",
                first.name, flow.algorithm
            );
            return Err(Refusal::new(format!("flows.{index}.parameters"), problem));
        }
    }
    let words = chosen.values().flat_map(|flow| {
        flow.parameters.iter().map(|(name, value)| format!("tcp_{}.{name}={value}", flow.algorithm))
    });
    Ok(words.collect())
}

#[cfg(test)]
mod tests {
    use tussle_core::run::application::{ChunksSpec, RequestsSpec};
    use tussle_core::util::distribution::Distribution;

    use super::*;

    fn flow(name: &str, parameters: &serde_json::Value) -> FlowSpec {
        serde_json::from_value(serde_json::json!({
            "name": name, "algorithm": "cubic", "parameters": parameters, "start_ns": 0, "mss_bytes": 1448,
            "forward": [], "reverse": [],
        }))
        .unwrap()
    }

    #[test]
    fn parameters_become_those_of_the_module_once() {
        let parameters = serde_json::json!({"beta": 512, "hystart": 0});
        let flows = [flow("a", &parameters), flow("b", &parameters)];
        assert_eq!(module_parameters(&flows).unwrap(), ["tcp_cubic.beta=512", "tcp_cubic.hystart=0"]);
    }

    #[test]
    fn traffic_that_sockets_do_not_send_is_refused_by_its_field() {
        let parameters = serde_json::json!({});
        let zero = Distribution::ConstantNs(0);
        let requests = RequestsSpec { response_bytes: 1, think: zero.clone() };
        let responses =
            FlowSpec { application: Some(ApplicationSpec::Requests(requests)), ..flow("a", &parameters) };
        let chunks = ChunksSpec { chunk_bytes: 1, every: zero };
        let video = FlowSpec { application: Some(ApplicationSpec::Chunks(chunks)), ..flow("a", &parameters) };
        let datagrams = FlowSpec { algorithm: "udp".to_owned(), ..video.clone() };
        let fields = [responses, datagrams].map(|flow| honoured_traffic(&flow).unwrap_err().0);
        assert_eq!(fields, ["application", "algorithm"]);
        assert_eq!(honoured_traffic(&video), Ok(()));
    }

    #[test]
    fn flows_cannot_differ_in_the_parameters_of_one_module() {
        let flows = [flow("a", &serde_json::json!({})), flow("b", &serde_json::json!({"beta": 512}))];
        let refusal = module_parameters(&flows).unwrap_err();
        assert_eq!(refusal.at, "flows.1.parameters");
    }
}
