//! The columns by which documents are grouped: scopes, within which they are compared, and their origin, which
//! `boilerplate` names.

use pgrx::pg_sys::{self, Oid};

use crate::corpus::arguments::{Arguments, label, raw_text};
use crate::corpus::source::{Origin, Source};
use crate::error::Result;
use crate::index::info::Info;
use crate::pg::catalog;
use crate::pg::relation::Relation;
use crate::pg::select::SelectColumn;
use crate::types;

impl Source {
    /// The column that `scope` names, if it was passed.
    pub fn scope(&self, arguments: &Arguments) -> Result<Option<usize>> {
        arguments.scope().map(|name| self.column_named(name, "scope")).transpose()
    }

    /// The types and collations of the scopes.
    pub fn scope_types(&self) -> Vec<(Oid, Oid)> {
        let column =
            |place: &usize| (self.columns[*place].type_oid, self.columns[*place].collation);
        self.scopes.iter().map(column).collect()
    }

    /// True if the scopes are the columns of an index of the table, which hashes them as they compare.
    pub fn has_scopes_of(&self, info: &Info, relation: &Relation) -> bool {
        let own = info.scope_columns().map(|column| {
            let place = relation.columns.iter().position(|own| own.number == column.attribute)?;
            let SelectColumn { type_oid, collation, .. } = self.columns[place];
            let base = catalog::base_type(type_oid);
            let as_stored = base == column.input_type
                || (base == pg_sys::VARCHAROID && column.input_type == pg_sys::TEXTOID);
            (as_stored && collation == column.collation).then_some(place)
        });
        own.collect::<Option<Vec<usize>>>().is_some_and(|own| own == self.scopes)
    }

    /// The origin of documents that `boilerplate` says, if it was passed.
    pub fn origin_given(&self, arguments: &Arguments) -> Result<Option<Origin>> {
        let Some(name) = arguments.boilerplate() else { return Ok(None) };
        if raw_text(name).to_bytes() == b"*" {
            return Ok(Some(Origin::Same));
        }
        let place = self.column_named(name, "boilerplate")?;
        let SelectColumn { name, type_oid, .. } = &self.columns[place];
        let column = || format!("column \"{}\" of {}", label(name), self.argument);
        types::check(*type_oid, column, "Cast it to text in a query.")?;
        Ok(Some(Origin::Column(place)))
    }

    /// The columns that are read beside key and document: those of scopes, and then that of the origin.
    pub fn groupings(&self) -> impl Iterator<Item = usize> {
        let origin = match self.origin {
            Some(Origin::Column(place)) => Some(place),
            Some(Origin::Same) | None => None,
        };
        self.scopes.iter().copied().chain(origin)
    }

    /// The type and collation of the column of the origin: none if it is the same for all; `None` if all counts.
    pub fn origin_type(&self) -> Option<Vec<(Oid, Oid)>> {
        let groupings = self.groupings().skip(self.scopes.len());
        let column = |place: usize| (self.columns[place].type_oid, self.columns[place].collation);
        self.origin.map(|_| groupings.map(column).collect())
    }
}
