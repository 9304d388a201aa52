//! Runs on this host's own kernel, in real time, over namespaces that only this process sees and that end
//! with it.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use anyhow::Context;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use tussle_core::Run;
use tussle_core::run::FlowSpec;

use crate::algorithms;
use crate::check::honoured_by_sockets;
use crate::execute::{Environment, setup, timeline, write};
use crate::netlink::Netlink;
use crate::network::{Datapath, Network, Refusal};
use crate::validity::LoadMonitor;

/// Reads a run from stdin. Prints the kind of network over which this host can execute it: the requested one,
/// or `tun` where `mixed` finds no queue disciplines. The error is the first part of the run that the host
/// cannot honour.
pub(crate) fn check(network: &str) -> anyhow::Result<ExitCode> {
    let datapath = Datapath::named(network).map_err(anyhow::Error::msg)?;
    let run: Run = serde_json::from_reader(std::io::stdin().lock()).context("the run on stdin")?;
    honoured_by_sockets(&run)?;
    has_algorithms(&run.flows)?;
    println!("{}", if has_disciplines(&run, datapath)? { network } else { "tun" });
    Ok(ExitCode::SUCCESS)
}

/// Executes the run in the current folder, and writes its tables there. Ends early when stdin closes.
pub(crate) fn execute(network: &str) -> anyhow::Result<ExitCode> {
    let run: Run = serde_json::from_slice(&fs::read("run.json").context("run.json")?).context("run.json")?;
    // The owner holds the other end of stdin open, so that stdin closes whenever the owner ends.
    std::thread::spawn(|| {
        let mut rest = Vec::new();
        let _ = std::io::stdin().lock().read_to_end(&mut rest);
        std::process::exit(1);
    });
    let datapath = Datapath::named(network).map_err(anyhow::Error::msg)?;
    let network = Network::plan(&run, datapath)?;
    unshare(CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWNET).context("creating private namespaces")?;
    // Mounts from here on, and the names of namespaces, are visible to this process only.
    mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None::<&str>)
        .context("making mounts private")?;
    mount(Some("tmpfs"), "/run", Some("tmpfs"), MsFlags::empty(), None::<&str>)
        .context("a folder for the names of namespaces")?;
    let environment = Environment::Host(Arc::new(Mutex::new(LoadMonitor::start()?)));
    let hosts = setup::build(&run, &network, &environment)?;
    for table in timeline::run(&run, &network, hosts, &environment)? {
        write(table, Path::new("."))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Checks that every algorithm can be used.
fn has_algorithms(flows: &[FlowSpec]) -> anyhow::Result<()> {
    flows.iter().enumerate().try_for_each(|(index, flow)| {
        let at = |field: &str| format!("flows.{index}.{field}");
        let name = flow.algorithm.as_str();
        algorithms::usable(name).map_err(|problem| Refusal::new(at("algorithm"), problem))?;
        if !flow.parameters.is_empty() {
            let problem = format!(
                "on a host, parameters of {name} hold for all flows; give none, or use the kernel engine"
            );
            return Err(Refusal::new(at("parameters"), problem).into());
        }
        Ok(())
    })
}

/// Whether this host has the queue disciplines of a run's network. Otherwise all packets cross the
/// simulator's elements.
fn has_disciplines(run: &Run, datapath: Datapath) -> anyhow::Result<bool> {
    let network = Network::plan(run, datapath)?;
    for hop in network.veth_pairs.iter().filter_map(|veth| veth.hop.as_ref()) {
        for kind in hop.handling.kinds() {
            if has_discipline(kind)? {
                continue;
            }
            if datapath == Datapath::Mixed {
                Network::plan(run, Datapath::Tunnels)?;
                return Ok(false);
            }
            let problem = format!(
                "this kernel has no queue discipline {kind}; if it has the module, `modprobe sch_{kind}` loads it, \
                 and --network tun does without"
            );
            return Err(Refusal::new(format!("elements.{}", hop.element), problem).into());
        }
    }
    Ok(true)
}

/// Whether the kernel has a queue discipline, tried in a new namespace.
fn has_discipline(kind: &str) -> anyhow::Result<bool> {
    unshare(CloneFlags::CLONE_NEWNET).context("making a namespace to try a queue discipline in")?;
    Netlink::open()?.has_discipline(kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(algorithm: &str, parameters: &serde_json::Value) -> FlowSpec {
        serde_json::from_value(serde_json::json!({
            "name": "a", "algorithm": algorithm, "parameters": parameters, "start_ns": 0, "mss_bytes": 1448,
            "forward": [], "reverse": [],
        }))
        .unwrap()
    }

    fn refusal(flow: FlowSpec) -> String {
        has_algorithms(&[flow]).unwrap_err().to_string()
    }

    #[test]
    fn parameters_and_algorithms_that_are_not_loaded_are_refused() {
        let none = serde_json::json!({});
        assert!(has_algorithms(&[flow("reno", &none)]).is_ok());
        let problem = refusal(flow("nosuch", &none));
        assert!(
            problem.starts_with("flows.0.algorithm: this kernel has ")
                && problem.contains("modprobe tcp_nosuch")
        );
        assert!(refusal(flow("reno", &serde_json::json!({"x": 1}))).starts_with("flows.0.parameters: "));
    }
}
