//! An index of the access method: what it is of, and what names the rows of its table.

use std::rc::Rc;

use pgrx::pg_sys::Oid;
use pgrx::prelude::*;

use crate::document::to_bands::Values;
use crate::error::{Result, error, not_supported, wrong_state};
use crate::index::info::{document_column, is_scope};
use crate::index::stored_options;
use crate::options::IndexOptions;
use crate::pg::expression::{self, Expression, Expressions};
use crate::pg::index::{Index, IndexColumn};
use crate::pg::names::{quoted, relation_name, visible_name};
use crate::pg::relation::{Lock, Relation};
use crate::row_key::{Key, NoKey};

/// An index of the access method.
pub struct Native {
    /// The index.
    pub index: Index,
    /// What its documents are.
    pub values: Values,
    /// How they are cut, signed and banded.
    pub settings: Rc<IndexOptions>,
    /// What names a row of the table.
    pub key: std::result::Result<Key, NoKey>,
    /// The schema of the extension, and its type of documents.
    pub schema: Oid,
    /// See `schema`.
    pub document: Oid,
    /// Whether its table has others of the kind, among which the planner has to choose.
    pub has_rivals: bool,
}

impl Native {
    /// Opens the index of that OID, of the access method `method` of the extension in `schema`, and
    /// locks its table.
    pub fn load(oid: Oid, method: Oid, schema: Oid) -> Result<Self> {
        let gone = || {
            let message = format!("relation with OID {} does not exist", oid.to_u32());
            error(PgSqlErrorCode::ERRCODE_UNDEFINED_TABLE, message)
        };
        let index = Index::open(oid).ok_or_else(gone)?;
        if !index.valid {
            return Err(wrong_state(format!("index \"{}\" is not valid", index.name))
                .set_detail("It lacks rows: CREATE INDEX CONCURRENTLY has not finished, or failed.")
                .set_hint(format!("Wait for it, or REINDEX INDEX {}.", visible_name(oid))));
        }
        let table = Relation::open(index.table, Lock::Read).ok_or_else(gone)?;
        let column = document_column(&index).ok_or_else(gone)?;
        let rivals = Index::of_table(index.table);
        Ok(Self {
            values: Values::of(column.input_type),
            settings: current(stored_options::built(oid)?, &index)?,
            key: Key::of_table(index.table, table.kind),
            schema,
            document: expression::type_named(schema, c"minlsh_document").ok_or_else(gone)?,
            has_rivals: rivals.iter().any(|other| other.oid != oid && other.method == method),
            index,
        })
    }

    /// The name that messages show.
    pub fn name(&self) -> &str {
        &self.index.name
    }

    /// The key, or an error that shows what to do without one.
    pub fn key(&self) -> Result<Key> {
        self.key.map_err(|cause| no_key(&self.index, cause))
    }

    /// The columns of the index as expressions over its table.
    pub fn columns<'a>(&self, expressions: &'a Expressions) -> Columns<'a> {
        let all = expressions.of_index(&self.index).into_iter().zip(&self.index.columns);
        let mut columns = Columns {
            document: expressions.bool(false),
            scope: Vec::new(),
            predicate: expressions.predicate_of_index(&self.index),
        };
        for (expression, column) in all {
            if is_scope(column) {
                let typed = expressions.relabelled(expression, column.input_type);
                columns.scope.push((typed, *column));
            } else {
                columns.document = expression;
            }
        }
        columns
    }

    /// The scope columns.
    pub fn scope_columns(&self) -> impl Iterator<Item = &IndexColumn> {
        self.index.columns.iter().filter(|column| is_scope(column))
    }
}

/// The options of an index, unless another version of the library would make other entries.
fn current(settings: Rc<IndexOptions>, index: &Index) -> Result<Rc<IndexOptions>> {
    if settings.current {
        return Ok(settings);
    }
    Err(wrong_state(format!("index \"{}\" was built by another version of minlsh", index.name))
        .set_detail("It signs texts in another way, or by other versions of Unicode.")
        .set_hint(format!("REINDEX INDEX {};", visible_name(index.oid))))
}

/// What the columns of an index are made of.
pub struct Columns<'a> {
    /// The document.
    pub document: Expression<'a>,
    /// The scope columns, as values of the input types of their operator classes.
    pub scope: Vec<(Expression<'a>, IndexColumn)>,
    /// What a partial index requires of a row.
    pub predicate: Option<Expression<'a>>,
}

fn no_key(index: &Index, cause: NoKey) -> pgrx::pg_sys::panic::ErrorReport {
    let (name, table) = (relation_name(index.table), visible_name(index.table));
    let message = match cause {
        NoKey::Composite => format!("the primary key of table \"{name}\" has several columns"),
        NoKey::Missing => format!("table \"{name}\" has no key of one column"),
    };
    not_supported(message)
        .set_detail("A document is named by one column that is unique and not null.")
        .set_hint(format!(
            "Ask the table: SELECT b.* FROM {table} AS a JOIN {table} AS b ON b.{body} ~= \
             minlsh_document(a.{body}, 0.9) WHERE ...",
            body = body_name(index),
        ))
}

/// The column that an index is of, for messages; of an expression, `body`.
pub fn body_name(index: &Index) -> String {
    let number = document_column(index).map_or(0, |column| column.attribute);
    let table = Relation::open(index.table, Lock::Read);
    let column = table.as_ref().and_then(|table| table.column(number));
    column.map_or_else(|| "body".into(), |column| quoted(&column.name))
}
