//! The interface in C. Every pointer comes from the driver, which calls one function at a time.
#![expect(unsafe_code, reason = "the kernel calls these functions in C")]

use std::ffi::c_void;
use std::slice;

use tussle_datapath::Tally;
use tussle_datapath::requests::{NextLoss, number};

use super::path::{Delivery, Path};
use super::skbs::Skb;

/// Builds the path of a run from `bytes` bytes of JSON at `run`. Returns null, and reports the problem on the console, if
/// the run is invalid.
///
/// # Safety
/// `run` points to that many bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tussle_path_new(run: *const u8, bytes: usize) -> *mut Path {
    // SAFETY: see above.
    let run = unsafe { slice::from_raw_parts(run, bytes) };
    match Path::new(run) {
        Ok(path) => Box::into_raw(Box::new(path)),
        Err(problem) => {
            eprintln!("tussle: {problem}");
            std::ptr::null_mut()
        }
    }
}

/// Takes a packet of a host in: see [`Path::enter`].
///
/// # Safety
/// `path` is from [`tussle_path_new`]; `header` points to `header_bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tussle_path_enter(
    path: *mut Path,
    skb: Skb,
    header: *const u8,
    header_bytes: u32,
    size_bytes: u32,
    now_ns: u64,
) {
    // SAFETY: see above.
    let (path, header) = unsafe { (&mut *path, slice::from_raw_parts(header, header_bytes as usize)) };
    path.enter(skb, header, size_bytes, now_ns);
}

/// See [`Path::release`].
///
/// # Safety
/// `path` is from [`tussle_path_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tussle_path_release(path: *mut Path, now_ns: u64) {
    // SAFETY: see above.
    unsafe { &mut *path }.release(now_ns);
}

/// See [`Path::release_one`].
///
/// # Safety
/// `path` is from [`tussle_path_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tussle_path_release_one(path: *mut Path, now_ns: u64) -> bool {
    // SAFETY: see above.
    unsafe { &mut *path }.release_one(now_ns)
}

/// See [`Path::next_ns`].
///
/// # Safety
/// `path` is from [`tussle_path_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tussle_path_next(path: *const Path) -> u64 {
    // SAFETY: see above.
    unsafe { &*path }.next_ns()
}

/// Writes the next packet that reaches a host to `delivery`, and returns whether there was one.
///
/// # Safety
/// `path` is from [`tussle_path_new`]; `delivery` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tussle_path_take(path: *mut Path, delivery: *mut Delivery) -> bool {
    // SAFETY: see above.
    let (path, delivery) = unsafe { (&mut *path, &mut *delivery) };
    path.take().map(|taken| *delivery = taken).is_some()
}

/// Writes a packet that the path has dropped to `skb`, and returns whether there was one.
///
/// # Safety
/// `path` is from [`tussle_path_new`]; `skb` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tussle_path_take_dropped(path: *mut Path, skb: *mut Skb) -> bool {
    // SAFETY: see above.
    let (path, skb) = unsafe { (&mut *path, &mut *skb) };
    path.take_dropped().map(|taken| *skb = taken).is_some()
}

/// Answers a request of the agent in place, and returns whether it is known: see `tussle_datapath::requests`.
///
/// # Safety
/// `path` is from [`tussle_path_new`]; `request` points to the structure of that request, aligned for `u64`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tussle_path_answer(
    path: *mut Path,
    request_number: u32,
    request: *mut c_void,
) -> bool {
    // SAFETY: see above.
    let path = unsafe { &mut *path };
    match u8::try_from(request_number) {
        // SAFETY: each request has its structure.
        Ok(number::OBSERVE) => path.observe(unsafe { &mut *request.cast() }),
        Ok(number::COPIES) => path.copies(unsafe { &mut *request.cast() }),
        // SAFETY: as above.
        Ok(number::TALLY) => unsafe { request.cast::<Tally>().write(path.tally()) },
        // SAFETY: as above.
        Ok(number::LOSS) => unsafe { request.cast::<NextLoss>().write(path.next_loss()) },
        _ => return false,
    }
    true
}
