//! The stored documents behind an index, read as the caller.

use std::rc::Rc;

use pgrx::pg_sys::{self, Datum, Oid};

use crate::document::kind::Kind;
use crate::error::Result;
use crate::lookup::indexed::Indexed;
use crate::lookup::session_cache::{self, Purpose};
use crate::pg::expression::{Expression, Expressions};
use crate::pg::spi::{Rows, Session};
use crate::pg::table_query::{Parts, TableQuery};
use crate::row_key::Key;

/// The documents of an index.
pub struct StoredDocuments<'a> {
    index: &'a Indexed,
    key: Key,
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

    fn body<'e>(&self, expressions: &'e Expressions) -> Expression<'e> {
        let body = self.index.info.columns(expressions).document;
        match self.values() {
            Kind::Text => expressions.relabelled(body, pg_sys::TEXTOID),
            _ => body,
        }
    }
}
