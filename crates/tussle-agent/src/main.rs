//! Tussle's agent: traffic on real Linux sockets, and measurements by the kernel.
//!
//! The agent is one static binary. As the first process of a guest it builds the network of a run, starts its
//! flows, samples them, writes the tables and powers off. On the host it checks what Linux can honour, and
//! launches guests.

#[cfg(target_os = "linux")]
mod algorithms;
#[cfg(target_os = "linux")]
mod check;
#[cfg(target_os = "linux")]
mod columns;
#[cfg(target_os = "linux")]
mod confine;
#[cfg(target_os = "linux")]
mod execute;
#[cfg(target_os = "linux")]
mod guest;
#[cfg(target_os = "linux")]
mod join;
#[cfg(target_os = "linux")]
mod launch;
#[cfg(target_os = "linux")]
mod netlink;
#[cfg(target_os = "linux")]
mod netns;
#[cfg(target_os = "linux")]
mod network;
#[cfg(target_os = "linux")]
mod probe;
#[cfg(target_os = "linux")]
mod remote;
#[cfg(target_os = "linux")]
mod sys;
#[cfg(target_os = "linux")]
mod tcp_info;
#[cfg(target_os = "linux")]
mod validity;

#[cfg(target_os = "linux")]
use std::process::ExitCode;

#[cfg(target_os = "linux")]
use launch::Confinement;

#[cfg(target_os = "linux")]
use nix::sys::resource::{Resource, getrlimit, setrlimit};

#[cfg(target_os = "linux")]
const USAGE: &str = "\
usage: tussle-agent check NETWORK < RUN.json   say what Linux cannot honour over such a network (auto, qdisc or tun),
                                               and the kernel's parameters if it can
       tussle-agent serve < SETTINGS.json      take part in the flows of clients, and write them down
       tussle-agent send < SETTINGS.json       be such a client
       tussle-agent netns check NETWORK < RUN.json
                                               say what this host cannot honour in namespaces of its own, and over
                                               which network it can
       tussle-agent netns NETWORK              execute the run.json of this folder there; ends with its stdin
       tussle-agent host FILE                  do this host's part in runs over real machines, as stdin asks;
                                               removes FILE, in which it came, at once
       tussle-agent probe                      say how much floating-point state this host saves for a process, or
                                               why no guest can run here
       tussle-agent confinement                say how far guests are confined on this host
       tussle-agent launch [--confined] KERNEL [ARGUMENT…]
                                               run a guest that ends with this process or with its stdin; confined,
                                               it reaches this folder, its programs and its memory in TMPDIR only";

/// Lets the workspace build on other systems.
#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("tussle-agent runs on Linux only");
}

/// Largest number of open files of a process, unless the administrator allows more (`fs.nr_open`).
#[cfg(target_os = "linux")]
const MAX_FILES: u64 = 1 << 20;

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    allow_many_files();
    if std::process::id() == 1 {
        guest::init();
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["check", network] => check::check(network),
        ["serve"] => join::serve(),
        ["send"] => join::send(),
        ["netns", "check", network] => netns::check(network),
        ["netns", network] => netns::execute(network),
        ["host", file] => remote::serve(file),
        ["probe"] => probe::probe(),
        ["confinement"] => confine::describe(),
        ["launch", "--confined", kernel, rest @ ..] => launch::launch(kernel, rest, Confinement::OwnFolder),
        ["launch", machine, rest @ ..] => launch::launch(machine, rest, Confinement::None),
        _ => Err(anyhow::anyhow!("{USAGE}")),
    };
    outcome.unwrap_or_else(|problem| {
        eprintln!("{problem:#}");
        ExitCode::from(2)
    })
}

/// Raises the limit of open files: the default is too low for a hundred flows. Opening a socket fails where
/// the limit stays too low.
#[cfg(target_os = "linux")]
fn allow_many_files() {
    let Ok((_, most)) = getrlimit(Resource::RLIMIT_NOFILE) else { return };
    let _ = setrlimit(Resource::RLIMIT_NOFILE, MAX_FILES, MAX_FILES)
        .or_else(|_| setrlimit(Resource::RLIMIT_NOFILE, most, most));
}
