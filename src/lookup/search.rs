//! Searches of an index for the near-duplicates of a document, by a query of its table.
//!
//! The query uses the operator: `SELECT key, jaccard(body, $1) FROM table WHERE body ~= $1`, run as the caller. The
//! planner uses the index. The executor takes care of rights, row-level security, partitions and deleted rows. A side
//! table finds candidates by their signatures first, and the query compares them by their keys.

use std::rc::Rc;

use sketch::counted;
use sketch::dedup::Verify;

use crate::document::image::Document;
use crate::document::kind::Kind;
use crate::indexed::{Columns, Indexed};
use crate::lookup::session_cache::{self, Purpose, QueryKey};
use crate::options::Threshold;
use crate::pg::names::search_path;
use crate::pg::relation::has_row_security;
use crate::pg::table_query::{Parts, TableQuery};
use crate::prelude::*;
use crate::row_key;
use crate::side_table::search::{DocumentQueries, Narrow, SideSearch, SoughtDocument, VisitNear};

/// An index to search, by a caller with the necessary rights.
pub struct Asked<'a> {
    pub index: &'a Indexed,
    side: Option<SideSearch<'a>>,
    threshold: Threshold,
    /// Maximum number of results, the most similar ones; `None` means all.
    limit: Option<i64>,
}

impl<'a> Asked<'a> {
    /// Checks the caller's rights and the way of verification; `None` stands for the index's best way.
    pub fn new(index: &'a Indexed, threshold: Threshold, verify: Option<Verify>, limit: Option<i64>) -> Result<Self> {
        let side = match &index.side {
            Some(side) => Some(side.search(index.key(), threshold, verify.unwrap_or(Verify::Exact), limit)?),
            None => check_verify(index, verify).map(|()| None)?,
        };
        Ok(Self { index, side, threshold, limit })
    }

    /// Calls `visit` with the key, of the key's base type, and the similarity of each near-duplicate, the most similar
    /// first. Memory that `visit` allocates is freed after each call.
    pub fn each(&self, session: &Session, sought: &SoughtDocument, visit: &mut VisitNear) -> Result<()> {
        let mut memory = Memory::scratch(c"minlsh near-duplicate");
        let visit = &mut |key: TypedValue, similarity| memory.run_and_reset(|| visit(key, similarity));
        let queries = Queries { asked: self, session, memory: Memory::scratch(c"minlsh search") };
        match &self.side {
            Some(side) => side.each(sought, &queries, visit),
            None => queries.each(sought, None, visit),
        }
    }

    /// Calls `visit` with the key, as text, and the similarity of each near-duplicate of a row.
    pub fn each_of_row(
        &self,
        session: &Session,
        key: TypedValue,
        visit: &mut dyn FnMut(&str, f64) -> Result<()>,
    ) -> Result<()> {
        self.each(session, &SoughtDocument::Row(key), &mut |key, similarity| {
            key.with_text(|name| visit(name, similarity))
        })
    }
}

/// Refuses a way of verification that an index without a side table cannot provide.
fn check_verify(index: &Indexed, verify: Option<Verify>) -> Result<()> {
    let name = index.name();
    match (index.info.kind, verify) {
        (Kind::Signature, Some(Verify::Exact)) => {
            Err(invalid_parameter(format!("verify cannot be \"exact\" because index \"{name}\" has only signatures"))
                .set_hint("Leave verify out."))
        }
        (Kind::Text | Kind::Document | Kind::Set, Some(Verify::Signature)) => {
            Err(invalid_parameter(format!("verify cannot be \"signature\" because index \"{name}\" has no signatures"))
                .set_hint("Leave verify out, or create a side table with minlsh_create_side_table()."))
        }
        _ => Ok(()),
    }
}

/// The queries of a search.
struct Queries<'q> {
    asked: &'q Asked<'q>,
    session: &'q Session,
    /// Memory for the values that are searched for.
    memory: Memory,
}

/// The conditions of a search.
struct Wanted<'w> {
    /// A value of type `minlsh_document`.
    document: Parameter<'w>,
    /// The key of the document's row; `None` if it is not stored.
    row: Option<Parameter<'w>>,
    /// The values of the scope columns.
    scope: Vec<Parameter<'w>>,
}

impl DocumentQueries for Queries<'_> {
    fn each(&self, sought: &SoughtDocument, narrow: Option<&Narrow>, visit: &mut VisitNear) -> Result<()> {
        let Asked { index, threshold, limit, .. } = self.asked;
        let wanted = match sought {
            SoughtDocument::Row(key) => self.of_row(*key)?,
            SoughtDocument::Given { document: Some(document), scope, .. } => Some(self.of_document(document, scope)),
            SoughtDocument::Given { value, scope, .. } => self.of_value(*value, scope)?,
        };
        let Some(Wanted { document, row, scope }) = wanted else { return Ok(()) };
        let (purpose, row, among) = match narrow.map(|narrow| narrow()).transpose()? {
            None if row.is_some() => (Purpose::OfRow, row, None),
            None => (Purpose::OfGiven, None, None),
            Some(None) => return Ok(()),
            // The keys do not include the row's.
            Some(among) => (Purpose::Among, None, among),
        };
        let query = index.query(purpose, Oid::INVALID, || index.search(self.session, purpose))?;
        let key_type = index.key()?.base_type;
        if catalog::base_type(query.type_of(0)) != key_type {
            return Err(query.replaced());
        }
        let limit = limit.map_or(Parameter::null(pg_sys::INT8OID), Parameter::int8);
        let mut values = vec![document, limit, Parameter::float8(threshold.get())];
        values.extend(row.into_iter().chain(scope).chain(among));
        query.each(self.session, &values, &mut |row| match (row.get(1), row.value(2)) {
            (Some(key), Some(similarity)) => visit(key, f64::from_bits(similarity.value() as u64)),
            _ => Ok(()),
        })
    }

    fn sees(&self, key: TypedValue) -> Result<bool> {
        Ok(self.asked.index.stored_key(self.session, key)?.is_some())
    }
}

