//! The stored documents behind an index, read as the caller.

use std::rc::Rc;

use pgrx::pg_sys::{self, Datum, Oid};
use sketch::memory;

use crate::document::to_bands::Values;
use crate::error::{Result, engine};
use crate::lookup::find::Target;
use crate::lookup::native::Native;
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
    Native(&'a Native),
    /// What a side table is of.
    Side(&'a SideTable),
}

/// A document, as it is read.
pub struct Stored<'a> {
    /// The key, of its base type.
    pub key: Datum,
    /// The key as text.
    pub name: &'a str,
    /// The values of the scope columns, as text.
    pub scope: &'a str,
    /// The document, not NULL, of the type that [`Documents::value_type`] says.
    pub value: Datum,
}

impl<'a> Documents<'a> {
    /// The documents of what is asked.
    pub fn of(target: &'a Target, key: Key) -> Self {
        match target {
            Target::Side(side) => Self::of_side_table(side, key),
            Target::Native(native) => {
                Self { table: native.index.table, key, origin: Origin::Native(native) }
            }
        }
    }

    /// The texts behind a side table.
    pub fn of_side_table(side: &'a SideTable, key: Key) -> Self {
        Self { table: side.table.oid, key, origin: Origin::Side(side) }
    }

    /// What its values are.
    pub fn values(&self) -> Values {
        match self.origin {
            Origin::Native(native) => native.values,
            Origin::Side(_) => Values::Text,
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
        let columns = vec![
            expressions.relabelled(key, self.key.base_type),
            name,
            self.scope(&expressions),
            body,
        ];
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
            let (name, value) = (rows.text(row, 2)?, rows.value(row, 4, value_type)?);
            let (Some(key), Some(name), Some(value)) = (key, name, value) else { return Ok(()) };
            let scope = rows.text(row, 3)?.unwrap_or_default();
            visit(&Stored { key, name, scope, value })
        })
    }

    /// The relation that was asked.
    fn asked(&self) -> Oid {
        match self.origin {
            Origin::Native(native) => native.index.oid,
            Origin::Side(side) => side.storage,
        }
    }

    fn body<'e>(&self, expressions: &'e Expressions) -> Expression<'e> {
        let body = match self.origin {
            Origin::Native(native) => native.columns(expressions).document,
            Origin::Side(side) => expressions.column(self.table, side.body.number),
        };
        match self.values() {
            Values::Text => expressions.relabelled(body, pg_sys::TEXTOID),
            _ => body,
        }
    }

    fn predicate<'e>(&self, expressions: &'e Expressions) -> Option<Expression<'e>> {
        match self.origin {
            Origin::Native(native) => native.columns(expressions).predicate,
            Origin::Side(_) => None,
        }
    }

    /// The scope columns as one text.
    fn scope<'e>(&self, expressions: &'e Expressions) -> Expression<'e> {
        let scope = match self.origin {
            Origin::Native(native) => native.columns(expressions).scope,
            Origin::Side(_) => Vec::new(),
        };
        let values: Vec<_> = scope.into_iter().map(|(column, _)| column).collect();
        if values.is_empty() { expressions.text("") } else { expressions.row_as_text(&values) }
    }
}
