//! The network of a run on Linux: namespaces, veth pairs between them, queue disciplines, routes.
//!
//! Every element becomes one or two veth pairs with a queue discipline at the entry, or a tunnel: two TUN devices,
//! between which packets cross the simulator's element. Consecutive elements meet in a namespace, which routes by
//! destination alone. In a guest with Tussle's driver there are only hosts, and the driver carries packets through all
//! elements. Each sender has a namespace of its own, and thereby its own counters. Receivers that are attached to the
//! same node share a namespace.

pub(crate) mod buffers;
mod datapath;
mod hops;
mod losses;
mod nodes;
mod qdisc;

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use tussle_core::Run;
use tussle_core::net::path::ElementKind;
use tussle_core::run::{FlowSpec, Host, Qdisc};
use tussle_core::util::rng::named_seed;
use tussle_datapath::MAX_FLOWS;
pub(crate) use tussle_datapath::{receiver_address, sender_address};

pub(crate) use datapath::Datapath;
use datapath::{Crossing, crossing};
use hops::{ElementContext, link_hops};
pub(crate) use hops::{Handling, Hop};
pub(crate) use losses::LossProgram;
use nodes::Nodes;

/// Reason why the kernel engine cannot honour a run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {problem}")]
pub(crate) struct Refusal {
    /// The field, as in `flows.0.algorithm`.
    pub(crate) at: String,
    /// The problem, and its remedy.
    pub(crate) problem: String,
}

impl Refusal {
    pub(crate) fn new(at: impl Into<String>, problem: impl Into<String>) -> Refusal {
        Refusal { at: at.into(), problem: problem.into() }
    }
}

/// Size of a full packet.
pub(crate) const DEFAULT_PACKET_BYTES: u32 = 1500;

/// The device of a host.
pub(crate) const HOST_DEVICE: &str = "net";

/// Port of every receiver; receivers differ by address.
pub(crate) const PORT: u16 = 5001;

/// The network of a run.
#[derive(Debug)]
pub(crate) struct Network {
    /// Namespaces that forward packets.
    pub(crate) routers: Vec<Namespace>,
    /// Namespaces of the senders, one per flow.
    pub(crate) senders: Vec<Namespace>,
    /// Namespaces of the receivers.
    pub(crate) receivers: Vec<Namespace>,
    /// The veth pairs of elements and hosts.
    pub(crate) veth_pairs: Vec<VethPair>,
    /// Tunnels, in the order of their elements.
    pub(crate) tunnels: Vec<Tunnel>,
    /// Receiver of each flow, as an index into `receivers`.
    pub(crate) receiver_of: Vec<usize>,
    /// Whether packets cross all elements in the driver of the guest's kernel. There are then no routers, no
    /// veth pairs and no tunnels.
    pub(crate) uses_driver: bool,
}

/// A network namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Namespace {
    /// Name of the namespace.
    pub(crate) name: String,
    /// Addresses of the namespace.
    pub(crate) addresses: Vec<Ipv4Addr>,
    /// Devices by destination; `None` is the default route.
    pub(crate) routes: BTreeMap<Option<Ipv4Addr>, String>,
}

/// A device in a namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Port {
    pub(crate) namespace: String,
    pub(crate) device: String,
}

impl Port {
    fn new(namespace: String, device: String) -> Port {
        Port { namespace, device }
    }
}

/// A pair of devices, each in its namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct VethPair {
    /// Port where packets enter the element.
    pub(crate) entry: Port,
    /// Port where packets leave the element.
    pub(crate) exit: Port,
    /// Treatment of packets at `entry`; `None` for the veth pair of a host.
    pub(crate) hop: Option<Hop>,
}

/// A pair of TUN devices, each in its namespace, between which packets cross an element of the simulator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tunnel {
    /// Index of the element.
    pub(crate) element: usize,
    /// Port where packets enter.
    pub(crate) entry: Port,
    /// Port where packets leave.
    pub(crate) exit: Port,
}

