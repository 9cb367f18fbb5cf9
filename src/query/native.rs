//! An index of the access method, asked by a query of its table.
//!
//! The query is the operator: `SELECT key, jaccard(body, $1) FROM table WHERE body ~= $1`, run as
//! the caller. The planner uses the index, and rights, row-level security, partitions and rows that
//! are gone are the executor's.

use std::rc::Rc;

use pgrx::pg_sys::{self, Datum, Oid};
use pgrx::prelude::*;

use crate::am::layout::SCOPE_HASH;
use crate::am::stored_options;
use crate::document::index_options::IndexOptions;
use crate::document::to_bands::Values;
use crate::error::{Result, error, invalid_parameter, not_supported, wrong_state};
use crate::pg::expression::{self, Expression, Expressions};
use crate::pg::index::{Index, IndexColumn};
use crate::pg::names::{quoted, relation_name, visible_name};
use crate::pg::passing::Passing;
use crate::pg::relation::{Lock, Relation};
use crate::pg::result_rows::ResultRows;
use crate::pg::spi::{Parameter, Session};
use crate::pg::table_query::{Direction, Parts, TableQuery};
use crate::query::key::{Key, NoKey};
use crate::query::plans::{self, Purpose};

/// The equality of an operator class of a scope column.
const EQUAL_STRATEGY: i16 = 1;

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
    schema: Oid,
    document: Oid,
    /// Whether its table has others of the kind, among which the planner has to choose.
    has_rivals: bool,
}

/// What is looked for.
pub struct Wanted {
    /// A value of type `minlsh_document`.
    pub document: Datum,
    /// The least similarity.
    pub threshold: f64,
    /// How many are wanted; `None`: all.
    pub limit: Option<i64>,
    /// The key of the row whose document it is, with its values of the scope columns; `None` if it
    /// is not stored.
    pub row: Option<(Datum, Vec<Parameter>)>,
}

impl Native {
    /// The index of that OID, of the access method `method` of the extension in `schema`.
    pub fn get(oid: Oid, method: Oid, schema: Oid) -> Result<Rc<Self>> {
        plans::index(oid, || Self::load(oid, method, schema))
    }

