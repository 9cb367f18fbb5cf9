//! A search of an index of the access method, by a query of its table.
//!
//! The query is the operator: `SELECT key, jaccard(body, $1) FROM table WHERE body ~= $1`, run as
//! the caller. The planner uses the index, and rights, row-level security, partitions and rows that
//! are gone are the executor's.

use std::rc::Rc;

use pgrx::pg_sys::{self, Datum, Oid};

use crate::document::kind::Kind;
use crate::error::{Result, SqlError, not_supported};
use crate::extension::own;
use crate::lookup::indexed::Indexed;
use crate::lookup::session_cache::{self, Purpose};
use crate::options::Threshold;
use crate::pg::expression::{self, Expressions};
use crate::pg::names::{type_label, visible_name};
use crate::pg::relation::has_row_security;
use crate::pg::result_rows::ResultRows;
use crate::pg::spi::{Parameter, Session};
use crate::pg::table_query::{Direction, Parts, TableQuery};
use crate::row_key::Key;

/// A document to look for.
pub struct Wanted {
    /// A value of type `minlsh_document`.
    pub document: Parameter,
    /// The least similarity.
    pub threshold: Threshold,
    /// The number of rows that are wanted; `None` means all.
    pub limit: Option<i64>,
    /// The key of the row whose document it is, with its values of the scope columns; `None` if it
    /// is not stored.
    pub row: Option<(Parameter, Vec<Parameter>)>,
    /// The keys among which it is to be found, as an array; `None`: anywhere.
    pub among: Option<Parameter>,
}

impl Wanted {
    /// The same, to be found among the keys of an [array](Key::array), which does not have the row itself.
    pub fn among(self, keys: Parameter) -> Self {
        Self { row: None, among: Some(keys), ..self }
    }
}

impl Indexed {
    /// The question for the near-duplicates of a row; `None` if the caller sees no such row, if it has no
    /// document, or if a partial index does not have it.
    ///
    /// # Safety
    /// `key` must be of the base type of the key of this index, and live as long as the question.
    pub unsafe fn of_row(
        &self,
        session: &Session,
        key: Datum,
        threshold: Threshold,
        limit: Option<i64>,
    ) -> Result<Option<Wanted>> {
        let of_key = self.key()?;
        let query = self.query(Purpose::Document, Oid::INVALID, || {
            let expressions = Expressions::new();
            let columns = self.info.columns(&expressions);
            let least = expressions.parameter(2, pg_sys::FLOAT8OID);
            let document = self.document(&expressions, columns.document, least)?;
            let of_row = columns.scopes.into_iter().chain(columns.predicate);
            TableQuery::prepare(
                session,
                &Parts {
                    table: Some(self.table()),
                    only: self.is_of_own_rows(),
                    columns: std::iter::once(document).chain(of_row).collect(),
                    conditions: vec![of_key.equals(&expressions, 1)],
                    parameters: vec![of_key.base_type, pg_sys::FLOAT8OID],
                    ..Parts::default()
                },
            )
        })?;
        // SAFETY: the caller promises a key of the type that the query was made for.
        let key = unsafe { of_key.parameter(key) };
        let values = [key, Parameter::float8(threshold.get())];
        let rows = query.rows(session, &values)?;
        if rows.is_empty() {
            return Ok(None);
        }
        let document = rows.parameter(0, 1, self.extension.document)?;
        if document.is_null() {
            return Ok(None);
        }
        if self.info.index.partial && rows.bool(0, self.scopes.len() as i32 + 2)? != Some(true) {
            return Ok(None);
        }
        let scope: Result<Vec<Parameter>> = (self.scopes.iter().zip(2..))
            .map(|(&type_oid, column)| rows.parameter(0, column, type_oid))
            .collect();
        let row = Some((key, scope?));
        Ok(Some(Wanted { document, threshold, limit, row, among: None }))
    }

    /// Refuses to look for what has no values of scope columns.
    pub fn check_no_scopes(&self) -> Result<()> {
        if !self.info.has_scopes() {
            return Ok(());
        }
        Err(not_supported(format!("index \"{}\" has scope columns", self.name()))
            .set_detail("The search would need a value for each of them.")
            .set_hint(self.hint_of_operator()))
    }

