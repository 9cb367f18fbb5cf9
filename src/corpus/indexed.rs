//! The index that a source names, or that its table has: its options, and what it is made of.

use std::rc::Rc;

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::pg_sys::{self, Oid};
use pgrx::prelude::*;

use crate::document::to_bands::Values;
use crate::error::{Result, error, not_supported};
use crate::index::info::document_column;
use crate::index::stored_options;
use crate::options::IndexOptions;
use crate::pg::bytes;
use crate::pg::index::Index;
use crate::pg::relation::Relation;
use crate::pg::spi::{Parameter, Session};
use crate::side_table::SideTable;

/// An index, as far as a whole-corpus job needs it.
pub struct Indexed {
    /// The table.
    pub table: Oid,
    /// The index, and what its documents are, if it is of the table itself.
    pub native: Option<(Oid, Values)>,
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
        let index = Index::open(named.oid).filter(|index| index.method == method());
        let Some((index, column)) =
            index.as_ref().and_then(|index| Some((index, document_column(index)?)))
        else {
            return Err(other(named, argument));
        };
        if Values::of(column.input_type) == Values::Bands {
            let side = SideTable::find(named.oid)?.into_iter().next();
            return side.map(Self::of_side_table).ok_or_else(|| other(named, argument));
        }
        Self::of_native(session, index, argument)
    }

    /// The only index of a table, if there is just one; or the one that the table is the side
    /// table of.
    pub fn of_table(session: &Session, table: &Relation, argument: &str) -> Result<Option<Self>> {
        if !matches!(table.kind, b'r' | b'p' | b'm') {
            return Ok(None);
        }
        let is_native = |index: &Index| {
            let column = document_column(index);
            index.valid
                && index.method == method()
                && column.is_some_and(|column| Values::of(column.input_type) != Values::Bands)
        };
        let natives: Vec<Index> =
            Index::of_table(table.oid).into_iter().filter(is_native).collect();
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

    fn of_native(session: &Session, index: &Index, argument: &str) -> Result<Self> {
        let is_document =
            |input_type| document_column(index).map(|c| c.input_type) == Some(input_type);
        let place = index.columns.iter().position(|column| is_document(column.input_type));
        let place = place.unwrap_or(0);
        let rows = session.query(
            "SELECT pg_catalog.pg_get_indexdef($1, $2, false), pg_catalog.pg_get_expr($3, $4)",
            &[
                Parameter::oid(index.oid),
                Parameter::int4(place as i32 + 1),
                // SAFETY: a pg_node_tree, as the catalog has it.
                unsafe { Parameter::new(pg_sys::PG_NODE_TREEOID, index.predicate()) },
                Parameter::oid(index.table),
            ],
        )?;
        let sql = |column| -> Result<Option<Vec<u8>>> {
            // SAFETY: columns of type text.
            Ok(rows.datum(0, column)?.map(|sql| unsafe { bytes::read(sql) }.to_vec()))
        };
        let scopes: Vec<i16> = (0..index.columns.len())
            .filter(|at| *at != place)
            .map(|at| index.columns[at].attribute)
            .collect();
        let scope = match scopes[..] {
            [] => None,
            [column] if column != 0 => Some(column),
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
            native: document_column(index).map(|c| (index.oid, Values::of(c.input_type))),
            settings: stored_options::built(index.oid)?,
            body: match index.columns[place].attribute {
                0 => Body::Expression(sql(1)?.unwrap_or_default()),
                column => Body::Column(column),
            },
            scope,
            predicate: sql(2)?,
        })
    }
}

/// The access method; invalid if there is none.
fn method() -> Oid {
    // SAFETY: a lookup in the system caches.
    unsafe { pg_sys::get_am_oid(c"minlsh".as_ptr(), true) }
}

fn other(named: &Relation, argument: &str) -> ErrorReport {
    error(
        PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE,
        format!("{argument}: \"{}\" is not an index of the access method minlsh", named.name),
    )
    .set_hint("Name its table.")
}
