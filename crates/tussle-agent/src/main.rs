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
mod host_settings;
#[cfg(target_os = "linux")]
mod join;
#[cfg(target_os = "linux")]
mod launch;
#[cfg(target_os = "linux")]
mod namespace;
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
usage: tussle-agent check NETWORK < RUN.json   print the kernel's parameters for a run over a network (driver,
                                               mixed, qdisc, tun), or what Linux cannot honour
       tussle-agent serve < SETTINGS.json      take part in the flows of clients, and record them
       tussle-agent send < SETTINGS.json       be a client of such a server
       tussle-agent netns check NETWORK < RUN.json
                                               print the network for a run in this host's namespaces, or what
                                               the host cannot honour
       tussle-agent netns NETWORK              execute run.json of this folder in namespaces; ends with stdin
       tussle-agent host FILE                  execute this host's part of runs over real machines, by requests
                                               on stdin; removes FILE, the program itself, at once
       tussle-agent probe                      print the size of the floating-point state of a process, or why
                                               no guest can run on this host
       tussle-agent confinement                print how far guests are confined on this host
       tussle-agent launch [--confined] KERNEL [ARGUMENT…]
                                               run a guest that ends with this process or with stdin; confined,
                                               it reaches this folder, its programs and its memory only";

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
