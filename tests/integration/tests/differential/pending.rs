//! Defects that are not mended yet (issue 16): what touches them is not asked. It must be empty in the end.

use crate::documents::Kind;
use crate::questions::Question;
use crate::scene::Scene;

/// What is not mended yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Defect {
    /// A scope before the document is taken for it; NULL and citext in scopes.
    Scopes,
    /// `integer[]` is a signature here and a set there.
    IntegerArrays,
    /// Keys that are cast or padded.
    Keys,
    /// Indexes change the answer about a table.
    Tables,
    /// The banding of an index that is named.
    Bandings,
    /// Queries of more columns, and `body` for them.
    Queries,
    /// Documents as a source.
    Documents,
    /// Partial indexes, and several of them, in lookups.
    Lookups,
    /// Plans that take an index that does not serve.
    Plans,
}

const NOT_MENDED: &[Defect] = &[
    Defect::Scopes,
    Defect::IntegerArrays,
    Defect::Keys,
    Defect::Tables,
    Defect::Bandings,
    Defect::Queries,
    Defect::Documents,
    Defect::Lookups,
    Defect::Plans,
];

impl Defect {
    fn touches(self, scene: &Scene, question: &Question) -> bool {
        let has = |word: &str| question.label.contains(word);
        let is_job = question.sql.contains("near_duplicate_") || question.sql.contains("_between(");
        let is_integers = matches!(scene.kind, Kind::Signature | Kind::Set("integer[]"));
        let is_lookup = has("lookup") || has("nearest");
        match self {
            Self::Scopes => {
                is_job && (question.sql.contains("scope =>") || has("scoped index"))
                    || has("recall")
            }
            Self::IntegerArrays => is_job && is_integers,
            Self::Keys => {
                is_job && (scene.key_type == "char(8)" || has("another type") || has("keep"))
            }
            Self::Tables => {
                (has("by table") || has("by view") || has("by side") || has("between"))
                    && is_job
                    && (!scene.indexes.is_empty() || scene.side.is_some() || scene.title)
                    || is_job && has("by table")
            }
            Self::Bandings => is_job && has("by index"),
            Self::Queries => {
                has("query of more") || has("query with body") || is_job && has("query")
            }
            Self::Documents => is_job && (scene.kind == Kind::Document || has("of documents")),
            Self::Lookups => is_lookup && (has("table") || has("nothing") || has("outside")),
            Self::Plans => has("plan of"),
        }
    }
}

/// Whether a question is of something that is not mended yet.
pub fn is_pending(scene: &Scene, question: &Question) -> bool {
    NOT_MENDED.iter().any(|defect| defect.touches(scene, question))
}
