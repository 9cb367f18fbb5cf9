//! An index that is asked: its description, its key, and its operator as an expression over its table.

use std::rc::Rc;

use pgrx::pg_sys::{self, Oid};
use pgrx::prelude::*;

use crate::document::kind::Kind;
use crate::error::{Result, SqlError, error, not_supported};
use crate::extension::{Extension, missing, own};
use crate::index::info::Info;
use crate::options::IndexOptions;
use crate::pg::expression::{self, Expression, Expressions};
use crate::pg::names::{relation_name, visible_name};
use crate::pg::relation::{Lock, Relation};
use crate::row_key::{Key, NoKey};
use crate::side_table::SideTable;

/// An index of the access method, ready to be asked.
pub struct Indexed {
    /// Its document, scopes and predicate.
    pub info: Info,
    /// The options by which its documents are cut, signed and banded.
    pub options: Rc<IndexOptions>,
    /// The column that names a row of the table.
    pub key: std::result::Result<Key, NoKey>,
    /// The extension that it belongs to.
    pub extension: Extension,
    /// The types of its scopes, as the table has them.
    pub scopes: Vec<Oid>,
    /// True if its table has others, among which the planner has to choose.
    pub has_rivals: bool,
    /// The side table that has the signatures, where the index is of those and not of the table itself.
    pub side: Option<SideTable>,
}

impl Indexed {
    /// Opens the index of that OID, and locks its table.
    pub fn load(oid: Oid, extension: Extension) -> Result<Self> {
        let gone = || {
            let message = format!("relation with OID {} does not exist", oid.to_u32());
            error(PgSqlErrorCode::ERRCODE_UNDEFINED_TABLE, message)
        };
        let info = Info::open(oid).ok_or_else(gone)?;
        info.check_valid()?;
        let table = Relation::open(info.index.table, Lock::Read).ok_or_else(gone)?;
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

    /// A value like those that are indexed as a document, with the options of the index.
    pub fn document<'a>(
        &self,
        expressions: &'a Expressions,
        value: Expression<'a>,
        least: Expression<'a>,
    ) -> Result<Expression<'a>> {
        let (name, types, arguments) = match self.info.kind {
            Kind::Text => {
                let config = &self.options.config;
                let arguments = vec![
                    expressions.relabelled(value, pg_sys::TEXTOID),
                    least,
                    expressions.int4(i32::try_from(config.shingle_size()).unwrap_or(i32::MAX)),
                    expressions.text(config.unit().as_str()),
                    expressions.text(&config.normalization().to_string()),
                    expressions.text(&config.stop_words().to_string()),
                    expressions.bool(config.bag()),
                ];
                let types = arguments.iter().map(|argument| argument.type_oid()).collect();
                (c"minlsh_document", types, arguments)
            }
            Kind::Set => {
                let types = vec![pg_sys::ANYARRAYOID, pg_sys::FLOAT8OID];
                (c"minlsh_document", types, vec![value, least])
            }
            Kind::Signature => {
                let value = expressions.relabelled(value, pg_sys::INT4ARRAYOID);
                let types = vec![pg_sys::INT4ARRAYOID, pg_sys::FLOAT8OID];
                (c"minlsh_signature", types, vec![value, least])
            }
            Kind::Document => {
                return Ok(expressions.relabelled(value, self.extension.document));
            }
            Kind::Passage => return Err(missing()),
        };
        let function = own(expression::function(self.extension.schema, name, &types))?;
        Ok(expressions.call(function, self.extension.document, &arguments))
    }

    /// The type of the left operand of `~=`, and the value as one of that type.
    fn operand<'a>(
        &self,
        expressions: &'a Expressions,
        value: Expression<'a>,
    ) -> (Oid, Expression<'a>) {
        match self.info.kind {
            Kind::Text => (pg_sys::TEXTOID, expressions.relabelled(value, pg_sys::TEXTOID)),
            Kind::Document => (self.extension.document, value),
            _ => (pg_sys::ANYARRAYOID, value),
        }
    }

    /// `value ~= document`
    pub fn similar<'a>(
        &self,
        expressions: &'a Expressions,
        value: Expression<'a>,
        document: Expression<'a>,
    ) -> Result<Expression<'a>> {
        let (operand, value) = self.operand(expressions, value);
        let operator =
            expression::operator(self.extension.schema, c"~=", operand, self.extension.document);
        Ok(expressions.operator(own(operator)?, value, document))
    }

    /// `jaccard(value, document)`
    pub fn similarity<'a>(
        &self,
        expressions: &'a Expressions,
        value: Expression<'a>,
        document: Expression<'a>,
    ) -> Result<Expression<'a>> {
        let (operand, value) = self.operand(expressions, value);
        let types = [operand, self.extension.document];
        let function = expression::function(self.extension.schema, c"jaccard", &types);
        let function = own(function)?;
        Ok(expressions.call(function, pg_sys::FLOAT8OID, &[value, document]))
    }
}

fn no_key(info: &Info, cause: NoKey) -> SqlError {
    let (name, table) = (relation_name(info.index.table), visible_name(info.index.table));
    let message = match cause {
        NoKey::Composite => format!("the primary key of table \"{name}\" has several columns"),
        NoKey::Missing => format!("table \"{name}\" has no key of one column"),
    };
    not_supported(message)
        .set_detail("The key of a document must be one column that is unique and NOT NULL.")
        .set_hint(format!(
            "Query the table: SELECT b.* FROM {table} AS a JOIN {table} AS b ON b.{body} ~= \
             minlsh_document(a.{body}, 0.9) WHERE ...",
            body = info.body_name(),
        ))
}
