//! Segmentation offload of a sender: the buffers of its send queue.

/// Offload state of a sender.
#[derive(Clone, Debug, Default)]
pub(super) struct Offload {
    /// End of the oldest buffer of the send queue, once it is full. A burst comes from a single buffer (Linux: `sk_buff`).
    pub(super) buffer_end: u32,
    /// Buffers that the application filled last; later ones are as long as the window allows then.
    pub(super) buffers: Buffers,
    /// Rate of the window at the last ACK; `None` before the first.
    pub(super) window_bit_per_s: Option<u64>,
    /// Largest window that the receiver has advertised, in packets.
    pub(super) largest_window: u32,
}

/// Full buffers of the send queue.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Buffers {
    /// Packets in a buffer.
    pub(super) packets: u32,
    /// First packet after them.
    pub(super) end: u32,
}
