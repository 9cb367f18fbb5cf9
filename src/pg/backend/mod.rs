//! The backend that runs minlsh: its memory, snapshots, temporary files, errors and progress.

pub mod catching;
pub mod list;
pub mod memory;
pub mod progress;
pub mod reserve;
pub mod snapshot;
pub mod temp_file;
pub mod versions;
