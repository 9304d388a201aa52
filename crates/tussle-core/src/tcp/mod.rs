//! TCP with the behaviour of Linux 6.1, and switches for that of other hosts.
//!
//! `sender` and `receiver` are the two ends of a connection. Each of the other modules is a part of them with one mechanism,
//! and knows nothing of the ends.

mod delack;
mod device;
mod flow;
mod limits;
mod merging;
mod metrics;
mod offload;
mod out_of_order;
mod outbox;
mod pacer;
mod prr;
mod pushes;
mod rack;
mod ranges;
mod rate;
mod receive_buffer;
mod receiver;
mod receiver_rtt;
mod rtt;
mod sack_list;
mod scoreboard;
mod send_buffer;
mod sender;
mod ticks;
mod timer;
mod timestamps;
mod undo;
mod usage;
mod window_use;
mod written_ahead;

pub use flow::{Ack, Cause, Flow, INITIAL_WINDOW_PACKETS, Limit, Lost, RateSample, State};
pub use limits::LimitedTimes;
pub(crate) use metrics::SharedMetrics;
pub use outbox::{Event, Outbox};
pub(crate) use pacer::window_rate_bit_per_s;
pub(crate) use receiver::FIRST_WINDOW_BYTES;
pub use receiver::{LargestWindow, Receiver, ReceiverSetup};
pub use rtt::RttEstimator;
pub use sender::{Counts, Sender, Setup};
pub(crate) use timestamps::TimestampOffsets;
pub(crate) use usage::current_ssthresh;
pub use window_use::WindowUse;
