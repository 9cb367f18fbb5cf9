//! The stored documents behind an index, read as the caller.

use std::rc::Rc;

use pgrx::pg_sys::{self, Datum, Oid};
use sketch::memory;

use crate::document::kind::Kind;
use crate::error::{Result, engine};
use crate::lookup::find::Target;
use crate::lookup::indexed::Indexed;
use crate::lookup::session_cache::{self, Purpose};
use crate::pg::expression::{Expression, Expressions};
use crate::pg::lossless;
use crate::pg::spi::{Parameter, Rows, Session};
use crate::pg::table_query::{Direction, Parts, TableQuery};
use crate::row_key::Key;
use crate::side_table::SideTable;

/// The documents of an index.
pub struct Documents<'a> {
    /// The user's table.
    table: Oid,
    key: Key,
    origin: Origin<'a>,
}

/// Where the documents are.
enum Origin<'a> {
    /// What an index has as its document.
    Index(&'a Indexed),
    /// What a side table is of.
    Side(&'a SideTable),
}

/// A document, as it is read.
pub struct Stored<'a> {
    /// The key, of its base type.
    pub key: Datum,
    /// The key as text.
    pub name: &'a str,
    /// The values of the scopes.
    pub scopes: &'a [Option<Datum>],
    /// The document, not NULL, of the type that [`Documents::value_type`] says.
    pub value: Datum,
}

impl<'a> Documents<'a> {
    /// The documents of what is asked.
    pub fn of(target: &'a Target, key: Key) -> Self {
        match target {
            Target::Side(side) => Self::of_side_table(side, key),
            Target::Index(index) => {
                Self { table: index.table(), key, origin: Origin::Index(index) }
            }
        }
    }

    /// The texts behind a side table.
    pub fn of_side_table(side: &'a SideTable, key: Key) -> Self {
        Self { table: side.table.oid, key, origin: Origin::Side(side) }
    }

    /// What its values are.
    pub fn values(&self) -> Kind {
        match self.origin {
            Origin::Index(index) => index.info.kind,
            Origin::Side(_) => Kind::Text,
        }
    }

    /// The text of a document, `None` if the caller cannot see it; a NULL is an empty text.
    pub fn text(&self, session: &Session, key: Datum) -> Result<Option<String>> {
        let rows = self.row(session, key)?;
        if rows.is_empty() {
            return Ok(None);
        }
        let value = rows.value(0, 1, pg_sys::TEXTOID)?;
        // SAFETY: checked to be a text, which lives as long as the rows.
        let text = value.map(|value| unsafe { lossless::read(value) }).transpose()?;
        memory::owned(&text.unwrap_or_default()).map(Some).map_err(engine)
    }

    /// The row of that key, of one column, the document; none if the caller cannot see it.
    pub fn row<'s>(&self, session: &'s Session, key: Datum) -> Result<Rows<'s>> {
        self.value_query(session)?.rows(session, &[self.key.parameter(Some(key))])
    }

    /// The type of the documents as they are read.
    pub fn value_type(&self) -> Oid {
        self.body(&Expressions::new()).type_oid()
    }

    fn value_query(&self, session: &Session) -> Result<Rc<TableQuery>> {
        let place = (self.asked(), Purpose::Value, Oid::INVALID);
        session_cache::query(self.table, place, || {
            let expressions = Expressions::new();
            TableQuery::prepare(
                session,
                &Parts {
                    table: Some(self.table),
                    columns: vec![self.body(&expressions)],
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
        visit: &mut dyn FnMut(&Stored) -> Result<()>,
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
        visit: &mut dyn FnMut(&Stored) -> Result<()>,
    ) -> Result<()> {
        self.read(session, Some((seed, count)), visit)
    }

    fn read(
        &self,
        session: &Session,
        sample: Option<(i64, i32)>,
        visit: &mut dyn FnMut(&Stored) -> Result<()>,
    ) -> Result<()> {
        let expressions = Expressions::new();
        let key = expressions.column(self.table, self.key.column);
        let name = expressions.as_text(expressions.relabelled(key, self.key.base_type));
        let body = self.body(&expressions);
        let mut columns = vec![expressions.relabelled(key, self.key.base_type), name, body];
        let scopes = self.scopes(&expressions);
        columns.extend(&scopes);
        let conditions =
            std::iter::once(expressions.is_not_null(body)).chain(self.predicate(&expressions));
        let mut parts = Parts {
            table: Some(self.table),
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
            visit(&Stored { key, name, scopes: &values, value })
        })
    }

    /// The relation that was asked.
    fn asked(&self) -> Oid {
        match self.origin {
            Origin::Index(index) => index.info.index.oid,
            Origin::Side(side) => side.storage,
        }
    }

    fn body<'e>(&self, expressions: &'e Expressions) -> Expression<'e> {
        let body = match self.origin {
            Origin::Index(index) => index.info.columns(expressions).document,
            Origin::Side(side) => expressions.column(self.table, side.body.number),
        };
        match self.values() {
            Kind::Text => expressions.relabelled(body, pg_sys::TEXTOID),
            _ => body,
        }
    }

    fn predicate<'e>(&self, expressions: &'e Expressions) -> Option<Expression<'e>> {
        match self.origin {
            Origin::Index(index) => index.info.columns(expressions).predicate,
            Origin::Side(_) => None,
        }
    }

    fn scopes<'e>(&self, expressions: &'e Expressions) -> Vec<Expression<'e>> {
        match self.origin {
            Origin::Index(index) => index.info.columns(expressions).scopes,
            Origin::Side(_) => Vec::new(),
        }
    }

    /// The types and collations of the scopes.
    pub fn scope_types(&self) -> Vec<(Oid, Oid)> {
        let expressions = Expressions::new();
        let scopes = self.scopes(&expressions).into_iter();
        scopes.map(|scope| (scope.type_oid(), scope.collation())).collect()
    }
}
