//! The columns of a source: its key, its document, and those by which documents are grouped, scopes, within which they
//! are compared, and their origin, which `boilerplate` names.

use std::ffi::CString;

use crate::corpus::source::arguments::{Arguments, label, raw_text};
use crate::corpus::source::{Source, has_heirs, new_name, place};
use crate::document::kind::Kind;
use crate::error::JOINED;
use crate::index::info::Info;
use crate::pg::names::{quoted, regclass_literal, relation_name, type_label, visible_name};
use crate::pg::select::SelectColumn;
use crate::pg::sql;
use crate::prelude::*;
use crate::row_key::Key;

impl Source {
    /// Chooses the columns by which documents are grouped: those of an index, and what the call says.
    pub fn choose_groupings(&mut self, arguments: &Arguments) -> Result<()> {
        self.scopes.extend(self.column_given(arguments, "scope")?);
        self.origin = self.origin_given(arguments)?;
        Ok(())
    }

    pub fn scope_types(&self) -> Vec<(Oid, Oid)> {
        self.scopes.iter().map(|place| self.column_type(*place)).collect()
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
    fn origin_given(&self, arguments: &Arguments) -> Result<Option<Option<usize>>> {
        if arguments.text("boilerplate")? == Some("*") {
            return Ok(Some(None));
        }
        let place = self.column_given(arguments, "boilerplate")?;
        place.into_iter().try_for_each(|place| self.check_column(place))?;
        Ok(place.map(Some))
    }

    fn check_column(&self, place: usize) -> Result<()> {
        let SelectColumn { name, type_oid, .. } = &self.columns[place];
        let column = || format!("column \"{}\" of {}", label(name), self.argument);
        check_type(*type_oid, column, "Cast it to text in a query.")
    }

    /// The columns that are read beside key and document: those of scopes, and then that of the origin.
    pub fn groupings(&self) -> impl Iterator<Item = usize> {
        self.scopes.iter().copied().chain(self.origin.flatten())
    }

    /// The type and collation of the column of the origin: none if it is the same for all; `None` if all counts.
    pub fn origin_type(&self) -> Option<Vec<(Oid, Oid)>> {
        let column = |place| self.column_type(place);
        self.origin.map(|origin| origin.map(column).into_iter().collect())
    }

    /// Names that a query has given twice become new ones.
    pub fn name_columns(&mut self) {
        let given: Vec<CString> = self.columns.iter().map(|column| column.name.clone()).collect();
        for place in 0..self.columns.len() {
            if given.iter().filter(|name| **name == given[place]).count() > 1 {
                self.columns[place].name = self.new_name(&format!("column{}", place + 1));
            }
        }
        let mut from = std::mem::take(&mut self.from).text(" AS d(");
        for (place, column) in self.columns.iter().enumerate() {
            from = from.text(if place > 0 { ", " } else { "" }).name(&column.name);
        }
        self.from = from.text(")");
    }

    pub fn new_name(&self, name: &str) -> CString {
        let names: Vec<String> = self.columns.iter().map(|column| label(&column.name)).collect();
        new_name(names.iter().map(String::as_str), name)
    }

    /// Chooses the column of the keys: the one that was passed, or the usual one.
    pub fn choose_key(
        &mut self,
        arguments: &Arguments,
        relation: &Relation,
        usual: impl FnOnce() -> Option<Key>,
    ) -> Result<()> {
        let key = match self.column_given(arguments, "key_column")? {
            Some(key) => {
                self.key = key;
                let column = relation.columns.get(key).map_or(0, |column| column.number);
                Key::of_column(relation.oid, column)
            }
            None => {
                let key = usual().ok_or_else(|| {
                    not_supported(format!("\"{}\" has no primary key of one column", relation.name))
                        .set_hint(
                            "Pass a unique column with key_column => '...', or write a query, which may \
                             combine several columns.",
                        )
                })?;
                self.key = place(relation, key.column);
                Some(key)
            }
        };
        // A NULL key is found where all rows are read.
        let is_not_null = relation.columns.get(self.key).is_some_and(|column| column.not_null);
        // Tables that inherit from it are read as well, and have keys of their own.
        self.key_is_unique = key.is_some() && is_not_null && !has_heirs(relation);
        Ok(())
    }

    /// The only column of a table that can be the document: of text or of documents, else of arrays. Those that are
    /// named as key, scope or origin do not count.
    pub fn only_document(&self, arguments: &Arguments, relation: &Relation) -> Result<usize> {
        let key = self.column_given(arguments, "key_column")?;
        let of = |wanted: &[Kind], key: Option<usize>| -> Vec<usize> {
            let is_it = |place: &usize| {
                let kind =
                    Kind::of_type(self.columns[*place].type_oid, arguments.extension.document);
                kind.is_some_and(|kind| wanted.contains(&kind)) && Some(*place) != key
            };
            (0..self.columns.len()).filter(is_it).collect()
        };
        let found = |key: Option<usize>| {
            let texts = of(&[Kind::Text, Kind::Document], key);
            if texts.is_empty() { of(&[Kind::Set], key) } else { texts }
        };
        let of_table = |document| {
            let key = Key::of_table(relation.oid, relation.kind, document).ok();
            key.map(|key| place(relation, key.column))
        };
        let mut places = found(key.or_else(|| of_table(0)));
        if places.is_empty() && key.is_none() {
            // It is the document, and another column the key.
            places = found(None);
        }
        if places.len() > 1 {
            // What says where a document belongs is not the document.
            let origin = self.origin_given(arguments)?.flatten();
            let scope = self.column_given(arguments, "scope")?;
            places.retain(|place| ![origin, scope].contains(&Some(*place)));
        }
        let name = &relation.name;
        match places[..] {
            [body] => Ok(body),
            [] => Err(invalid_parameter(format!("\"{name}\" has no text column"))
                .set_hint("Pass the document column with body => '...', or write a query.")),
            _ => {
                let columns: Vec<_> = places.iter().map(|&i| self.columns[i].clone()).collect();
                let indexes: Vec<String> = Info::of_table(relation.oid)
                    .iter()
                    .map(|info| regclass_literal(info.index.oid))
                    .collect();
                let index = if indexes.is_empty() {
                    "join several in a query".to_owned()
                } else {
                    format!("name an index instead of the table: {}", indexes.join(", "))
                };
                Err(invalid_parameter(format!(
                    "\"{name}\" has {} text columns: {}",
                    places.len(),
                    list(&columns)
                ))
                .set_hint(format!("Pass the document column with body => '...', or {index}.")))
            }
        }
    }

    /// The place of the column that an argument names as SQL does, folded to lower case, or quoted; `None` if it was
    /// not passed.
    pub fn column_given(&self, arguments: &Arguments, argument: &str) -> Result<Option<usize>> {
        let Some(datum) = arguments.raw(argument) else { return Ok(None) };
        let raw = raw_text(datum)?;
        let name = sql::identifier(&raw)?;
        let is_it = |column: &SelectColumn| column.name == *name.as_ref().unwrap_or(&raw);
        self.columns.iter().position(is_it).map(Some).ok_or_else(|| {
            let of = self
                .relation
                .map_or_else(|| self.argument.to_owned(), |oid| format!("\"{}\"", relation_name(oid)));
            let report = error(
                PgSqlErrorCode::ERRCODE_UNDEFINED_COLUMN,
                format!("{argument}: {of} has no column \"{}\"", label(name.as_ref().unwrap_or(&raw))),
            );
            match (name, self.relation) {
                (None, Some(relation)) if argument == "scope" => report.set_hint(format!(
                    "Name one column, or write a query that makes one of several, as in $$SELECT id, body, \
                     concat_ws(',', tenant, lang) AS scope FROM {}$$ with scope => 'scope'.",
                    visible_name(relation)
                )),
                (None, Some(_)) => report.set_hint(format!(
                    "Write a query for an expression, as in $$SELECT id, {JOINED} FROM {}$$.",
                    self.relation.map(visible_name).unwrap_or_default()
                )),
                _ => report.set_hint(format!("Use one of its columns: {}.", list(&self.columns))),
            }
        })
    }

    /// The kind of the documents, once the types of all columns that are used are known to be those of values.
    pub fn checked_kind(&self, arguments: &Arguments) -> Result<Kind> {
        let mut used = [self.key, self.body].into_iter().chain(self.scopes.iter().copied());
        used.try_for_each(|place| self.check_column(place))?;
        let SelectColumn { name, type_oid, .. } = &self.columns[self.body];
        let wrong = |hint: &str| {
            let (name, type_label) = (label(name), type_label(*type_oid));
            let message = format!(
                "column \"{name}\" of {} is of type {type_label}, not text, an array or a document",
                self.argument
            );
            error(PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH, message).set_hint(hint)
        };
        let kind = Kind::of_type(*type_oid, arguments.extension.document)
            .ok_or_else(|| wrong("Cast it to text in a query."))?;
        if kind == Kind::Set {
            element::check(catalog::base_element_type(*type_oid))?;
        }
        Ok(kind)
    }

    pub fn key_column(&self) -> (Oid, Oid) {
        self.column_type(self.key)
    }

    pub fn column_type(&self, place: usize) -> (Oid, Oid) {
        (self.columns[place].type_oid, self.columns[place].collation)
    }
}

/// Refuses a pseudo-type, such as `cstring` or `anyarray`, before a value of it is touched. None can be stored, and
/// what the catalogs say of their length, order and elements does not hold. Records and arrays of records describe
/// themselves. `what` has that type, and `hint` says what to use instead.
pub fn check_type(type_oid: Oid, what: impl Fn() -> String, hint: &str) -> Result<()> {
    let is_record = [pg_sys::RECORDOID, pg_sys::RECORDARRAYOID].contains(&type_oid);
    if is_record || catalog::type_kind(type_oid) != pg_sys::TYPTYPE_PSEUDO {
        return Ok(());
    }
    let message = format!("{} is of pseudo-type {}", what(), type_label(type_oid));
    Err(error(PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH, message).set_hint(hint))
}

pub type ColumnTypes = Vec<(Oid, Oid)>;

/// The types and collations of the columns that an argument names, the same of all sources.
pub fn common(
    argument: &str,
    sources: &[Source],
    of: fn(&Source) -> Option<ColumnTypes>,
) -> Result<ColumnTypes> {
    let all = || sources.iter().map(|source| of(source).unwrap_or_default());
    let first = all().next().unwrap_or_default();
    let Some(other) = all().find(|other| *other != first) else { return Ok(first) };
    let shown = |scopes: &[(Oid, Oid)]| match scopes {
        [] => "none".to_owned(),
        _ => scopes.iter().map(|(oid, _)| type_label(*oid)).collect::<Vec<_>>().join(", "),
    };
    let (first, other) = (shown(&first), shown(&other));
    let message = format!("{argument} columns have different types, {first} and {other}");
    Err(error(PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH, message)
        .set_hint("Cast them in a query, or compare tables instead of indexes."))
}

fn list(columns: &[SelectColumn]) -> String {
    let names: Vec<String> = columns.iter().map(|column| quoted(&label(&column.name))).collect();
    names.join(", ")
}
