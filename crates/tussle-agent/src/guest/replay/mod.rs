//! Packet scripts on the kernel. Each has a network of its own, whose only device is a TUN device for the
//! peer's packets.

mod addresses;
mod codec;
mod host;
mod peer;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::Context;
use nix::sched::{CloneFlags, unshare};
use tussle_core::net::packet::header_bytes;
use tussle_core::run;
use tussle_core::script::{MSS_BYTES, Role, Script, ScriptError, Verdict, check};

use crate::execute::clock::exact_timers;
use crate::execute::setup::command;
use crate::execute::tun::{BURST_PACKETS, Tun};
use crate::host_settings;
use crate::namespace::set;
use crate::netlink::Netlink;
use addresses::{HOST, OPENING_TOS, PEER};
use host::KernelHost;

/// The device between the kernel and the peer of a script.
const DEVICE: &str = "script";

/// Plays scripts, given as a JSON object by name, and returns their verdicts likewise.
pub(super) fn play(scripts: &str) -> anyhow::Result<String> {
    let scripts: BTreeMap<String, Script> = serde_json::from_str(scripts).context("scripts.json")?;
    exact_timers().context("exact timers")?;
    let mut verdicts = BTreeMap::new();
    for (name, script) in scripts {
        let outcome = play_one(&script).with_context(|| format!("script {name}"))?;
        verdicts.insert(name, Verdict::from(outcome));
    }
    Ok(serde_json::to_string(&verdicts)?)
}

fn play_one(script: &Script) -> anyhow::Result<Result<(), ScriptError>> {
    if let Err(problem) = script.check_hosts() {
        return Ok(Err(problem));
    }
    if let Err(refusal) = host_settings::check_host("hosts", &script.hosts) {
        return Ok(Err(ScriptError::Invalid(format!("{}: {}", refusal.at, refusal.problem))));
    }
    let before = match set_parameters(script) {
        Ok(before) => before,
        Err(problem) => return Ok(Err(ScriptError::Invalid(problem))),
    };
    let outcome = in_own_network(script);
    for (file, value) in before {
        fs::write(&file, value).with_context(|| file.clone())?;
    }
    outcome
}

fn in_own_network(script: &Script) -> anyhow::Result<Result<(), ScriptError>> {
    unshare(CloneFlags::CLONE_NEWNET).context("a new network")?;
    let tun = Tun::open(DEVICE)?;
    command("ip", None, &network(script))?;
    if script.start_cwnd.is_none() {
        host_settings::check_routes(&Netlink::open()?, &script.hosts)?;
    }
    configure(script)?;
    let mut host = match KernelHost::connect(script, tun) {
        Ok(host) => host,
        Err(problem) => return Ok(Err(problem)),
    };
    Ok(check(script, &mut host))
}

fn network(script: &Script) -> String {
    // An initial window is a setting of the route. After idle, the window falls to the current route's
    // setting. So the connection is opened by another route than the one used later.
    let opening = script.start_cwnd.map(|initial_cwnd| {
        let metrics = host_settings::route_words(&run::Host { initial_cwnd, ..script.hosts });
        format!("route add {PEER} tos {OPENING_TOS:#x} dev {DEVICE}{metrics}\n")
    });
    let metrics = host_settings::route_words(&script.hosts);
    let burst = if script.hosts.offloads { "" } else { " gso_max_segs 1" };
    format!(
        "link set {DEVICE} up mtu {mtu_bytes}{burst} txqueuelen {BURST_PACKETS}\n\
         address add {host}/32 dev {DEVICE}\n\
         route add {peer} dev {DEVICE}{metrics}\n{opening}",
        mtu_bytes = header_bytes(script.has_timestamps()) + MSS_BYTES,
        host = HOST,
        peer = PEER,
        opening = opening.unwrap_or_default(),
    )
}

/// Sets the sysctls of the network.
fn configure(script: &Script) -> anyhow::Result<()> {
    let ecn = match (script.role, script.ecn) {
        // 0: does not request ECN, except for algorithms that need it.
        (Role::Sender, false) => "0",
        (Role::Sender, true) => "1",
        // 2: accepts ECN.
        (Role::Receiver, _) => "2",
    };
    set("net/ipv4/tcp_ecn", ecn)?;
    set("net/ipv4/tcp_no_metrics_save", "1")?;
    host_settings::apply(&script.hosts, None)
}

/// Sets the parameters of the algorithm's module, and returns the files with their previous contents.
fn set_parameters(script: &Script) -> Result<Vec<(String, String)>, String> {
    let mut before = Vec::new();
    for (name, value) in &script.parameters {
        let file = format!("/sys/module/tcp_{}/parameters/{name}", script.algorithm);
        let Ok(old) = fs::read_to_string(&file) else {
            return Err(format!("Linux's {} has no parameter {name}", script.algorithm));
        };
        if fs::write(&file, value.to_string()).is_err() {
            return Err(format!("Linux's {} does not let {name} be {value}", script.algorithm));
        }
        before.push((file, old));
    }
    Ok(before)
}

/// Plays the scripts of the shared folder.
pub(super) fn execute(share: &Path) -> anyhow::Result<()> {
    let scripts = fs::read_to_string(share.join("scripts.json")).context("scripts.json")?;
    let verdicts = play(&scripts)?;
    fs::write(share.join("verdicts.json"), verdicts).context("writing the verdicts")
}
