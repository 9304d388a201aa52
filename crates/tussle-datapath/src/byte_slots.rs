//! Packets as copies of their bytes.

use super::{SequenceNumbers, Slots, sequence_numbers};

/// Bytes of packets in elements, in reusable slots.
#[derive(Debug, Default)]
pub struct ByteSlots {
    slots: Vec<StoredPacket>,
    free: Vec<u32>,
}

#[derive(Debug, Default)]
struct StoredPacket {
    bytes: Vec<u8>,
    /// Number of packets with these bytes.
    uses: u64,
}

impl ByteSlots {
    /// Stores the bytes of one packet, and returns their slot.
    pub fn keep(&mut self, bytes: &[u8]) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(StoredPacket::default());
            u32::try_from(self.slots.len() - 1).expect("memory is full long before")
        });
        let kept = &mut self.slots[slot as usize];
        kept.bytes.clear();
        kept.bytes.extend_from_slice(bytes);
        kept.uses = 1;
        slot
    }

    /// Bytes of a packet that leaves. The slot becomes free when no other packet uses it.
    pub fn take(&mut self, slot: u32) -> &[u8] {
        let kept = &mut self.slots[slot as usize];
        kept.uses -= 1;
        if kept.uses == 0 {
            self.free.push(slot);
        }
        &kept.bytes
    }

    #[cfg(test)]
    pub(crate) fn are_all_free(&self) -> bool {
        self.free.len() == self.slots.len()
    }
}

impl Slots for ByteSlots {
    fn numbers(&self, slot: u32) -> Option<SequenceNumbers> {
        sequence_numbers(&self.slots[slot as usize].bytes)
    }

    fn add_copies(&mut self, slot: u32, copies: u64) {
        self.slots[slot as usize].uses += copies;
    }

    fn drop_one(&mut self, slot: u32) {
        self.take(slot);
    }
}
