//! The stored documents behind an index, read as the caller.

use pgrx::pg_sys::{Datum, Oid};

use crate::document::kind::Kind;
use crate::error::Result;
use crate::indexed::{Columns, Indexed};
use crate::lookup::session_cache::Purpose;
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
        Ok(Self { index, key: index.key()? })
    }

    /// The kind of its values.
    pub fn values(&self) -> Kind {
        self.index.info.kind
    }

    /// The row of that key; none if the caller cannot see it. Its first column is the document. The second one is
    /// the predicate, if the index is partial; behind them are the scopes.
    ///
    /// # Safety
    /// `key` must be of the base type of the key of the index, and live until this returns.
    pub unsafe fn row<'s>(&self, session: &'s Session, key: Datum) -> Result<Rows<'s>> {
        let query = self.index.query(Purpose::Value, Oid::INVALID, || {
            // The scopes have it refused, as all queries of the index are, if they have code of strangers.
            let Columns { document, scopes, predicate } = self.index.columns(session)?;
            TableQuery::prepare(
                session,
                &Parts {
                    columns: std::iter::once(document).chain(predicate).chain(scopes).collect(),
                    conditions: vec![self.key.equals(self.key.name(), 1)],
                    parameters: vec![self.key.base_type],
                    ..self.index.parts()
                },
            )
        })?;
        // SAFETY: the caller promises a key of that base type; the index is the one that `self.key` is of.
        query.rows(session, &[unsafe { self.key.parameter(key) }])
    }
}
