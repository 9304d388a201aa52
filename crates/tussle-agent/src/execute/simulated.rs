//! The simulator's elements of a run, between TUN devices or in the guest's kernel.

use tussle_core::net::path::LinkView;
use tussle_datapath::{Loss, Tally};

use super::Execution;
use super::driver::Driver;
use super::setup::Hosts;
use super::tunnels::Tunnels;

/// Handle of the simulator's elements of a run.
#[derive(Clone, Debug)]
pub(crate) enum SimulatedElements {
    /// Elements between TUN devices.
    Tunnels(Tunnels),
    /// Elements in the guest's kernel.
    Driver(Driver),
}

impl SimulatedElements {
    /// Starts the elements at the beginning of a run.
    pub(crate) fn start(execution: Execution, hosts: &mut Hosts) -> anyhow::Result<SimulatedElements> {
        if let Some(driver) = &hosts.driver {
            driver.start(execution.clock)?;
            return Ok(SimulatedElements::Driver(driver.clone()));
        }
        let tunnels = Tunnels::start(execution, std::mem::take(&mut hosts.tunnels))?;
        Ok(SimulatedElements::Tunnels(tunnels))
    }

    /// The problem of the thread that carries packets, if it failed.
    pub(crate) fn problem(&self) -> Option<String> {
        match self {
            SimulatedElements::Tunnels(tunnels) => tunnels.problem(),
            SimulatedElements::Driver(_) => None,
        }
    }

    /// State of an element that is a link of the simulator.
    pub(crate) fn observe(&self, element: usize, now_ns: u64) -> anyhow::Result<Option<LinkView>> {
        match self {
            SimulatedElements::Tunnels(tunnels) => Ok(tunnels.observe(element, now_ns)),
            SimulatedElements::Driver(driver) => driver.observe(element, now_ns),
        }
    }

    /// Packets by outcome.
    pub(crate) fn tally(&self) -> anyhow::Result<Tally> {
        match self {
            SimulatedElements::Tunnels(tunnels) => Ok(tunnels.tally()),
            SimulatedElements::Driver(driver) => driver.tally(),
        }
    }

    /// Packets dropped or damaged since the last call.
    pub(crate) fn take_losses(&self) -> anyhow::Result<Vec<Loss>> {
        match self {
            SimulatedElements::Tunnels(tunnels) => Ok(tunnels.take_losses()),
            SimulatedElements::Driver(driver) => driver.take_losses(),
        }
    }

    /// Number of copies of a flow's data packets.
    pub(crate) fn copies(&self, flow: usize) -> anyhow::Result<u64> {
        let flow = u32::try_from(flow).expect("there are few flows");
        match self {
            SimulatedElements::Tunnels(tunnels) => Ok(tunnels.copies(flow)),
            SimulatedElements::Driver(driver) => driver.copies(flow),
        }
    }
}