impl Network {
    /// Plans the network of a run.
    ///
    /// # Errors
    /// The first part of the run that this datapath cannot honour.
    pub(crate) fn plan(run: &Run, datapath: Datapath) -> Result<Network, Refusal> {
        if run.flows.len() > MAX_FLOWS {
            let problem = format!("there are {}; give at most {MAX_FLOWS}", run.flows.len());
            return Err(Refusal::new("flows", problem));
        }
        if datapath == Datapath::Driver {
            return Network::of_hosts(run);
        }
        if let Some(flow) = run.receivers().iter().position(|&receiver| receiver > 0) {
            let problem = "receivers differ; only --network driver has a host for each of them";
            return Err(Refusal::new(format!("flows.{flow}.receiver"), problem));
        }
        check_directions(run)?;
        if let Some(flow) = run.flows.iter().position(|flow| flow.device_rate_bit_per_s.is_some()) {
            let problem = "only --network driver has devices with the rate of an access link; give hosts.qdisc = \"none\"";
            return Err(Refusal::new(format!("flows.{flow}.access.rate"), problem));
        }
        let crossings = run
            .elements
            .iter()
            .enumerate()
            .map(|(index, element)| {
                crossing(element_context(run, index), &element.kind, datapath)
                    .map_err(|problem| Refusal::new(format!("elements.{index}"), problem))
            })
            .collect::<Result<Vec<_>, _>>()?;
        let nodes = Nodes::of(run);
        let mut network = Network {
            routers: (0..nodes.count()).map(|index| namespace(format!("n{index}"))).collect(),
            senders: Vec::new(),
            receivers: Vec::new(),
            veth_pairs: Vec::new(),
            tunnels: Vec::new(),
            receiver_of: Vec::new(),
            uses_driver: false,
        };
        network.add_elements(&crossings, &nodes);
        network.attach_hosts(run, &nodes);
        network.route_flows(run, &nodes)?;
        Ok(network)
    }

    /// Plans a network of hosts only: a sender for each flow, and the receivers. The driver carries packets between
    /// them.
    fn of_hosts(run: &Run) -> Result<Network, Refusal> {
        for (index, element) in run.elements.iter().enumerate() {
            element.kind.build(0).map_err(|problem| Refusal::new(format!("elements.{index}"), problem))?;
        }
        let host = |name: String, addresses: Vec<Ipv4Addr>| {
            let routes = BTreeMap::from([(None, HOST_DEVICE.to_owned())]);
            Namespace { name, addresses, routes }
        };
        let flows = 0..run.flows.len();
        let receiver_of = run.receivers();
        let receivers = 0..receiver_of.iter().max().map_or(0, |last| last + 1);
        let addresses_of = |receiver: usize| {
            let own = flows.clone().filter(|&flow| receiver_of[flow] == receiver);
            own.map(receiver_address).collect()
        };
        Ok(Network {
            routers: Vec::new(),
            senders: flows.clone().map(|flow| host(format!("s{flow}"), vec![sender_address(flow)])).collect(),
            receivers: receivers.map(|index| host(format!("r{index}"), addresses_of(index))).collect(),
            veth_pairs: Vec::new(),
            tunnels: Vec::new(),
            receiver_of,
            uses_driver: true,
        })
    }

    /// Settings of the host in a namespace.
    pub(crate) fn host(&self, run: &Run, namespace: &Namespace) -> Host {
        if let Some(flow) = self.senders.iter().position(|sender| sender == namespace) {
            return run.ends(&run.flows[flow]).sender;
        }
        let receiver = self.receivers.iter().position(|receiver| receiver == namespace);
        let flow = receiver.and_then(|receiver| self.receiver_of.iter().position(|&of| of == receiver));
        flow.map_or(run.hosts, |flow| run.ends(&run.flows[flow]).receiver)
    }

    /// Pair of hosts to which the sender in a namespace belongs; `None` for a pair of its own, and for receivers.
    pub(crate) fn pair(&self, run: &Run, namespace: &Namespace) -> Option<u32> {
        let flow = self.senders.iter().position(|sender| sender == namespace)?;
        run.flows[flow].pair
    }

    /// Whether the device of a namespace has the queue of a sending host.
    pub(crate) fn has_device_queue(&self, run: &Run, namespace: &Namespace) -> bool {
        self.senders.contains(namespace) && self.host(run, namespace).qdisc != Qdisc::None
    }

    /// Whether any host has offloads.
    pub(crate) fn hosts_offload(&self, run: &Run) -> bool {
        self.senders.iter().chain(&self.receivers).any(|host| self.host(run, host).offloads)
    }