    /// The question for the near-duplicates of an argument of a call; `None` if it is NULL.
    pub fn of_argument(
        &self,
        session: &Session,
        argument: Parameter,
        threshold: Threshold,
        limit: Option<i64>,
    ) -> Result<Option<Wanted>> {
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
        let rows = query.rows(session, &[argument, Parameter::float8(threshold.get())])?;
        let document = rows.parameter(0, 1, self.extension.document)?;
        if document.is_null() {
            return Ok(None);
        }
        Ok(Some(Wanted { document, threshold, limit, row: None, among: None }))
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
        let purpose = match wanted {
            Wanted { among: Some(_), .. } => Purpose::Among,
            Wanted { row: Some(_), .. } => Purpose::OfRow,
            _ => Purpose::OfGiven,
        };
        let query = self.query(purpose, shown, || {
            self.search(session, &Expressions::new(), key, shown, purpose)
        })?;
        let limit = wanted.limit.map_or(Parameter::null(pg_sys::INT8OID), Parameter::int8);
        let mut values = vec![wanted.document, limit, Parameter::float8(wanted.threshold.get())];
        if let Some((row, scope)) = &wanted.row {
            values.push(*row);
            values.extend(scope);
        }
        values.extend(wanted.among);
        Ok((query, values))
    }

    /// The query that `question` gives: document, limit and threshold are its first parameters.
    fn search(
        &self,
        session: &Session,
        expressions: &Expressions,
        key: Key,
        shown: Oid,
        purpose: Purpose,
    ) -> Result<TableQuery> {
        let columns = self.info.columns(expressions);
        let document = expressions.parameter(1, self.extension.document);
        let similarity = self.similarity(expressions, columns.document, document)?;
        let mut parameters = vec![self.extension.document, pg_sys::INT8OID, pg_sys::FLOAT8OID];
        let mut conditions = vec![self.similar(expressions, columns.document, document)?];
        conditions.extend(columns.predicate);
        if self.info.kind == Kind::Document {
            // Each document has a threshold of its own, and the greater one counts: not what was
            // asked for.
            let least = expressions.parameter(3, pg_sys::FLOAT8OID);
            let (schema, number) = (Oid::from(pg_sys::PG_CATALOG_NAMESPACE), pg_sys::FLOAT8OID);
            let at_least = expression::operator(schema, c">=", number, number);
            let at_least = own(at_least)?;
            conditions.push(expressions.operator(at_least, similarity, least));
        }
        if purpose == Purpose::OfRow {
            parameters.push(key.base_type);
            conditions.push(expressions.is_not_true(key.equals(expressions, 4)));
            for (column, number) in columns.scopes.into_iter().zip(5..) {
                parameters.push(column.type_oid());
                let given = expressions.parameter(number, column.type_oid());
                let equal = expressions.equal(column, given);
                conditions.push(equal.ok_or_else(|| self.no_equality(column.type_oid()))?);
            }
        }
        if purpose == Purpose::Among {
            parameters.push(key.array_type());
            conditions.push(key.is_among(expressions, 4));
        }
        let name = expressions.column(key.table, key.column);
        TableQuery::prepare(
            session,
            &Parts {
                table: Some(self.table()),
                only: self.is_of_own_rows(),
                columns: vec![key.shown_as(expressions, shown), similarity],
                conditions,
                order: vec![(similarity, Direction::Descending), (name, Direction::Ascending)],
                limit: Some(expressions.parameter(2, pg_sys::INT8OID)),
                parameters,
                // Where rows are hidden, no index serves a document that the planner does not see.
                custom: self.has_rivals || has_row_security(self.info.index.table),
            },
        )
    }

    fn query(
        &self,
        purpose: Purpose,
        type_oid: Oid,
        prepare: impl FnOnce() -> Result<TableQuery>,
    ) -> Result<Rc<TableQuery>> {
        session_cache::query(self.table(), (self.info.index.oid, purpose, type_oid), prepare)
    }

    fn no_equality(&self, type_oid: Oid) -> SqlError {
        let (name, label) = (self.name(), type_label(type_oid));
        not_supported(format!(
            "a scope of index \"{name}\" is of type {label}, which has no equality"
        ))
        .set_hint(self.hint_of_operator())
    }

    fn hint_of_operator(&self) -> String {
        let table = visible_name(self.table());
        format!(
            "Query the table: SELECT ... FROM {table} WHERE ... AND {} ~= minlsh_document('some text', {});",
            self.info.body_name(),
            self.options.threshold
        )
    }
}