impl Queries<'_> {
    /// A search for the near-duplicates of a row. `None` if the caller sees no such row, if it has no document, or if a
    /// partial index lacks it.
    fn of_row<'w>(&'w self, key: TypedValue<'w>) -> Result<Option<Wanted<'w>>> {
        let Asked { index, threshold, .. } = self.asked;
        let key = index.key()?.parameter(key);
        let values = [key, Parameter::float8(threshold.get())];
        let row = index.of_key(self.session, Purpose::Document, &values, |columns| {
            let document = index.document(columns.document, "$2");
            std::iter::once(document).chain(columns.predicate).chain(columns.scopes).collect()
        })?;
        let Some(row) = row else { return Ok(None) };
        let document = row.parameter(1, index.extension.document, &self.memory)?;
        let partial = index.info.index.partial;
        if document.is_null() || (partial && row.bool(2)? != Some(true)) {
            return Ok(None);
        }
        let first = if partial { 3 } else { 2 };
        let scope = index.scopes.iter().zip(first..);
        let scope = scope.map(|(&type_oid, column)| row.parameter(column, type_oid, &self.memory));
        Ok(Some(Wanted { document, row: Some(key), scope: scope.collect::<Result<_>>()? }))
    }

    /// A search for the near-duplicates of a document that is not stored.
    fn of_document<'w>(&'w self, document: &Document, scope: &[Parameter<'w>]) -> Wanted<'w> {
        let type_oid = self.asked.index.extension.document;
        // SAFETY: `write` makes a value of this type in `memory`.
        let document = unsafe { TypedValue::new(self.memory.run(|| document.write()), type_oid) };
        Wanted { document: Parameter::new(type_oid, Some(document)), row: None, scope: scope.to_vec() }
    }

    /// A search for the near-duplicates of a value that is not stored; `None` if it is NULL.
    fn of_value<'w>(&'w self, value: TypedValue, scope: &[Parameter<'w>]) -> Result<Option<Wanted<'w>>> {
        let (Asked { index, threshold, .. }, type_oid) = (self.asked, value.type_oid());
        let query = index.query(Purpose::Given, type_oid, || {
            TableQuery::prepare(
                self.session,
                &Parts {
                    columns: vec![index.document(Sql::new("$1"), "$2")],
                    parameters: vec![type_oid, pg_sys::FLOAT8OID],
                    stored: index.code_of(),
                    ..Parts::default()
                },
            )
        })?;
        let value = Parameter::new(type_oid, Some(value));
        let row = query.first(self.session, &[value, Parameter::float8(threshold.get())])?;
        let Some(row) = row else { return Ok(None) };
        let document = row.parameter(1, index.extension.document, &self.memory)?;
        Ok((!document.is_null()).then(|| Wanted { document, row: None, scope: scope.to_vec() }))
    }
}

impl Indexed {
    /// The indexed values of the row with key `key`; `None` if the caller cannot see it. The first column is the
    /// document. The second one is the predicate of a partial index.
    pub fn stored(&self, session: &Session, key: TypedValue) -> Result<Option<Row>> {
        let key = self.key()?.parameter(key);
        // With the scopes it is refused if they contain foreign code, as all queries of the index are.
        self.of_key(session, Purpose::Stored, &[key], |Columns { document, scopes, predicate }| {
            std::iter::once(document).chain(predicate).chain(scopes).collect()
        })
    }

    /// A row with the stored form of a key, which may differ from an equal key; `None` if the caller cannot see the
    /// key's row.
    pub fn stored_key(&self, session: &Session, key: TypedValue) -> Result<Option<Row>> {
        let of_key = self.key()?;
        let values = [of_key.parameter(key)];
        let row = self.of_key(session, Purpose::StoredKey, &values, |_| vec![of_key.name()])?;
        Ok(row.filter(|row| row.get(1).is_some_and(|key| key.is_of(of_key.base_type))))
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
    pub fn scope<'c>(&self, call: &'c Call, argument: usize) -> Result<Option<Vec<Parameter<'c>>>> {
        let Some(given) = call.value(argument) else {
            // An omitted argument is a constant.
            if !call.is_constant(argument) {
                return Ok(None);
            }
            return if self.scopes.is_empty() { Ok(Some(Vec::new())) } else { Err(self.lacks_scope(None)) };
        };
        let values: Vec<_> = match catalog::element_type(given.type_oid()) {
            Oid::INVALID => vec![Some(given)],
            _ => given.elements().collect(),
        };
        if values.len() != self.scopes.len() {
            return Err(self.lacks_scope(Some(values.len())));
        }
        let mut scope = Vec::new();
        for (value, type_oid) in values.into_iter().zip(&self.scopes) {
            let Some(value) = value else { return Ok(None) };
            let value = row_key::converted(value, catalog::base_type(*type_oid), "scope", SCOPE)?;
            memory::push(&mut scope, Parameter::new(*type_oid, Some(value)))?;
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
