//! The index that a source names, or that its table has: its options, and what it is made of.

use std::rc::Rc;

use pgrx::pg_sys::Oid;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

use crate::document::kind::Kind;
use crate::error::{Result, error, not_supported};
use crate::index::info::{Info, Source};
use crate::options::IndexOptions;
use crate::pg::relation::Relation;
use crate::pg::spi::Session;
use crate::side_table::SideTable;

/// An index, as far as a whole-corpus job needs it.
pub struct Indexed {
    /// The table.
    pub table: Oid,
    /// The index, and what its documents are, if it is of the table itself.
    pub native: Option<(Oid, Kind)>,
    /// Its options.
    pub settings: Rc<IndexOptions>,
    /// The column of the documents.
    pub body: Body,
    /// The column within whose equal values it has its entries.
    pub scope: Option<i16>,
    /// What a partial index requires of a row, as SQL.
    pub predicate: Option<Vec<u8>>,
}

/// What an index is of.
pub enum Body {
    /// A column of the table.
    Column(i16),
    /// An expression, as SQL.
    Expression(Vec<u8>),
}

impl Indexed {
    /// The index that `named` is: one of the access method, or that of a side table.
    pub fn named(session: &Session, named: &Relation, argument: &str) -> Result<Self> {
        let Some(info) = Info::open(named.oid) else { return Err(other(named, argument)) };
        if info.kind == Kind::Passage {
            return Err(info.of_passages());
        }
        if info.kind == Kind::Bands {
            let side = SideTable::find(named.oid)?.into_iter().next();
            return side.map(Self::of_side_table).ok_or_else(|| other(named, argument));
        }
        Self::of_native(session, &info, argument)
    }

    /// The only index of a table, if there is just one; or the one that the table is the side
    /// table of.
    pub fn of_table(session: &Session, table: &Relation, argument: &str) -> Result<Option<Self>> {
        if !matches!(table.kind, b'r' | b'p' | b'm') {
            return Ok(None);
        }
        let mut natives = Info::of_table(table.oid);
        natives.retain(|info| info.index.valid);
        // One that is not sound is told to whoever names it.
        let mut sides = SideTable::find(table.oid).unwrap_or_default();
        match (&natives[..], sides.len()) {
            ([native], 0) => Self::of_native(session, native, argument).map(Some),
            ([], 1) => Ok(Some(Self::of_side_table(sides.remove(0)))),
            _ => Ok(None),
        }
    }

    fn of_side_table(side: SideTable) -> Self {
        Self {
            table: side.table.oid,
            native: None,
            settings: side.options,
            body: Body::Column(side.body.number),
            scope: None,
            predicate: None,
        }
    }

    fn of_native(session: &Session, info: &Info, argument: &str) -> Result<Self> {
        let index = &info.index;
        let text = info.text(session)?;
        let scope = match text.scopes[..] {
            [] => None,
            [Source::Column(column)] => Some(column),
            _ => {
                return Err(not_supported(format!(
                    "{argument}: index \"{}\" is of several scope columns, or of an expression",
                    index.name
                ))
                .set_hint("Write a query whose third column combines them, and name that with scope => '...'."));
            }
        };
        Ok(Self {
            table: index.table,
            native: Some((index.oid, info.kind)),
            settings: info.options()?,
            body: match text.document {
                Source::Expression(sql) => Body::Expression(sql),
                Source::Column(column) => Body::Column(column),
            },
            scope,
            predicate: text.predicate,
        })
    }
}

fn other(named: &Relation, argument: &str) -> ErrorReport {
    error(
        PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE,
        format!("{argument}: \"{}\" is not an index of the access method minlsh", named.name),
    )
    .set_hint("Name its table.")
}