    /// Lines of `tc` that change links: namespace and line, by time.
    ///
    /// # Errors
    /// Never fails for a run with a planned network.
    pub(crate) fn changes(&self, run: &Run) -> Result<BTreeMap<u64, Vec<(String, String)>>, String> {
        let mut changes: BTreeMap<u64, Vec<_>> = BTreeMap::new();
        for (element, spec) in run.elements.iter().enumerate() {
            let ElementKind::Link(link) = &spec.kind else { continue };
            if self.tunnels.iter().any(|tunnel| tunnel.element == element) {
                // An element in a tunnel applies its changes itself.
                continue;
            }
            let mut now = (link.rate_bit_per_s, link.delay_ns);
            for change in &link.changes {
                now = (change.rate_bit_per_s.unwrap_or(now.0), change.delay_ns.unwrap_or(now.1));
                let hops = link_hops(element_context(run, element), link, now.0, now.1)?;
                let veth_pairs = self.veth_pairs.iter().filter(|veth| veth.element() == Some(element));
                let lines = veth_pairs.zip(hops).flat_map(|(veth, hop)| {
                    let device = &veth.entry.device;
                    hop.handling
                        .lines("change", device)
                        .into_iter()
                        .map(|line| (veth.entry.namespace.clone(), line))
                });
                changes.entry(change.at_ns).or_default().extend(lines);
            }
        }
        Ok(changes)
    }

    /// Every namespace, in the order of their creation.
    pub(crate) fn namespaces(&self) -> impl Iterator<Item = &Namespace> {
        self.routers.iter().chain(&self.senders).chain(&self.receivers)
    }

    fn add_elements(&mut self, crossings: &[Crossing], nodes: &Nodes) {
        for (element, crossing) in crossings.iter().enumerate() {
            let (first, last) = nodes.of_element(element);
            let (entry, exit) = (self.routers[first].name.clone(), self.routers[last].name.clone());
            match crossing {
                Crossing::VethPairs(hops) => self.add_veth_pairs(element, hops, entry, &exit),
                Crossing::Tunnel => self.tunnels.push(Tunnel {
                    element,
                    entry: Port::new(entry, entry_device(element, 0)),
                    exit: Port::new(exit, exit_device(element, 0)),
                }),
            }
        }
    }

    fn add_veth_pairs(&mut self, element: usize, hops: &[Hop], mut entry: String, last: &str) {
        for (number, hop) in hops.iter().enumerate() {
            let exit = if number + 1 == hops.len() {
                last.to_owned()
            } else {
                // All packets continue to the next device of the element.
                let mut between = namespace(format!("m{element}"));
                between.routes.insert(None, entry_device(element, number + 1));
                self.routers.push(between);
                format!("m{element}")
            };
            self.veth_pairs.push(VethPair {
                entry: Port::new(entry, entry_device(element, number)),
                exit: Port::new(exit.clone(), exit_device(element, number)),
                hop: Some(hop.clone()),
            });
            entry = exit;
        }
    }

    fn attach_hosts(&mut self, run: &Run, nodes: &Nodes) {
        let mut receiver_at = BTreeMap::new();
        for index in 0..run.flows.len() {
            let (entry, exit) = nodes.of_flow(index);
            let mut sender = namespace(format!("s{index}"));
            sender.addresses.push(sender_address(index));
            sender.routes.insert(None, HOST_DEVICE.to_owned());
            self.attach(&sender.name, entry);
            self.routers[entry].routes.insert(Some(sender_address(index)), format!("h-s{index}"));
            self.senders.push(sender);
            let receiver = *receiver_at.entry(exit).or_insert_with(|| {
                let mut receiver = namespace(format!("r{}", self.receivers.len()));
                receiver.routes.insert(None, HOST_DEVICE.to_owned());
                self.receivers.push(receiver);
                self.receivers.len() - 1
            });
            let name = self.receivers[receiver].name.clone();
            if self.receivers[receiver].addresses.is_empty() {
                self.attach(&name, exit);
            }
            self.receivers[receiver].addresses.push(receiver_address(index));
            self.routers[exit].routes.insert(Some(receiver_address(index)), format!("h-{name}"));
            self.receiver_of.push(receiver);
        }
    }

    fn attach(&mut self, host: &str, node: usize) {
        self.veth_pairs.push(VethPair {
            entry: Port::new(host.to_owned(), HOST_DEVICE.to_owned()),
            exit: Port::new(self.routers[node].name.clone(), format!("h-{host}")),
            hop: None,
        });
    }

    fn route_flows(&mut self, run: &Run, nodes: &Nodes) -> Result<(), Refusal> {
        for (index, flow) in run.flows.iter().enumerate() {
            let directions = [
                ("forward", &flow.forward, receiver_address(index)),
                ("reverse", &flow.reverse, sender_address(index)),
            ];
            for (direction, path, to) in directions {
                for name in path {
                    let element = nodes.index(name);
                    let (node, _) = nodes.of_element(element);
                    let device = entry_device(element, 0);
                    if self.routers[node]
                        .routes
                        .insert(Some(to), device.clone())
                        .is_some_and(|old| old != device)
                    {
                        let problem = "visits a node twice; the kernel engine routes by destination alone";
                        return Err(Refusal::new(format!("flows.{index}.{direction}"), problem));
                    }
                }
            }
        }
        Ok(())
    }
}