    fn load(oid: Oid, method: Oid, schema: Oid) -> Result<Self> {
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

    /// The question for the near-duplicates of a row; `None` if the caller sees no such row, or it
    /// has no document.
    pub fn of_row(
        &self,
        session: &Session,
        key: Datum,
        threshold: f64,
        limit: Option<i64>,
    ) -> Result<Option<Wanted>> {
        let of_key = self.key()?;
        let query = self.query(Purpose::Document, Oid::INVALID, || {
            let expressions = Expressions::new();
            let columns = self.columns(&expressions);
            let least = expressions.parameter(2, pg_sys::FLOAT8OID);
            let document = self.document(&expressions, columns.document, least)?;
            let scope = columns.scope.iter().map(|(column, _)| *column);
            TableQuery::prepare(
                session,
                &Parts {
                    table: Some(self.index.table),
                    columns: std::iter::once(document).chain(scope).collect(),
                    conditions: vec![of_key.equals(&expressions, 1)],
                    parameters: vec![of_key.base_type, pg_sys::FLOAT8OID],
                    ..Parts::default()
                },
            )
        })?;
        let values = [of_key.parameter(Some(key)), Parameter::float8(threshold)];
        let rows = query.rows(session, &values)?;
        if rows.is_empty() {
            return Ok(None);
        }
        let Some(document) = rows.value(0, 1, self.document)? else { return Ok(None) };
        let types = self.scope_columns().map(|column| column.input_type);
        let scope: Result<Vec<Parameter>> = types
            .zip(2..)
            .map(|(type_oid, column)| {
                let value = rows.value(0, column, type_oid)?;
                // SAFETY: a value of that type, which is as long as its rows, and a copy of it.
                Ok(unsafe {
                    let copied = value.map(|value| Passing::of(type_oid).copy(value));
                    Parameter::new(type_oid, copied)
                })
            })
            .collect();
        // SAFETY: a value of that type, which is as long as its rows.
        let document = unsafe { Passing::of(self.document).copy(document) };
        Ok(Some(Wanted { document, threshold, limit, row: Some((key, scope?)) }))
    }

    /// The question for the near-duplicates of an argument of a call; `None` if it is NULL.
    pub fn of_argument(
        &self,
        session: &Session,
        argument: Parameter,
        threshold: f64,
    ) -> Result<Option<Wanted>> {
        if self.scope_columns().next().is_some() {
            let name = self.name();
            return Err(not_supported(format!("index \"{name}\" has columns beside the document"))
                .set_detail(
                    "A search for a document that is not stored would have to name their values.",
                )
                .set_hint(self.hint_of_operator()));
        }
        let type_oid = argument.type_oid();
        let query = self.query(Purpose::Given, type_oid, || {
            let expressions = Expressions::new();
            let given = expressions.parameter(1, type_oid);
            let least = expressions.parameter(2, pg_sys::FLOAT8OID);
            TableQuery::prepare(
                session,
                &Parts {
                    columns: vec![self.document(&expressions, given, least)?],
                    parameters: vec![type_oid, pg_sys::FLOAT8OID],
                    ..Parts::default()
                },
            )
        })?;
        let rows = query.rows(session, &[argument, Parameter::float8(threshold)])?;
        let Some(document) = rows.value(0, 1, self.document)? else { return Ok(None) };
        // SAFETY: a value of that type, which is as long as its rows.
        let document = unsafe { Passing::of(self.document).copy(document) };
        Ok(Some(Wanted { document, threshold, limit: None, row: None }))
    }

    /// Puts the keys and similarities of what is found into `result`, the most similar first.
    pub fn answer(&self, session: &Session, wanted: &Wanted, result: &ResultRows) -> Result<()> {
        let (query, values) = self.question(session, wanted, result.column_type(0))?;
        query.rows_into(session, &values, result)
    }

    /// Calls `visit` with the key, as text, and the similarity of what is found.
    pub fn each(
        &self,
        session: &Session,
        wanted: &Wanted,
        visit: &mut dyn FnMut(&str, f64) -> Result<()>,
    ) -> Result<()> {
        let (query, values) = self.question(session, wanted, pg_sys::TEXTOID)?;
        let rows = query.rows(session, &values)?;
        for row in 0..rows.len() {
            if let (Some(key), Some(similarity)) = (rows.text(row, 1)?, rows.float8(row, 2)?) {
                visit(key, similarity)?;
            }
        }
        Ok(())
    }

    /// The query for what is wanted, which gives keys as `shown`, and its parameters.
    fn question(
        &self,
        session: &Session,
        wanted: &Wanted,
        shown: Oid,
    ) -> Result<(Rc<TableQuery>, Vec<Parameter>)> {
        let key = self.key()?;
        let purpose = if wanted.row.is_some() { Purpose::OfRow } else { Purpose::OfGiven };
        let query = self.query(purpose, shown, || {
            self.search(session, &Expressions::new(), key, shown, wanted.row.is_some())
        })?;
        let mut values = vec![
            // SAFETY: what is wanted is like a document of the index.
            unsafe { Parameter::new(self.document, Some(wanted.document)) },
            // SAFETY: the limit is a bigint.
            unsafe { Parameter::new(pg_sys::INT8OID, wanted.limit.map(Datum::from)) },
            Parameter::float8(wanted.threshold),
        ];
        if let Some((row, scope)) = &wanted.row {
            values.push(key.parameter(Some(*row)));
            values.extend(scope);
        }
        Ok((query, values))
    }

    /// The query that `question` gives: document, limit and threshold are its first parameters.
    fn search(
        &self,
        session: &Session,
        expressions: &Expressions,
        key: Key,
        shown: Oid,
        of_row: bool,
    ) -> Result<TableQuery> {
        let columns = self.columns(expressions);
        let document = expressions.parameter(1, self.document);
        let similarity = self.similarity(expressions, columns.document, document)?;
        let mut parameters = vec![self.document, pg_sys::INT8OID, pg_sys::FLOAT8OID];
        let mut conditions = vec![self.similar(expressions, columns.document, document)?];
        conditions.extend(columns.predicate);
        if self.values == Values::Document {
            // Each document has a threshold of its own, and the greater one counts: not what was
            // asked for.
            let least = expressions.parameter(3, pg_sys::FLOAT8OID);
            let (schema, number) = (Oid::from(pg_sys::PG_CATALOG_NAMESPACE), pg_sys::FLOAT8OID);
            let at_least = expression::operator(schema, c">=", number, number);
            let at_least = at_least.ok_or_else(no_function)?;
            conditions.push(expressions.operator(at_least, similarity, least));
        }
        if of_row {
            parameters.push(key.base_type);
            conditions.push(expressions.is_not_true(key.equals(expressions, 4)));
            for ((column, of_index), number) in columns.scope.into_iter().zip(5..) {
                let (family, input) = (of_index.family, of_index.input_type);
                parameters.push(input);
                // SAFETY: a lookup in the system caches.
                let equals =
                    unsafe { pg_sys::get_opfamily_member(family, input, input, EQUAL_STRATEGY) };
                let given = expressions.parameter(number, input);
                conditions.push(expressions.operator(equals, column, given));
            }
        }
        let name = expressions.column(key.table, key.column);
        TableQuery::prepare(
            session,
            &Parts {
                table: Some(self.index.table),
                columns: vec![key.shown_as(expressions, shown), similarity],
                conditions,
                order: vec![(similarity, Direction::Descending), (name, Direction::Ascending)],
                limit: Some(expressions.parameter(2, pg_sys::INT8OID)),
                parameters,
                custom: self.has_rivals,
            },
        )
    }

    fn query(
        &self,
        purpose: Purpose,
        type_oid: Oid,
        prepare: impl FnOnce() -> Result<TableQuery>,
    ) -> Result<Rc<TableQuery>> {
        plans::query(self.index.table, (self.index.oid, purpose, type_oid), prepare)
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

    fn scope_columns(&self) -> impl Iterator<Item = &IndexColumn> {
        self.index.columns.iter().filter(|column| is_scope(column))
    }

    /// A value like those that are indexed as a document, with the options of the index.
    fn document<'a>(
        &self,
        expressions: &'a Expressions,
        value: Expression<'a>,
        least: Expression<'a>,
    ) -> Result<Expression<'a>> {
        let (name, types, arguments) = match self.values {
            Values::Text => {
                let config = &self.settings.config;
                let arguments = vec![
                    expressions.relabelled(value, pg_sys::TEXTOID),
                    least,
                    expressions.int4(i32::try_from(config.shingle_size()).unwrap_or(i32::MAX)),
                    expressions.text(config.unit().as_str()),
                    expressions.text(&config.normalization().to_string()),
                    expressions.text(&config.stop_words().to_string()),
                    expressions.bool(config.bag()),
                ];
                let types = arguments.iter().map(|argument| argument.type_oid()).collect();
                (c"minlsh_document", types, arguments)
            }
            Values::Set => {
                let types = vec![pg_sys::ANYARRAYOID, pg_sys::FLOAT8OID];
                (c"minlsh_document", types, vec![value, least])
            }
            Values::Signature => {
                let value = expressions.relabelled(value, pg_sys::INT4ARRAYOID);
                let types = vec![pg_sys::INT4ARRAYOID, pg_sys::FLOAT8OID];
                (c"minlsh_signature", types, vec![value, least])
            }
            Values::Document => return Ok(value),
            Values::Bands => return Err(no_function()),
        };
        let function = expression::function(self.schema, name, &types).ok_or_else(no_function)?;
        Ok(expressions.call(function, self.document, &arguments))
    }

