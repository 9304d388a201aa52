//! TCP with the behaviour of Linux 6.1, and switches for that of other hosts, split by mechanism.

mod ack_info;
mod delack;
mod flow;
mod input;
mod newreno;
mod output;
mod pacer;
mod prr;
mod rack;
mod ranges;
mod rate;
mod receiver;
mod recovery;
mod reduction;
mod rfc6675;
mod rtt;
mod sack_list;
mod scoreboard;
mod sender;
mod ticks;
mod timer;
mod timestamps;
mod undo;
mod usage;
mod window_use;

pub use flow::{Ack, Cause, Flow, Limit, Lost, RateSample, State};
pub use output::{Event, Outbox};
pub(crate) use pacer::window_rate_bit_per_s;
pub use receiver::{Receiver, ReceiverSetup};
pub use rtt::RttEstimator;
pub use sender::{Counts, Sender, Setup};
pub(crate) use timestamps::TimestampOffsets;
pub use usage::INITIAL_WINDOW_PACKETS;
pub(crate) use usage::current_ssthresh;
pub use window_use::WindowUse;
