//! The warning of a build about texts that are too long for their shingles.

use pgrx::PgLogLevel;
use sketch::Config;

use crate::error::{Result, warning};
use crate::pg::interrupts::check_interrupts;

/// The texts of a build of which unrelated ones would be taken for similar.
#[derive(Default)]
pub struct Saturated {
    texts: u64,
    /// The `shingle_size` that would do for all of them.
    shingle_size: usize,
}

impl Saturated {
    /// Looks at a text of the build.
    pub fn look(&mut self, config: &Config, text: &str) -> Result<()> {
        let better = sketch::saturated(config, text, &mut check_interrupts)?;
        better.into_iter().for_each(|shingle_size| self.add(shingle_size));
        Ok(())
    }

    /// Adds a text which needs shingles of that size.
    pub fn add(&mut self, shingle_size: usize) {
        self.texts += 1;
        self.shingle_size = self.shingle_size.max(shingle_size);
    }

    /// Warns, once for all texts; one alone has no other to be confused with.
    pub fn warn(&self, config: &Config, name: &str) {
        let Self { texts, shingle_size } = self;
        if *texts < 2 {
            return;
        }
        warning(format!(
            "{texts} texts are too long for shingles of {} characters",
            config.shingle_size()
        ))
        .set_detail("Unrelated texts of this length have many shingles in common by chance.")
        .set_hint(format!(
            "Create \"{name}\" with a shingle_size of {shingle_size} or more, or with unit = word."
        ))
        .report(PgLogLevel::WARNING);
    }
}
