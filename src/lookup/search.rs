//! Searches an index of the access method by a query of its table.
//!
//! The query uses the operator: `SELECT key, jaccard(body, $1) FROM table WHERE body ~= $1`, run as the caller. The
//! planner uses the index. The executor takes care of rights, row-level security, partitions and deleted rows.

use std::rc::Rc;

use sketch::counted;

use crate::document::kind::Kind;
use crate::indexed::{Columns, Indexed};
use crate::lookup::session_cache::{self, Purpose, QueryKey};
use crate::options::Threshold;
use crate::pg::names::{search_path, type_label};
use crate::pg::relation::has_row_security;
use crate::pg::table_query::{Parts, TableQuery};
use crate::pg::type_storage::TypeStorage;
use crate::pg::value_type::Output;
use crate::prelude::*;
use crate::row_key::{self, KeyValue, value_from_text};

/// A document to search for, with the conditions of the search.
pub struct Wanted {
    /// A value of type `minlsh_document`.
    pub document: Parameter,
    pub threshold: Threshold,
    /// Maximum number of rows; `None` means all.
    pub limit: Option<i64>,
    /// The key of the document's row; `None` if it is not stored.
    pub row: Option<Parameter>,
    /// The values of the scope columns.
    pub scope: Vec<Parameter>,
    /// The keys to search among, as an [array](crate::row_key::Key::array); `None` for all rows.
    pub among: Option<Parameter>,
}

impl Indexed {
    /// A search for the near-duplicates of a row. `None` if the caller sees no such row, if it has no document, or if a
    /// partial index lacks it.
    pub fn of_row(
        &self,
        session: &Session,
        key: KeyValue,
        threshold: Threshold,
        limit: Option<i64>,
    ) -> Result<Option<Wanted>> {
        let key = self.key()?.parameter(key);
        let values = [key, Parameter::float8(threshold.get())];
        let row = self.of_key(session, Purpose::Document, &values, |columns| {
            let document = self.document(columns.document, "$2");
            std::iter::once(document).chain(columns.predicate).chain(columns.scopes).collect()
        })?;
        let Some(row) = row else { return Ok(None) };
        let document = row.parameter(1, self.extension.document)?;
        let partial = self.info.index.partial;
        if document.is_null() || (partial && row.bool(2)? != Some(true)) {
            return Ok(None);
        }
        let first = if partial { 3 } else { 2 };
        let scope: Result<Vec<Parameter>> =
            (self.scopes.iter().zip(first..)).map(|(&type_oid, column)| row.parameter(column, type_oid)).collect();
        let (row, scope) = (Some(key), scope?);
        Ok(Some(Wanted { document, threshold, limit, row, scope, among: None }))
    }

    /// The indexed values of the row with key `key`; `None` if the caller cannot see it. The first column is the
    /// document. The second one is the predicate of a partial index.
    pub fn stored(&self, session: &Session, key: KeyValue) -> Result<Option<Row>> {
        let key = self.key()?.parameter(key);
        // With the scopes it is refused if they contain foreign code, as all queries of the index are.
        self.of_key(session, Purpose::Stored, &[key], |Columns { document, scopes, predicate }| {
            std::iter::once(document).chain(predicate).chain(scopes).collect()
        })
    }

    /// A key in its stored form, which may differ from an equal one; `None` if the caller cannot see its row. It lives
    /// as long as the current memory context.
    pub fn stored_key(&self, session: &Session, key: KeyValue) -> Result<Option<KeyValue>> {
        let of_key = self.key()?;
        let values = [of_key.parameter(key)];
        let row = self.of_key(session, Purpose::StoredKey, &values, |_| vec![of_key.name()])?;
        let row = row.filter(|row| catalog::base_type(row.type_of(1)) == of_key.base_type);
        let key = row.as_ref().and_then(|row| row.value(1));
        // SAFETY: the row's value has this type, as just checked.
        let copied = |key| unsafe {
            let copy = TypeStorage::of(of_key.base_type).copy(key);
            KeyValue::new(copy, of_key.base_type)
        };
        Ok(key.map(copied))
    }

