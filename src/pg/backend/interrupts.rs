//! Interrupts: what lets a user cancel a long loop.

/// Lets PostgreSQL cancel a long loop: raises the error if that was asked for.
pub fn check_interrupts() {
    pgrx::check_for_interrupts!();
}
