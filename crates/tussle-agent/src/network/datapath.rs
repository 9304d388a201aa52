//! Datapath of each element: queue disciplines of Linux, or the simulator's element.

use tussle_core::net::path::ElementKind;

use super::hops::{ElementContext, Hop, hops};

/// Implementation of the elements of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Datapath {
    /// The simulator's elements, inside the guest's kernel.
    Driver,
    /// Queue disciplines where Linux has them, the simulator's elements between TUN devices otherwise.
    Mixed,
    /// Queue disciplines only; other elements are refused.
    Disciplines,
    /// The simulator's elements only, between TUN devices.
    Tunnels,
}

impl Datapath {
    /// Finds a datapath by its name.
    ///
    /// # Errors
    /// A sentence with the known names.
    pub(crate) fn named(name: &str) -> Result<Datapath, String> {
        match name {
            "driver" => Ok(Datapath::Driver),
            "mixed" => Ok(Datapath::Mixed),
            "qdisc" => Ok(Datapath::Disciplines),
            "tun" => Ok(Datapath::Tunnels),
            _ => Err(format!("network: {name}; give driver, mixed, qdisc or tun")),
        }
    }
}

/// Implementation of an element.
pub(super) enum Crossing {
    /// Queue disciplines in series.
    VethPairs(Vec<Hop>),
    /// The simulator's element, between two TUN devices.
    Tunnel,
}

/// Chooses the implementation of an element. The error is a sentence on what cannot be honoured.
pub(super) fn crossing(
    context: ElementContext,
    kind: &ElementKind,
    datapath: Datapath,
) -> Result<Crossing, String> {
    let disciplines = match datapath {
        Datapath::Driver | Datapath::Tunnels => None,
        Datapath::Disciplines => Some(hops(context, kind)?),
        Datapath::Mixed => hops(context, kind).ok(),
    };
    match disciplines {
        Some(hops) => Ok(Crossing::VethPairs(hops)),
        None => kind.build(0).map(|_| Crossing::Tunnel),
    }
}
