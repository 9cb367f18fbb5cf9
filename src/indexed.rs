//! An index that lookups, audits and whole-corpus jobs query: its description, its key, and its operator as SQL over
//! its table.

use std::ffi::CStr;
use std::rc::Rc;

use crate::document::kind::Kind;
use crate::index::info::Info;
use crate::options::IndexOptions;
use crate::pg::call::Extension;
use crate::prelude::*;
use crate::row_key::{Key, NoKey};
use crate::side_table::SideTable;

/// An index of the access method, ready for queries.
pub struct Indexed {
    /// Its document, scopes and predicate.
    pub info: Info,
    /// The options by which its documents are split, signed and banded.
    pub options: Rc<IndexOptions>,
    /// The column that names a row of the table.
    pub key: Result<Key, NoKey>,
    pub extension: Extension,
    /// The types of its scopes, read from the table.
    pub scopes: Vec<Oid>,
    /// True if its table has other indexes that the planner may choose.
    pub has_rivals: bool,
    /// The side table that stores the signatures, if the index is on them and not on the table itself.
    pub side: Option<SideTable>,
}

/// Describes an index of documents, with its side table if it is on a side table's signatures; `None` for other
/// indexes.
pub fn of_documents(index: Oid) -> Result<Option<(Info, Option<SideTable>)>> {
    let Some(info) = Info::open(index) else { return Ok(None) };
    if info.kind == Kind::Passage {
        return Err(info.of_passages());
    }
    let side = SideTable::of_index(&info)?;
    Ok(Some((info, side)))
}

impl Indexed {
    /// Opens an index by its OID, and locks its table.
    pub fn open(oid: Oid, extension: Extension) -> Result<Self> {
        Self::of_index(Info::open(oid).ok_or_else(|| no_such_relation(oid))?, extension)
    }

    /// Completes the description of an index that was found.
    pub fn of_index(info: Info, extension: Extension) -> Result<Self> {
        info.check_valid()?;
        let table = Relation::open(info.index.table, Lock::Read);
        let table = table.ok_or_else(|| no_such_relation(info.index.oid))?;
        Ok(Self {
            options: info.current_options()?,
            key: Key::of_table(table.oid, table.kind, info.document()),
            scopes: info.scope_types(),
            has_rivals: Info::of_table(table.oid).len() > 1,
            extension,
            info,
            side: None,
        })
    }

    /// Describes the texts whose signatures are in a side table.
    pub fn of_side_table(side: SideTable, extension: Extension) -> Self {
        let (name, table) = (relation_name(side.storage), side.table.oid);
        Self {
            info: Info::of_texts(side.index, name, table, &side.body),
            options: side.options.clone(),
            key: Key::of_column(table, side.key.number).ok_or(NoKey::Missing),
            extension,
            scopes: Vec::new(),
            // A lookup restricts the keys, so the planner has no choice.
            has_rivals: false,
            side: Some(side),
        }
    }

    /// The name, for messages.
    pub fn name(&self) -> &str {
        &self.info.index.name
    }

    /// The table.
    pub fn table(&self) -> Oid {
        self.info.index.table
    }

    /// True if it is on the table itself, and not on the signatures in a side table.
    pub fn is_on_table(&self) -> bool {
        self.side.is_none()
    }

    /// True if it covers only its table's own rows, and not the rows of inheriting tables. A side table does.
    pub fn is_of_own_rows(&self) -> bool {
        self.side.as_ref().is_some_and(|side| !side.table.is_partitioned())
    }

    /// The key, or an error that shows an alternative without a key.
    pub fn key(&self) -> Result<Key> {
        self.key.map_err(|cause| match &self.side {
            Some(side) => side.no_key(),
            None => no_key(&self.info, cause),
        })
    }

    /// Its columns as SQL over its table.
    pub fn columns(&self) -> Result<Columns> {
        let (text, table) = (self.info.text()?, self.table());
        Ok(Columns {
            document: self.operand(text.document.sql(table)),
            scopes: text.scopes.iter().map(|part| part.sql(table)).collect(),
            predicate: text.predicate.map(Sql::new),
        })
    }

    /// Converts a value of the indexed type to a document with the options of the index and the threshold in parameter
    /// `least`.
    pub fn document(&self, value: Sql, least: &str) -> Sql {
        let value = self.operand(value);
        match self.info.kind {
            Kind::Text | Kind::Passage => {
                let config = &self.options.config;
                let text = |value: &str| Sql::default().literal(value).cast(pg_sys::TEXTOID);
                let arguments = [
                    value,
                    Sql::new(least),
                    Sql::new(config.shingle_size().to_string()),
                    text(config.unit().as_str()),
                    text(&config.normalization().to_string()),
                    text(&config.stop_words().to_string()),
                    Sql::new(config.bag().to_string()),
                ];
                self.own(c"minlsh_document", &arguments)
            }
            Kind::Set => self.own(c"minlsh_document", &[value, Sql::new(least)]),
            Kind::Signature => {
                let slots = value.cast(pg_sys::INT4ARRAYOID);
                self.own(c"minlsh_signature", &[slots, Sql::new(least)])
            }
            Kind::Document => value,
        }
    }

    /// `value ~= document`
    pub fn similar(&self, value: Sql, document: &str) -> Sql {
        let operator = Sql::new(" OPERATOR(").schema(self.extension.schema).text(".~=) ");
        value.text(operator).text(document)
    }

    /// `jaccard(value, document)`
    pub fn similarity(&self, value: Sql, document: &str) -> Sql {
        self.own(c"jaccard", &[value, Sql::new(document)])
    }

    /// Calls a function of the extension.
    fn own(&self, function: &CStr, arguments: &[Sql]) -> Sql {
        let called = Sql::default().qualified(self.extension.schema, function);
        called.text("(").list(arguments, ", ").text(")")
    }

    /// Casts a value to the type that functions and operators of the extension take; an array stays as it is.
    fn operand(&self, value: Sql) -> Sql {
        match self.info.kind {
            Kind::Text | Kind::Passage => value.cast(pg_sys::TEXTOID),
            Kind::Document => value.cast(self.extension.document),
            Kind::Set | Kind::Signature => value,
        }
    }

    /// Names, for messages, the object that foreign code in its queries may belong to: an expression, or an operator
    /// that someone has created for arrays of one type. `None` if there can be no such code.
    pub fn code_of(&self) -> Option<String> {
        let is_own =
            self.info.has_only_columns() && matches!(self.info.kind, Kind::Text | Kind::Document | Kind::Passage);
        (!is_own).then(|| format!("index \"{}\"", self.name()))
    }
}

/// The columns of an index as SQL over its table.
pub struct Columns {
    /// The document, cast to the operator's type.
    pub document: Sql,
    pub scopes: Vec<Sql>,
    /// The predicate of a partial index.
    pub predicate: Option<Sql>,
}

fn no_key(info: &Info, cause: NoKey) -> SqlError {
    not_supported(cause.message(&relation_name(info.index.table)))
        .set_detail("The key of a document must be one column that is unique and NOT NULL.")
        .set_hint(info.query_instead())
}
