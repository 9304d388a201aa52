//! The driver in the guest's kernel: `/dev/tussle`, whose devices are joined by the simulator's elements.

use std::fs::File;
use std::io::Write;
use std::sync::Arc;

use anyhow::{Context, ensure};
use tussle_core::Run;
use tussle_core::net::path::LinkView;
use tussle_datapath::requests::{Copies, Device, INTERFACE, NextLoss, Observe};
use tussle_datapath::{Loss, Tally};

use super::clock::Clock;
use crate::sys::driver as request;

/// Handle of the driver.
#[derive(Clone, Debug)]
pub(crate) struct Driver(Arc<File>);

impl Driver {
    /// Opens the driver, and gives it the run.
    pub(crate) fn open(run: &Run) -> anyhow::Result<Driver> {
        let file = File::options().read(true).write(true).open("/dev/tussle");
        let mut file = file.context("this kernel was built without Tussle's driver")?;
        let found = request::interface(&file).context("the driver's interface")?;
        ensure!(found == INTERFACE, "this kernel's driver has interface {found}, and the agent {INTERFACE}");
        let run = serde_json::to_vec(run).context("the run as JSON")?;
        // One write, which the driver takes whole.
        let written = file.write(&run).context("giving the run to the driver")?;
        ensure!(written == run.len(), "the driver took a part of the run");
        Ok(Driver(Arc::new(file)))
    }

    /// Makes the device of a host in this thread's namespace; see
    /// [`Elements::between_hosts`](tussle_datapath::Elements::between_hosts).
    pub(crate) fn add_device(&self, exit: usize, mtu_bytes: u32, rate_bit_per_s: u64) -> anyhow::Result<()> {
        let exit = u32::try_from(exit).context("the number of a host")?;
        request::device(&*self.0, Device { exit, mtu_bytes, rate_bit_per_s })
            .context("making the device of a host")
    }

    /// Starts the elements' time with a clock.
    pub(crate) fn start(&self, clock: Clock) -> anyhow::Result<()> {
        let zero_ns = u64::try_from(clock.monotonic(0).as_nanos()).context("the start of a run")?;
        request::start(&*self.0, zero_ns).context("starting the driver")
    }

    /// State of an element that is a link.
    pub(crate) fn observe(&self, element: usize, now_ns: u64) -> anyhow::Result<Option<LinkView>> {
        let mut asked = Observe::of(element, now_ns);
        request::observe(&*self.0, &mut asked).context("the state of a link")?;
        Ok(asked.view())
    }

    /// Packets by outcome.
    pub(crate) fn tally(&self) -> anyhow::Result<Tally> {
        request::tally(&*self.0).context("the packets in the driver")
    }

    /// Number of copies of a flow's data packets.
    pub(crate) fn copies(&self, flow: u32) -> anyhow::Result<u64> {
        let mut asked = Copies { flow: flow.into(), copies: 0 };
        request::copies(&*self.0, &mut asked).context("the copies of a flow")?;
        Ok(asked.copies)
    }

    /// Packets dropped or damaged since the last call.
    pub(crate) fn take_losses(&self) -> anyhow::Result<Vec<Loss>> {
        let next = || -> anyhow::Result<Option<Loss>> {
            let mut asked = NextLoss::default();
            request::next_loss(&*self.0, &mut asked).context("the losses")?;
            Ok(asked.loss())
        };
        std::iter::from_fn(|| next().transpose()).collect()
    }
}
