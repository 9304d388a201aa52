//! What packets cross for each element: disciplines of Linux, or the simulator's element.

use tussle_core::net::path::ElementKind;

use super::hops::{ElementContext, Hop, hops};

/// How the elements of a run become a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Datapath {
    /// By queue disciplines where Linux has them, by the simulator's elements elsewhere.
    Auto,
    /// By queue disciplines; what Linux lacks is refused.
    Disciplines,
    /// By the simulator's elements, all of them.
    Tunnels,
}

impl Datapath {
    /// That of a name.
    ///
    /// # Errors
    /// A sentence with those that there are.
    pub(crate) fn named(name: &str) -> Result<Datapath, String> {
        match name {
            "auto" => Ok(Datapath::Auto),
            "qdisc" => Ok(Datapath::Disciplines),
            "tun" => Ok(Datapath::Tunnels),
            _ => Err(format!("network: {name}; give auto, qdisc or tun")),
        }
    }
}

/// What packets cross for an element.
pub(super) enum Crossing {
    /// Queue disciplines, one after another.
    Wires(Vec<Hop>),
    /// The simulator's element, between two TUN devices.
    Tunnel,
}

/// How packets cross an element by a datapath; an error is a sentence on what cannot be.
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
