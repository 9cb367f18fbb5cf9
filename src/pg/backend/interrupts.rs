//! Interrupts: what lets a user cancel a long loop.

use crate::error::{out_of_memory, raise};
use crate::pg::reserve;

/// Lets PostgreSQL cancel a long loop: raises the error if that was asked for, or if there is no memory left.
pub fn check_interrupts() {
    pgrx::check_for_interrupts!();
    if !reserve::keep() {
        raise(out_of_memory());
    }
}
