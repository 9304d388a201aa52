//! The path of a run inside the kernel of a guest.
//!
//! User-mode Linux is a program, and this library is linked into it. The driver in `kernel/driver/tussle.c` gives every
//! packet of a host to [`Path`], and delivers or frees the packets that the path returns. `kernel/driver/tussle.h` declares
//! this interface in C. The kernel has one processor and calls one function at a time.

pub mod interface;
mod path;
mod skbs;

pub use path::{Delivery, Path};
pub use skbs::Skb;

/// Memory comes from the host: the kernel's own allocator may not be called from every context. A guest has one thread of
/// the host.
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;
