//! The errors that are documented, each for its very case. Any other error is a difference.

/// A case in which a question may, or must, be refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// No column names the rows of a table, and none was given.
    NoKey,
    /// Several columns of a table could be the document, and none was named, or none is of text; or `body` was
    /// passed beside an index.
    NoBody,
    /// A query gives columns that no argument names.
    MoreColumns,
    /// A lookup below the threshold of the index.
    BelowThreshold,
    /// A lookup of a table without an index that has all its rows.
    NoIndex,
    /// A lookup of a table with indexes of other documents or options.
    SeveralIndexes,
    /// An index that is not valid was named.
    NotValid,
}

impl Refusal {
    /// The SQLSTATEs with which it is refused.
    pub fn states(self) -> &'static [&'static str] {
        match self {
            Self::NoKey => &["0A000", "42704"],
            Self::NoBody | Self::MoreColumns => &["22023", "42P09"],
            Self::BelowThreshold => &["22023"],
            Self::NoIndex => &["42704"],
            Self::SeveralIndexes => &["42P09"],
            Self::NotValid => &["55000"],
        }
    }
}
