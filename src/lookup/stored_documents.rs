//! The stored documents behind an index, read as the caller.

use std::rc::Rc;

use pgrx::pg_sys::{self, Datum, Oid};

use crate::document::kind::Kind;
use crate::error::Result;
use crate::lookup::indexed::Indexed;
use crate::lookup::session_cache::{self, Purpose};
use crate::pg::expression::{Expression, Expressions};
use crate::pg::spi::{Parameter, Rows, Session};
use crate::pg::table_query::{Direction, Parts, TableQuery};
use crate::row_key::Key;

/// The documents of an index.
pub struct StoredDocuments<'a> {
    index: &'a Indexed,
    key: Key,
}

/// A document, as it is read.
pub struct StoredDocument<'a> {
    /// The key, of its base type.
    pub key: Datum,
    /// The key as text.
    pub name: &'a str,
    /// The values of the scopes.
    pub scopes: &'a [Option<Datum>],
    /// The document, not NULL, of the type that [`StoredDocuments::value_type`] says.
    pub value: Datum,
}

impl<'a> StoredDocuments<'a> {
    /// The documents of an index that is asked.
    pub fn of(index: &'a Indexed) -> Result<Self> {
        index.info.check_code()?;
        Ok(Self { index, key: index.key()? })
    }

    /// The kind of its values.
    pub fn values(&self) -> Kind {
        self.index.info.kind
    }

    /// The row of that key; none if the caller cannot see it. Its first column is the document. The second one is
    /// the predicate, if the index is partial.
    ///
    /// # Safety
    /// `key` must be of the base type of the key of the index, and live until this returns.
    pub unsafe fn row<'s>(&self, session: &'s Session, key: Datum) -> Result<Rows<'s>> {
        // SAFETY: the caller promises a key of that base type; the index is the one that `self.key` is of.
        let key = unsafe { self.key.parameter(key) };
        self.value_query(session)?.rows(session, &[key])
    }

    /// The type of the documents as they are read.
    pub fn value_type(&self) -> Oid {
        self.body(&Expressions::new()).type_oid()
    }

    fn value_query(&self, session: &Session) -> Result<Rc<TableQuery>> {
        let place = (self.index.info.index.oid, Purpose::Value, Oid::INVALID);
        session_cache::query(self.index.table(), place, || {
            let expressions = Expressions::new();
            let predicate = self.index.info.columns(&expressions).predicate;
            TableQuery::prepare(
                session,
                &Parts {
                    table: Some(self.index.table()),
                    only: self.index.is_of_own_rows(),
                    columns: std::iter::once(self.body(&expressions)).chain(predicate).collect(),
                    conditions: vec![self.key.equals(&expressions, 1)],
                    parameters: vec![self.key.base_type],
                    ..Parts::default()
                },
            )
        })
    }

    /// Calls `visit` with each document that has a text.
    pub fn each(
        &self,
        session: &Session,
        visit: &mut dyn FnMut(&StoredDocument) -> Result<()>,
    ) -> Result<()> {
        self.read(session, None, visit)
    }

    /// Calls `visit` with `count` documents, the first in the order of a hash of their keys: the
    /// same seed takes the same ones.
    pub fn sample(
        &self,
        session: &Session,
        seed: i64,
        count: i32,
        visit: &mut dyn FnMut(&StoredDocument) -> Result<()>,
    ) -> Result<()> {
        self.read(session, Some((seed, count)), visit)
    }

    fn read(
        &self,
        session: &Session,
        sample: Option<(i64, i32)>,
        visit: &mut dyn FnMut(&StoredDocument) -> Result<()>,
    ) -> Result<()> {
        let expressions = Expressions::new();
        let key = expressions.column(self.index.table(), self.key.column);
        let name = expressions.as_text(expressions.relabelled(key, self.key.base_type));
        let body = self.body(&expressions);
        let mut columns = vec![expressions.relabelled(key, self.key.base_type), name, body];
        let scopes = self.index.info.columns(&expressions).scopes;
        columns.extend(&scopes);
        let conditions = std::iter::once(expressions.is_not_null(body))
            .chain(self.index.info.columns(&expressions).predicate);
        let mut parts = Parts {
            table: Some(self.index.table()),
            only: self.index.is_of_own_rows(),
            columns,
            conditions: conditions.collect(),
            ..Parts::default()
        };
        let mut values = Vec::new();
        if let Some((seed, count)) = sample {
            let hash = Oid::from(pg_sys::F_HASHTEXTEXTENDED);
            let seeded = expressions.parameter(1, pg_sys::INT8OID);
            let hash = expressions.call(hash, pg_sys::INT8OID, &[name, seeded]);
            parts.order = vec![(hash, Direction::Ascending), (key, Direction::Ascending)];
            parts.limit = Some(expressions.parameter(2, pg_sys::INT8OID));
            parts.parameters = vec![pg_sys::INT8OID, pg_sys::INT8OID];
            values = vec![Parameter::int8(seed), Parameter::int8(count.into())];
        }
        let query = TableQuery::prepare(session, &parts)?;
        let value_type = body.type_oid();
        let cursor = query.cursor(session, &values)?;
        cursor.each(|rows, row| {
            let key = rows.value(row, 1, self.key.base_type)?;
            let (name, value) = (rows.text(row, 2)?, rows.value(row, 3, value_type)?);
            let (Some(key), Some(name), Some(value)) = (key, name, value) else { return Ok(()) };
            let mut values = Vec::new();
            for (scope, column) in scopes.iter().zip(4..) {
                values.push(rows.value(row, column, scope.type_oid())?);
            }
            visit(&StoredDocument { key, name, scopes: &values, value })
        })
    }

    fn body<'e>(&self, expressions: &'e Expressions) -> Expression<'e> {
        let body = self.index.info.columns(expressions).document;
        match self.values() {
            Kind::Text => expressions.relabelled(body, pg_sys::TEXTOID),
            _ => body,
        }
    }

    /// The types and collations of the scopes.
    pub fn scope_types(&self) -> Vec<(Oid, Oid)> {
        let expressions = Expressions::new();
        let scopes = self.index.info.columns(&expressions).scopes.into_iter();
        scopes.map(|scope| (scope.type_oid(), scope.collation())).collect()
    }
}
