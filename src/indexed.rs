//! An index that is asked, by lookups, audits and whole-corpus jobs: its description, its key, and its operator as SQL
//! over its table.

use std::ffi::CStr;
use std::rc::Rc;

use crate::document::kind::Kind;
use crate::index::info::Info;
use crate::options::IndexOptions;
use crate::pg::call::Extension;
use crate::pg::names::relation_name;
use crate::pg::rights::no_such_relation;
use crate::prelude::*;
use crate::row_key::{Key, NoKey};
use crate::side_table::SideTable;

/// An index of the access method, ready to be asked.
pub struct Indexed {
    /// Its document, scopes and predicate.
    pub info: Info,
    /// The options by which its documents are cut, signed and banded.
    pub options: Rc<IndexOptions>,
    /// The column that names a row of the table.
    pub key: Result<Key, NoKey>,
    pub extension: Extension,
    /// The types of its scopes, as the table has them.
    pub scopes: Vec<Oid>,
    /// True if its table has others, among which the planner has to choose.
    pub has_rivals: bool,
    /// The side table that has the signatures, where the index is of those and not of the table itself.
    pub side: Option<SideTable>,
}

/// An index of documents, and the side table whose signatures it is of, if it is; `None` for anything else.
pub fn of_documents(index: Oid) -> Result<Option<(Info, Option<SideTable>)>> {
    let Some(info) = Info::open(index) else { return Ok(None) };
    if info.kind == Kind::Passage {
        return Err(info.of_passages());
    }
    let side = SideTable::of_index(&info)?;
    Ok(Some((info, side)))
}

impl Indexed {
    /// Opens the index of that OID, and locks its table.
    pub fn open(oid: Oid, extension: Extension) -> Result<Self> {
        Self::of_index(Info::open(oid).ok_or_else(|| no_such_relation(oid))?, extension)
    }

    /// The same of an index that was found.
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

    /// The texts that a side table has the signatures of.
    pub fn of_side_table(side: SideTable, extension: Extension) -> Self {
        let (name, table) = (relation_name(side.storage), side.table.oid);
        Self {
            info: Info::of_texts(side.index, name, table, &side.body),
            options: side.options.clone(),
            key: Key::of_column(table, side.key.number).ok_or(NoKey::Missing),
            extension,
            scopes: Vec::new(),
            // The keys that are looked up are known.
            has_rivals: false,
            side: Some(side),
        }
    }

    /// The name that messages show.
    pub fn name(&self) -> &str {
        &self.info.index.name
    }

    /// The table.
    pub fn table(&self) -> Oid {
        self.info.index.table
    }

    /// True if it is of the table's own rows alone, and not of those of tables that inherit from it: a side table is.
    pub fn is_of_own_rows(&self) -> bool {
        self.side.as_ref().is_some_and(|side| !side.table.is_partitioned())
    }

    /// The key, or an error that shows what to do without one.
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

    /// A value like those that are indexed, made a document with the options of the index, and with the parameter
    /// `least` as its threshold.
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

    /// A call of a function of the extension.
    fn own(&self, function: &CStr, arguments: &[Sql]) -> Sql {
        let called = Sql::default().qualified(self.extension.schema, function);
        called.text("(").list(arguments, ", ").text(")")
    }

    /// A value as the type that functions and operators of the extension take; an array is taken as it is.
    fn operand(&self, value: Sql) -> Sql {
        match self.info.kind {
            Kind::Text | Kind::Passage => value.cast(pg_sys::TEXTOID),
            Kind::Document => value.cast(self.extension.document),
            Kind::Set | Kind::Signature => value,
        }
    }

    /// The owner of code in its queries, as messages show it, if some may be other people's: its expressions, or an
    /// operator that somebody has made for arrays of one type.
    pub fn code_of(&self) -> Option<String> {
        let is_own =
            self.info.has_only_columns() && matches!(self.info.kind, Kind::Text | Kind::Document | Kind::Passage);
        (!is_own).then(|| format!("index \"{}\"", self.name()))
    }
}

/// The columns of an index as SQL over its table.
pub struct Columns {
    /// The document, of the type that the operator takes.
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