impl VethPair {
    /// Index of the veth pair's element.
    pub(crate) fn element(&self) -> Option<usize> {
        self.hop.as_ref().map(|hop| hop.element)
    }
}

/// Refuses an element that a flow crosses twice or in both directions, such as the bus of a host: on Linux an element
/// has one entry.
fn check_directions(run: &Run) -> Result<(), Refusal> {
    for (index, element) in run.elements.iter().enumerate() {
        let crosses = |path: &[String]| path.iter().filter(|name| **name == element.name).count();
        let times = |flow: &FlowSpec| crosses(&flow.forward) + crosses(&flow.reverse);
        if run.flows.iter().any(|flow| times(flow) > 1) {
            let problem = format!(
                "packets cross {} twice or in both directions, like the bus of a host; give --network driver",
                element.name
            );
            return Err(Refusal::new(format!("elements.{index}"), problem));
        }
    }
    Ok(())
}

fn element_context(run: &Run, element: usize) -> ElementContext {
    let seed = named_seed(run.seed, &run.elements[element].name);
    ElementContext { element, seed, packet_bytes: largest_packet_bytes(run) }
}

/// Size of the largest IP packet of a run, at least 1500 bytes.
pub(crate) fn largest_packet_bytes(run: &Run) -> u32 {
    let bytes = |flow: &FlowSpec| run.ends(flow).header_bytes() + flow.mss_bytes;
    run.flows.iter().map(bytes).fold(DEFAULT_PACKET_BYTES, u32::max)
}

fn entry_device(element: usize, number: usize) -> String {
    format!("e{element}-{number}")
}

fn exit_device(element: usize, number: usize) -> String {
    format!("x{element}-{number}")
}