    /// The type of the left operand of `~=`, and the value as one of that type.
    fn operand<'a>(
        &self,
        expressions: &'a Expressions,
        value: Expression<'a>,
    ) -> (Oid, Expression<'a>) {
        match self.values {
            Values::Text => (pg_sys::TEXTOID, expressions.relabelled(value, pg_sys::TEXTOID)),
            Values::Document => (self.document, value),
            _ => (pg_sys::ANYARRAYOID, value),
        }
    }

    /// `value ~= document`
    fn similar<'a>(
        &self,
        expressions: &'a Expressions,
        value: Expression<'a>,
        document: Expression<'a>,
    ) -> Result<Expression<'a>> {
        let (operand, value) = self.operand(expressions, value);
        let operator = expression::operator(self.schema, c"~=", operand, self.document);
        Ok(expressions.operator(operator.ok_or_else(no_function)?, value, document))
    }

    /// `jaccard(value, document)`
    fn similarity<'a>(
        &self,
        expressions: &'a Expressions,
        value: Expression<'a>,
        document: Expression<'a>,
    ) -> Result<Expression<'a>> {
        let (operand, value) = self.operand(expressions, value);
        let types = [operand, self.document];
        let function = expression::function(self.schema, c"jaccard", &types);
        let function = function.ok_or_else(no_function)?;
        Ok(expressions.call(function, pg_sys::FLOAT8OID, &[value, document]))
    }

    fn hint_of_operator(&self) -> String {
        let table = visible_name(self.index.table);
        format!(
            "Ask the table: SELECT ... FROM {table} WHERE ... AND {} ~= minlsh_document('some text', {});",
            body_name(&self.index),
            self.settings.threshold
        )
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

/// The column of the documents: the one that is no scope column.
pub fn document_column(index: &Index) -> Option<&IndexColumn> {
    index.columns.iter().find(|column| !is_scope(column))
}

fn is_scope(column: &IndexColumn) -> bool {
    is_scope_class(column.family, column.input_type)
}

/// Whether the operator class of a family for a type is for scope columns.
pub fn is_scope_class(family: Oid, input: Oid) -> bool {
    // SAFETY: a lookup in the system caches.
    let hash = unsafe { pg_sys::get_opfamily_proc(family, input, input, SCOPE_HASH as i16) };
    hash != Oid::INVALID
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
fn body_name(index: &Index) -> String {
    let number = document_column(index).map_or(0, |column| column.attribute);
    let table = Relation::open(index.table, Lock::Read);
    let column = table.as_ref().and_then(|table| table.column(number));
    column.map_or_else(|| "body".into(), |column| quoted(&column.name))
}

/// The extension's own functions are missing: its scripts are of another version.
fn no_function() -> pgrx::pg_sys::panic::ErrorReport {
    wrong_state("the library minlsh does not fit the functions that are installed")
        .set_hint("Bring them up to date with ALTER EXTENSION minlsh UPDATE.")
}

/// Refuses a way of verifying that the index cannot have.
pub fn check_verify(native: &Native, verify: Option<crate::query::options::Verify>) -> Result<()> {
    use crate::query::options::Verify;
    let name = native.name();
    match (native.values, verify) {
        (Values::Signature, Some(Verify::Exact)) => Err(invalid_parameter(format!(
            "index \"{name}\" has signatures only: verify cannot be \"exact\""
        ))
        .set_hint("Leave verify out.")),
        (Values::Text | Values::Document | Values::Set, Some(Verify::Signature)) => {
            Err(invalid_parameter(format!(
                "index \"{name}\" keeps no signatures: verify cannot be \"signature\""
            ))
            .set_hint("Leave verify out, or make a side table with minlsh_create_index()."))
        }
        _ => Ok(()),
    }
}
