//! Datapath of each element: queue disciplines of Linux, or the simulator's element.

use tussle_core::net::path::ElementKind;

use super::hops::{ElementContext, Hop, hops};

/// Implementation of the elements of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Datapath {
    /// Queue disciplines where Linux has them, the simulator's elements otherwise.
    Auto,
    /// Queue disciplines only; other elements are refused.
    Disciplines,
    /// The simulator's elements only.
    Tunnels,
}

impl Datapath {
    /// Finds a datapath by its name.
    ///
    /// # Errors
    /// A sentence with the known names.
    pub(crate) fn named(name: &str) -> Result<Datapath, String> {
        match name {
            "auto" => Ok(Datapath::Auto),
            "qdisc" => Ok(Datapath::Disciplines),
            "tun" => Ok(Datapath::Tunnels),
            _ => Err(format!("network: {name}; give auto, qdisc or tun")),
        }
    }
}

/// Implementation of an element.
pub(super) enum Crossing {
    /// Queue disciplines in series.
    Wires(Vec<Hop>),
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
        Datapath::Tunnels => None,
        Datapath::Disciplines => Some(hops(context, kind)?),
        Datapath::Auto => hops(context, kind).ok(),
    };
    match disciplines {
        Some(hops) => Ok(Crossing::Wires(hops)),
        None => kind.build(0).map(|_| Crossing::Tunnel),
    }
}