fn namespace(name: String) -> Namespace {
    Namespace { name, addresses: Vec::new(), routes: BTreeMap::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(elements: &serde_json::Value, flows: &serde_json::Value) -> Run {
        serde_json::from_value(serde_json::json!({
            "format": 1, "profile": "linux-6.1", "seed": 1, "duration_ns": 1_000_000_000u64,
            "steady": {"from_ns": 0, "to_ns": 1_000_000_000u64},
            "record": {"sampling": "off", "events": false},
            "elements": elements, "flows": flows,
        }))
        .unwrap()
    }

    fn link(name: &str) -> serde_json::Value {
        serde_json::json!({"name": name, "kind": "link", "rate_bit_per_s": 8_000_000, "delay_ns": 5_000_000,
                           "queue": {"kind": "fifo", "limit_packets": 10}})
    }

    fn flow(name: &str, forward: &[&str], reverse: &[&str]) -> serde_json::Value {
        serde_json::json!({"name": name, "algorithm": "reno", "start_ns": 0, "mss_bytes": 1448,
                           "forward": forward, "reverse": reverse})
    }

    /// Follows the routes from a namespace to an address, and returns the devices.
    fn route(network: &Network, from: &str, to: Ipv4Addr) -> Vec<String> {
        let mut at = from.to_owned();
        let mut passed = Vec::new();
        loop {
            let namespace = network.namespaces().find(|namespace| namespace.name == at).unwrap();
            if namespace.addresses.contains(&to) {
                return passed;
            }
            let device = namespace.routes.get(&Some(to)).or_else(|| namespace.routes.get(&None)).unwrap();
            let veth = network
                .veth_pairs
                .iter()
                .find_map(|veth| {
                    let (entry, exit) = (&veth.entry, &veth.exit);
                    (entry.namespace == at && entry.device == *device)
                        .then_some((entry, exit))
                        .or_else(|| (exit.namespace == at && exit.device == *device).then_some((exit, entry)))
                })
                .unwrap();
            passed.push(veth.0.device.clone());
            at.clone_from(&veth.1.namespace);
        }
    }

    #[test]
    fn packets_of_a_dumbbell_pass_their_elements_in_order() {
        let elements = serde_json::json!([
            link("forward"), link("reverse"),
            {"name": "access", "kind": "delay", "delay_ns": 1}, {"name": "access-reverse", "kind": "delay", "delay_ns": 1},
        ]);
        let flows = serde_json::json!([
            flow("a", &["forward"], &["reverse"]),
            flow("b", &["access", "forward"], &["reverse", "access-reverse"]),
        ]);
        let network = Network::plan(&run(&elements, &flows), Datapath::Mixed).unwrap();
        assert_eq!(route(&network, "s0", receiver_address(0)), ["net", "e0-0", "e0-1", "h-r0"]);
        assert_eq!(route(&network, "r0", sender_address(0)), ["net", "e1-0", "e1-1", "h-s0"]);
        assert_eq!(route(&network, "s1", receiver_address(1)), ["net", "e2-0", "e0-0", "e0-1", "h-r0"]);
        assert_eq!(route(&network, "r0", sender_address(1)), ["net", "e1-0", "e1-1", "e3-0", "h-s1"]);
    }

    #[test]
    fn a_parking_lot_has_a_receiver_for_each_exit() {
        let elements = serde_json::json!([link("first"), link("second"), link("reverse")]);
        let flows = serde_json::json!([
            flow("long", &["first", "second"], &["reverse"]),
            flow("short", &["first"], &["reverse"]),
            flow("late", &["second"], &["reverse"]),
        ]);
        // The reverse path begins where "first" ends and where "second" ends: the two ends are one node,
        // which the path visits twice.
        let refusal = Network::plan(&run(&elements, &flows), Datapath::Mixed).unwrap_err();
        assert_eq!(refusal.at, "flows.0.forward");

        let elements =
            serde_json::json!([link("first"), link("second"), link("reverse"), link("second-reverse")]);
        let flows = serde_json::json!([
            flow("long", &["first", "second"], &["second-reverse", "reverse"]),
            flow("short", &["first"], &["reverse"]),
            flow("late", &["second"], &["second-reverse"]),
        ]);
        let network = Network::plan(&run(&elements, &flows), Datapath::Mixed).unwrap();
        assert_eq!(network.receiver_of, [0, 1, 0]);
        assert_eq!(
            route(&network, "s0", receiver_address(0)),
            ["net", "e0-0", "e0-1", "e1-0", "e1-1", "h-r0"]
        );
        assert_eq!(route(&network, "s2", receiver_address(2)), ["net", "e1-0", "e1-1", "h-r0"]);
        assert_eq!(route(&network, "r1", sender_address(1)), ["net", "e2-0", "e2-1", "h-s1"]);
    }

    #[test]
    fn a_queue_that_linux_lacks_is_refused_by_name() {
        let mut threshold = link("forward");
        threshold["queue"] = serde_json::json!({"kind": "threshold", "mark_above_packets": 10});
        let flows = serde_json::json!([flow("a", &["forward"], &["reverse"])]);
        let run = run(&serde_json::json!([threshold, link("reverse")]), &flows);
        let refusal = Network::plan(&run, Datapath::Disciplines).unwrap_err();
        assert!(refusal.to_string().starts_with("elements.0: queue.kind: Linux has no"), "{refusal}");
        assert_eq!(Network::plan(&run, Datapath::Mixed).unwrap().tunnels.len(), 1);
    }

    #[test]
    fn a_bus_needs_the_driver() {
        let elements = serde_json::json!([link("bus"), link("forward"), link("reverse")]);
        let flows = serde_json::json!([flow("a", &["bus", "forward"], &["reverse", "bus"])]);
        let run = run(&elements, &flows);
        for datapath in [Datapath::Mixed, Datapath::Disciplines, Datapath::Tunnels] {
            let refusal = Network::plan(&run, datapath).unwrap_err();
            assert!(
                refusal.to_string().starts_with("elements.0: packets cross bus twice or in both"),
                "{refusal}"
            );
        }
        assert!(Network::plan(&run, Datapath::Driver).is_ok());
    }

    #[test]
    fn elements_that_linux_lacks_are_tunnels() {
        let elements = serde_json::json!([
            link("forward"), link("reverse"), {"name": "third", "kind": "loss_periodic", "every_packets": 3},
        ]);
        let flows = serde_json::json!([flow("a", &["third", "forward"], &["reverse"])]);
        let run = run(&elements, &flows);
        let tunnels = |datapath| {
            let network = Network::plan(&run, datapath).unwrap();
            (
                network.tunnels.iter().map(|tunnel| tunnel.element).collect::<Vec<_>>(),
                network.veth_pairs.len(),
            )
        };
        // Two veth pairs per link, and one per host.
        assert_eq!(tunnels(Datapath::Mixed), (vec![2], 6));
        assert_eq!(tunnels(Datapath::Tunnels), (vec![0, 1, 2], 2));
        assert_eq!(tunnels(Datapath::Driver), (vec![], 0));
    }
}