    /// The row of the first of `keys`, if the caller sees it.
    fn of_key(
        &self,
        session: &Session,
        purpose: Purpose,
        values: &[Parameter],
        columns: impl FnOnce(Columns) -> Vec<Sql>,
    ) -> Result<Option<Row>> {
        let key = self.key()?;
        let query = self.query(purpose, Oid::INVALID, || {
            let parts = Parts {
                columns: columns(self.columns()?),
                conditions: vec![key.equals(key.name(), 1)],
                parameters: values.iter().map(Parameter::type_oid).collect(),
                ..self.parts()
            };
            TableQuery::prepare(session, &parts)
        })?;
        query.first(session, values)
    }

    /// The values of the scope columns that a call passes for a document that is not stored: a single value, or an
    /// array in the order of the columns. `None` if one is NULL, which equals nothing.
    pub fn scope(&self, call: &Call, argument: usize) -> Result<Option<Vec<Parameter>>> {
        let Some(datum) = call.datum(argument) else {
            // An omitted argument is a constant.
            if !call.is_constant(argument) {
                return Ok(None);
            }
            return if self.scopes.is_empty() { Ok(Some(Vec::new())) } else { Err(self.lacks_scope(None)) };
        };
        let (given, element) = {
            let given = catalog::base_type(call.argument_type(argument));
            (given, catalog::element_type(given))
        };
        let (of, values) = match element {
            Oid::INVALID => (given, vec![Some(datum)]),
            // SAFETY: the type of the argument is an array, and it lives as long as the call.
            _ => (element, unsafe { array::each_element(datum) }.collect()),
        };
        if values.len() != self.scopes.len() {
            return Err(self.lacks_scope(Some(values.len())));
        }
        let output = Output::of(of);
        let mut scope = Vec::new();
        for (value, type_oid) in values.into_iter().zip(&self.scopes) {
            let Some(value) = value else { return Ok(None) };
            let base_type = catalog::base_type(*type_oid);
            let value = match base_type == catalog::base_type(of) {
                true => value,
                // SAFETY: a value of type `of`, and the text that its output function returns.
                false => unsafe { value_from_text(output.text(value), base_type, "scope", SCOPE)? },
            };
            // SAFETY: the value has this type, or a type that is stored like it, and lives as long as the call.
            memory::push(&mut scope, unsafe { Parameter::new(*type_oid, Some(value)) })?;
        }
        Ok(Some(scope))
    }

    /// Refuses a call that passes `given` values of scopes, or none.
    fn lacks_scope(&self, given: Option<usize>) -> SqlError {
        let (name, count) = (self.name(), self.scopes.len());
        let has = format!("index \"{name}\" has {}", counted(count, "scope column"));
        if count == 0 {
            return invalid_parameter(format!("index \"{name}\" has no scope columns")).set_hint("Leave scope out.");
        }
        let columns = self.info.scope_names();
        let values = match count {
            1 => "'...'".to_owned(),
            _ => format!("ARRAY[{}]", vec!["'...'"; count].join(", ")),
        };
        let message = match given {
            None => format!("{has}, so the search needs scope"),
            Some(given) => format!("{has}, but scope has {}", counted(given, "value")),
        };
        invalid_parameter(message)
            .set_hint(format!("Pass scope => {values}, with a value of {}.", columns.join(", then of ")))
    }

    /// A search for the near-duplicates of a call's argument; `None` if it is NULL.
    pub fn of_argument(
        &self,
        session: &Session,
        argument: Parameter,
        threshold: Threshold,
        limit: Option<i64>,
        scope: Vec<Parameter>,
    ) -> Result<Option<Wanted>> {
        let type_oid = argument.type_oid();
        let query = self.query(Purpose::Given, type_oid, || {
            TableQuery::prepare(
                session,
                &Parts {
                    columns: vec![self.document(Sql::new("$1"), "$2")],
                    parameters: vec![type_oid, pg_sys::FLOAT8OID],
                    stored: self.code_of(),
                    ..Parts::default()
                },
            )
        })?;
        let row = query.first(session, &[argument, Parameter::float8(threshold.get())])?;
        let Some(row) = row else { return Ok(None) };
        let document = row.parameter(1, self.extension.document)?;
        if document.is_null() {
            return Ok(None);
        }
        Ok(Some(Wanted { document, threshold, limit, row: None, scope, among: None }))
    }

