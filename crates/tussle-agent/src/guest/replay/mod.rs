//! Packet scripts on the kernel: each in a network of its own, whose only device is a TUN that the peer's packets
//! come from.

mod host;
mod peer;
mod wire;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::Context;
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl;
use tussle_core::script::{Role, Script, ScriptError, Verdict, check};

use crate::execute::setup::{command, set};
use crate::execute::tun::{BURST_PACKETS, Tun};
use host::KernelHost;

/// The device by which the kernel and the peer of a script meet.
const DEVICE: &str = "script";
/// Type of service by which packets are routed until the connection is open.
const OPENING_TOS: i32 = 0x10;

/// Plays `scripts`, a map by their names, in JSON; the verdicts, in JSON, are by the same names.
pub(super) fn play(scripts: &str) -> anyhow::Result<String> {
    let scripts: BTreeMap<String, Script> = serde_json::from_str(scripts).context("scripts.json")?;
    // Without that, a sleep may end 50 µs late.
    prctl::set_timerslack(1).context("exact timers")?;
    let mut verdicts = BTreeMap::new();
    for (name, script) in scripts {
        let outcome = play_one(&script).with_context(|| format!("script {name}"))?;
        verdicts.insert(name, Verdict::from(outcome));
    }
    Ok(serde_json::to_string(&verdicts)?)
}

fn play_one(script: &Script) -> anyhow::Result<Result<(), ScriptError>> {
    let before = match set_parameters(script) {
        Ok(before) => before,
        Err(problem) => return Ok(Err(ScriptError::Nonsense(problem))),
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
    configure(script)?;
    let mut host = match KernelHost::connect(script, tun) {
        Ok(host) => host,
        Err(problem) => return Ok(Err(problem)),
    };
    Ok(check(script, &mut host))
}

fn network(script: &Script) -> String {
    // A window to start with is a route's; after idle, the window falls to what the route says then. So there is a
    // route to open by, and another one for the rest.
    let opening = script
        .start_cwnd
        .map(|cwnd| format!("route add {} tos {OPENING_TOS:#x} dev {DEVICE} initcwnd {cwnd}\n", peer::PEER));
    format!(
        "link set {DEVICE} up mtu 1500 gso_max_segs 1 txqueuelen {BURST_PACKETS}\n\
         address add {host}/32 dev {DEVICE}\n\
         route add {peer} dev {DEVICE}\n{opening}",
        host = peer::HOST,
        peer = peer::PEER,
        opening = opening.unwrap_or_default(),
    )
}

/// Settings of the network.
fn configure(script: &Script) -> anyhow::Result<()> {
    let ecn = match (script.role, script.ecn) {
        // 0: does not ask for ECN, but for algorithms that need it.
        (Role::Sender, false) => "0",
        (Role::Sender, true) => "1",
        // 2: agrees to ECN when asked.
        (Role::Receiver, _) => "2",
    };
    set("net/ipv4/tcp_ecn", ecn)?;
    set("net/ipv4/tcp_no_metrics_save", "1")
}

/// Sets the algorithm's parameters, those of its module; returns the files and what was in them.
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
