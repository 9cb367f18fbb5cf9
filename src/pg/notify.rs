//! NOTIFY.

use std::ffi::CStr;

use crate::pg::ffi;
use crate::pg::text;

/// The most bytes that a payload may have.
const LONGEST: usize = 7999;

/// Tells whoever listens to `channel`, when the transaction commits.
pub fn notify(channel: &CStr, payload: &str) {
    let payload = text::encode(payload);
    let mut payload = payload[..payload.len().min(LONGEST)].to_vec();
    payload.push(0);
    // SAFETY: two NUL-terminated strings, which are copied.
    unsafe { ffi::notify(channel.as_ptr(), payload.as_ptr().cast()) };
}