    /// Calls `visit` with the key, of the key's base type, and the similarity of each document found, the most similar
    /// first.
    pub fn each(
        &self,
        session: &Session,
        wanted: &Wanted,
        visit: &mut dyn FnMut(KeyValue, f64) -> Result<()>,
    ) -> Result<()> {
        let purpose = match wanted {
            Wanted { among: Some(_), .. } => Purpose::Among,
            Wanted { row: Some(_), .. } => Purpose::OfRow,
            _ => Purpose::OfGiven,
        };
        let query = self.query(purpose, Oid::INVALID, || self.search(session, purpose))?;
        let key_type = self.key()?.base_type;
        if catalog::base_type(query.type_of(0)) != key_type {
            return Err(query.replaced());
        }
        let limit = wanted.limit.map_or(Parameter::null(pg_sys::INT8OID), Parameter::int8);
        let mut values = vec![wanted.document, limit, Parameter::float8(wanted.threshold.get())];
        values.extend(wanted.row.iter().chain(&wanted.scope).chain(&wanted.among));
        query.each(session, &values, &mut |row| match (row.value(1), row.value(2)) {
            (Some(key), Some(similarity)) => {
                // SAFETY: the query's first column has this type, as just checked.
                let key = unsafe { KeyValue::new(key, key_type) };
                visit(key, f64::from_bits(similarity.value() as u64))
            }
            _ => Ok(()),
        })
    }

    /// The query of a search. Its first parameters are document, limit and threshold.
    fn search(&self, session: &Session, purpose: Purpose) -> Result<TableQuery> {
        let (key, Columns { document, scopes, predicate }) = (self.key()?, self.columns()?);
        let similarity = self.similarity(document.clone(), "$1");
        let mut parameters = vec![self.extension.document, pg_sys::INT8OID, pg_sys::FLOAT8OID];
        let mut conditions = vec![self.similar(document, "$1")];
        conditions.extend(predicate);
        if self.info.kind == Kind::Document {
            // The greater threshold of two documents counts, which may not be the requested one.
            conditions.push(similarity.clone().text(" OPERATOR(pg_catalog.>=) $3"));
        }
        if purpose == Purpose::OfRow {
            parameters.push(key.base_type);
            conditions.push(Sql::new("(").text(key.equals(key.name(), 4)).text(") IS NOT TRUE"));
        }
        for (scope, type_oid) in scopes.into_iter().zip(&self.scopes) {
            parameters.push(*type_oid);
            let given = Sql::new(format!("${}", parameters.len()));
            let equal = row_key::equal(*type_oid, scope, given);
            conditions.push(equal.ok_or_else(|| self.no_equality(*type_oid))?);
        }
        if purpose == Purpose::Among {
            parameters.push(key.array_type());
            conditions.push(key.is_among(key.name(), 4));
        }
        TableQuery::prepare(
            session,
            &Parts {
                columns: vec![key.name(), similarity],
                conditions,
                order: " ORDER BY 2 DESC, 1 LIMIT $2",
                parameters,
                // Where rows are hidden, no index serves a document that the planner does not know.
                custom: self.has_rivals || has_row_security(self.info.index.table),
                ..self.parts()
            },
        )
    }

    /// A query of the table, without columns yet.
    fn parts(&self) -> Parts {
        let (table, only) = (Some(self.table()), self.is_of_own_rows());
        Parts { table, only, stored: self.code_of(), ..Parts::default() }
    }

    /// A query, which is planned at its first use.
    fn query(
        &self,
        purpose: Purpose,
        type_oid: Oid,
        prepare: impl FnOnce() -> Result<TableQuery>,
    ) -> Result<Rc<TableQuery>> {
        let path = if self.info.has_only_columns() { Vec::new() } else { search_path() };
        let (index, schema) = (self.info.index.oid, self.extension.schema);
        let place = QueryKey { index, schema, purpose, type_oid, path };
        match session_cache::query(self.table(), &place) {
            Some(query) => Ok(query),
            None => Ok(session_cache::keep_query(place, prepare()?)),
        }
    }

    fn no_equality(&self, type_oid: Oid) -> SqlError {
        let (name, label) = (self.name(), type_label(type_oid));
        not_supported(format!("a scope of index \"{name}\" is of type {label}, which has no equality"))
            .set_hint(self.info.query_instead())
    }
}

/// A HINT for the argument `scope`.
const SCOPE: &str = "Pass scope => ARRAY['...'] with a value for each scope column of the index, in their order.";
