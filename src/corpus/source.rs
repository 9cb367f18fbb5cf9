//! The argument `source`: a table, a view, an index, or a query. What its documents, keys, scopes and
//! options are is decided here.
//!
//! A source that names a table is read by what the call says, else by the defaults: its indexes only
//! make it quicker, where one serves exactly that. A source that names an index has that index's
//! document, options, scopes, predicate, threshold and banding, however it is read.

use std::cell::RefCell;
use std::ffi::{CStr, CString};
use std::rc::Rc;

use pgrx::pg_sys::{self, Oid};
use pgrx::prelude::*;

use crate::corpus::arguments::{Arguments, Criteria, label, raw_text};
use crate::corpus::aside::{Aside, Places};
use crate::corpus::buckets::Buckets;
use crate::corpus::chosen::Chosen;
use crate::corpus::named::{NAME, relation_named};
use crate::corpus::reader::Own;
use crate::corpus::row_columns::RowColumns;
use crate::corpus::statement::{from_places, is_query, order, rows, wrong_order};
use crate::document::kind::Kind;
use crate::error::{JOINED, Result, error, invalid_parameter, not_supported};
use crate::index::info::{Info, Part, Text};
use crate::indexed::{Indexed, of_documents};
use crate::options::IndexOptions;
use crate::pg::catalog;
use crate::pg::catching::Complaint;
use crate::pg::element;
use crate::pg::foreign_code::runs_restricted;
use crate::pg::names::{quoted, regclass_literal, relation_name, type_label, visible_name};
use crate::pg::open::Open;
use crate::pg::relation::{Lock, Relation, has_row_security};
use crate::pg::rights::{may_read, no_such_relation};
use crate::pg::select::{Select, SelectColumn, Stored, one_statement};
use crate::pg::spi::Session;
use crate::pg::sql::{self, Sql};
use crate::pg::tuple_store::TupleStore;
use crate::row_key::Key;
use crate::side_table::SideTable;
use crate::types;

/// A HINT on how to write a query.
fn query_hint() -> String {
    format!("Select the key first and the text second, as in $$SELECT id, {JOINED} FROM docs$$.")
}

/// The origin of a document. Documents of one origin share boilerplate.
#[derive(Clone, Copy)]
pub enum Origin {
    /// It is the same for all.
    Same,
    /// The value of the column at that place.
    Column(usize),
}

/// A source of documents.
pub struct Source {
    /// The name of the argument, for messages.
    pub argument: &'static str,
    /// The SQL behind FROM.
    pub from: Sql,
    /// The columns that it has.
    pub columns: Vec<SelectColumn>,
    /// The column of the keys, by its place.
    pub key: usize,
    /// The column of the documents.
    pub body: usize,
    /// The columns within whose equal values documents are compared.
    pub scopes: Vec<usize>,
    /// The origin of a document, if boilerplate does not count.
    pub origin: Option<Origin>,
    /// The kind of its documents.
    pub kind: Kind,
    /// The table.
    pub relation: Option<Oid>,
    /// The table's columns, if its rows can be fetched by their places.
    plain: Option<RowColumns>,
    /// True if no two rows have the same key.
    pub key_is_unique: bool,
    /// The index that was named.
    pub named: Option<Rc<Indexed>>,
    /// The options that documents carry, once they were looked at.
    pub own: RefCell<Option<Own>>,
    /// Indexes that know which rows are worth being read.
    buckets: Vec<Buckets>,
    /// Other indexes of the table, with their options.
    pub others: Vec<(Oid, Rc<IndexOptions>)>,
}

impl Source {
    /// Reads the argument at `place`, of the name `argument`. `has_order` says that the call gives an
    /// order, which columns of a query may be for.
    pub fn read(
        session: &Session,
        arguments: &Arguments,
        place: usize,
        argument: &'static str,
        has_order: bool,
    ) -> Result<Self> {
        let Some(datum) = arguments.raw(place) else {
            return Err(error(
                PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED,
                format!("{argument} must not be NULL"),
            )
            .set_hint(format!(
                "Pass the name of a table or an index, or a query. {}",
                query_hint()
            )));
        };
        let text = raw_text(datum);
        if is_query(text.to_bytes()) {
            return Self::of_query(session, arguments, &text, argument, has_order);
        }
        Self::of_relation(session, arguments, relation_named(datum, argument)?, argument)
    }

    /// The source that a relation is, which the caller has locked.
    pub fn of_relation(
        session: &Session,
        arguments: &Arguments,
        oid: Oid,
        argument: &'static str,
    ) -> Result<Self> {
        let relation = Relation::open(oid, Lock::Read).ok_or_else(|| no_such_relation(oid))?;
        let side_table = |side| Rc::new(Indexed::of_side_table(side, arguments.extension));
        let named = match relation.kind {
            // One that is not sound is told to whoever names it.
            b'r' => SideTable::find(oid)
                .unwrap_or_default()
                .into_iter()
                .find(|side| side.storage == oid)
                .map(side_table),
            b'p' | b'v' | b'm' | b'f' => None,
            b'i' | b'I' => Some(match of_documents(oid)? {
                Some((_, Some(side))) => side_table(side),
                Some((info, None)) => Rc::new(Indexed::of_index(info, arguments.extension)?),
                None => {
                    let message =
                        format!("{argument}: \"{}\" is not a minlsh index", relation.name);
                    let code = PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE;
                    return Err(error(code, message).set_hint("Pass the name of its table."));
                }
            }),
            _ => {
                return Err(error(
                    PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE,
                    format!(
                        "{argument}: \"{}\" is neither a table, a view nor an index",
                        relation.name
                    ),
                )
                .set_hint(NAME));
            }
        };
        match named {
            None => Self::of_table(session, arguments, relation, argument),
            Some(named) => Self::of_index(session, arguments, named, argument),
        }
    }

    fn of_query(
        session: &Session,
        arguments: &Arguments,
        text: &CStr,
        argument: &'static str,
        has_order: bool,
    ) -> Result<Self> {
        let wrong = |cause: Complaint| cause.about(argument, &query_hint());
        if arguments.key_column().is_some() {
            let message =
                format!("key_column can only be used with a table, and {argument} is a query");
            return Err(invalid_parameter(message).set_hint(query_hint()));
        }
        let (statement, _) = one_statement(text).map_err(wrong)?;
        // By itself first, so that a message is about what the user wrote.
        let columns = Select::prepare(session, &statement, &[]).map_err(wrong)?.columns();
        if columns.len() < 2 {
            return Err(invalid_parameter(format!(
                "{argument} has only one column, but needs a key and a text"
            ))
            .set_hint(query_hint()));
        }
        // A line of its own: the query may end in a comment.
        let from = Sql::default().text("(").text(statement.to_bytes()).text("\n)");
        let mut source = Self::new(argument, from, columns);
        source.name_columns();
        source.body = match arguments.body() {
            Some(name) => source.column_named(name, "body")?,
            None => 1,
        };
        source.scopes.extend(source.scope(arguments)?);
        source.origin = source.origin_given(arguments)?;
        let is_used = |place: &usize| {
            [0, source.body].contains(place) || source.groupings().any(|other| other == *place)
        };
        let unused = (0..source.columns.len()).find(|place| !is_used(place));
        if let (Some(unused), None, false) = (unused, arguments.body(), has_order) {
            return Err(invalid_parameter(format!(
                "{argument} has a column \"{}\" in addition to the key and the text",
                label(&source.columns[unused].name)
            ))
            .set_hint(format!(
                "Select only the key and the text, or name the text with body => '...'. {}",
                query_hint()
            )));
        }
        source.kind = source.checked_kind(arguments)?;
        Ok(source)
    }

    fn of_table(
        session: &Session,
        arguments: &Arguments,
        relation: Relation,
        argument: &'static str,
    ) -> Result<Self> {
        let table = Sql::default().relation(relation.oid);
        let columns = columns_of(session, &table, argument)?;
        let mut source = Self::new(argument, table.clone(), columns);
        source.relation = Some(relation.oid);
        source.body = match arguments.body() {
            Some(name) => source.column_named(name, "body")?,
            None => source.only_document(arguments, &relation)?,
        };
        let number = relation.columns.get(source.body).map_or(0, |column| column.number);
        let key = || Key::of_table(relation.oid, relation.kind, number).ok();
        source.choose_key(arguments, &relation, key)?;
        source.scopes.extend(source.scope(arguments)?);
        source.origin = source.origin_given(arguments)?;
        source.kind = source.checked_kind(arguments)?;
        let is_indexed = matches!(relation.kind, b'r' | b'p' | b'm');
        // Rows are asked for by their places, which are a column that nobody can be granted.
        let has_places = may_read(relation.oid, &[]);
        source.plain = source.plain_columns(&relation).filter(|_| has_places);
        for info in Info::of_table(relation.oid).into_iter().filter(|_| is_indexed) {
            let Ok(options) = info.options() else { continue };
            let is_of_body = info.document() == number;
            if has_places && info.has_all_rows() && is_of_body && source.kind == info.kind {
                let from = from_places(&relation, table.clone(), None, &[]);
                source.add_buckets(&info, &options, &relation, from);
            }
            if info.index.valid && (is_of_body || arguments.body().is_none()) {
                source.others.push((info.index.oid, options));
            }
        }
        for side in SideTable::find(relation.oid).unwrap_or_default() {
            source.others.push((side.storage, side.options));
        }
        Ok(source)
    }

    /// The source that an index is, whose table is locked.
    pub fn of_index(
        session: &Session,
        arguments: &Arguments,
        named: Rc<Indexed>,
        argument: &'static str,
    ) -> Result<Self> {
        let relation = &Relation::open(named.table(), Lock::Read)
            .ok_or_else(|| no_such_relation(named.table()))?;
        if arguments.body().is_some() {
            return Err(invalid_parameter(format!(
                "body can only be used with a table or a query, and {argument} is index \"{}\"",
                named.name()
            ))
            .set_hint(format!("Pass its table, {}.", regclass_literal(relation.oid))));
        }
        // A side table is of its table's own rows.
        let only = named.side.is_some() && has_heirs(relation);
        let table = Sql::new(if only { "ONLY " } else { "" }).relation(relation.oid);
        let Text { document, scopes, predicate } = named.info.text(session)?;
        // Expressions become columns behind those of the table.
        let names = relation.columns.iter().map(|column| column.name.as_str());
        let fresh = |name: String| new_name(names.clone(), &name);
        let mut added = Vec::new();
        let mut place = |part: &Part, name: &str| match part {
            Part::Column(number) => place(relation, *number),
            Part::Expression(sql) => {
                added.push((sql.clone(), fresh(name.to_owned())));
                relation.columns.len() + added.len() - 1
            }
        };
        let body = place(&document, "minlsh_document");
        let scopes = scopes.iter().enumerate();
        let scopes: Vec<usize> =
            scopes.map(|(number, part)| place(part, &format!("minlsh_scope_{number}"))).collect();
        let predicate = predicate.as_deref();
        let from = if added.is_empty() && predicate.is_none() {
            table.clone()
        } else {
            rows(relation, table.clone(), predicate.map(Sql::new), &added)
        };
        let columns = columns_of(session, &from, argument)?;
        let mut source = Self::new(argument, from, columns);
        (source.relation, source.body, source.scopes) = (Some(relation.oid), body, scopes);
        source.choose_key(arguments, relation, || named.key.ok())?;
        source.scopes.extend(source.scope(arguments)?);
        source.origin = source.origin_given(arguments)?;
        source.kind = named.info.kind;
        let has_places = may_read(relation.oid, &[]);
        if added.is_empty() && predicate.is_none() && has_places && !only {
            source.plain = source.plain_columns(relation);
        }
        if named.side.is_none() && has_places {
            let from = from_places(relation, table, predicate, &added);
            source.add_buckets(&named.info, &named.options, relation, from);
        }
        source.named = Some(named);
        Ok(source)
    }

    /// One whose first column is the key, and whose second one the document.
    fn new(argument: &'static str, from: Sql, columns: Vec<SelectColumn>) -> Self {
        Self {
            argument,
            from,
            columns,
            key: 0,
            body: 1,
            scopes: Vec::new(),
            origin: None,
            kind: Kind::Text,
            relation: None,
            plain: None,
            key_is_unique: false,
            named: None,
            own: RefCell::new(None),
            buckets: Vec::new(),
            others: Vec::new(),
        }
    }

    /// Makes the store in which rows are put aside that are read as [`Source::select`] gives them.
    pub fn aside(&self, keep: Option<&CStr>, chosen: Chosen, memory: usize) -> Aside {
        let places = self.plain(keep, chosen).and_then(|columns| {
            Some((Open::relation(self.relation?, Lock::Held)?, columns.clone()))
        });
        let Some((table, columns)) = places else {
            // Where boilerplate does not count, they are gone through twice.
            return Aside::Rows(match self.origin {
                Some(_) => TupleStore::rewindable(memory),
                None => TupleStore::new(memory),
            });
        };
        Aside::Places(Box::new(Places::new(table, columns, self.key_column().0, memory)))
    }

    /// The columns of rows that are fetched by their places. In another order than that of the table,
    /// that would read it here and there.
    fn plain(&self, keep: Option<&CStr>, chosen: Chosen) -> Option<&RowColumns> {
        let is_in_order = match chosen {
            Chosen::All => keep.is_none(),
            // These are not read by the executor, which alone knows the policies of a table.
            Chosen::Buckets(_) => !self.relation.is_none_or(has_row_security),
            Chosen::Keys(..) => false,
        };
        self.plain.as_ref().filter(|_| is_in_order)
    }

    /// The columns of the rows that are chosen, as they are read.
    pub fn columns(&self, keep: Option<&CStr>, chosen: Chosen) -> RowColumns {
        match (chosen, self.plain(keep, chosen)) {
            (Chosen::Buckets(_), Some(columns)) => columns.clone(),
            _ => RowColumns::selected(self.groupings().count() as i16),
        }
    }

    /// The SELECT of key, document, scopes and origin, in the order of `keep` if that is given, of the rows that are
    /// chosen. The place of the row comes last, where that is what is put aside.
    pub fn select<'a>(
        &self,
        session: &'a Session,
        keep: Option<&CStr>,
        chosen: Chosen,
    ) -> Result<Select<'a>> {
        // Names of its own: an ORDER BY list means the columns of the source.
        let name = |number: usize| self.new_name(&format!("minlsh_{number}"));
        let key = &self.columns[self.key];
        let (mut columns, mut gives) = (Vec::new(), Vec::new());
        let places = [self.key, self.body].into_iter().chain(self.groupings());
        for (number, place) in places.enumerate() {
            let SelectColumn { name: own, type_oid, .. } = &self.columns[place];
            let is_text = number == 1 && self.kind == Kind::Text;
            let cast = if is_text { "::pg_catalog.text AS " } else { " AS " };
            columns.push(Sql::new("d.").name(own).text(cast).name(&name(number + 1)));
            gives.push(if is_text { pg_sys::TEXTOID } else { *type_oid });
        }
        let mut sql = Sql::new("SELECT ").list(&columns, ", ");
        let from = chosen.buckets().map_or(&self.from, |buckets| &buckets.from);
        let types = chosen.parameters();
        if matches!(chosen, Chosen::All) && self.plain(keep, chosen).is_some() {
            // A table that inherits from it since it was looked at has places of its own.
            sql = sql.text(", d.ctid FROM ONLY ").text(from);
            gives.push(pg_sys::TIDOID);
        } else {
            sql = sql.text(" FROM ").text(from);
        }
        if self.relation.is_some() {
            sql = sql.text(" AS d");
        }
        if let Some(condition) = chosen.condition(Sql::new("d.").name(&key.name)) {
            sql = sql.text(" WHERE ").text(condition);
        }
        if let Some(keep) = keep {
            sql =
                sql.text(" ORDER BY ").text(order(keep)?.to_bytes()).text("\n, d.").name(&key.name);
        }
        let select = Select::prepare(session, &sql.build(), &types).map_err(wrong_order)?;
        let select = select.with_stored(self.stored());
        match self.relation {
            Some(relation) if !select.reads(relation) => Err(error(
                PgSqlErrorCode::ERRCODE_OBJECT_IN_USE,
                format!("{} was renamed while it was being read", self.argument),
            )
            .set_hint("Retry the statement.")),
            _ => Ok(select.giving(gives)),
        }
    }

    /// The parts that others have stored of the statements that read it: casts of the key, expressions of an index.
    fn stored(&self) -> Option<Stored> {
        let index = self.named.as_ref().filter(|named| named.side.is_none());
        let of = match index {
            Some(named) => format!("index \"{}\"", named.name()),
            None => self.argument.to_owned(),
        };
        let is_safe = self.relation.is_some_and(runs_restricted);
        (!is_safe).then_some(Stored { of, has_expressions: index.is_some() })
    }

    /// The columns of a table whose rows have places, and values as they are stored.
    fn plain_columns(&self, relation: &Relation) -> Option<RowColumns> {
        let has_places = Open::relation(relation.oid, Lock::Held)?.has_places();
        let stored =
            |place: usize| relation.columns.get(place).filter(|column| column.generated != b'v');
        let column = |place: usize| {
            // Values of this type are changed when they are cast to text.
            let is_same = |oid| catalog::base_type(oid) != pg_sys::BPCHAROID;
            stored(place).filter(|column| is_same(column.type_oid)).map(|column| column.number)
        };
        let groupings = self.groupings().map(|place| stored(place).map(|column| column.number));
        let (key, document) = (column(self.key)?, column(self.body)?);
        let scopes = groupings.collect::<Option<_>>()?;
        has_places.then_some(RowColumns { key, document, scopes, are_stored: true })
    }

    /// Names that a query has given twice become new ones.
    fn name_columns(&mut self) {
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

    /// A name that no column has.
    pub fn new_name(&self, name: &str) -> CString {
        let names: Vec<String> = self.columns.iter().map(|column| label(&column.name)).collect();
        new_name(names.iter().map(String::as_str), name)
    }

    /// Takes an index among those that know which rows are worth being read, if rows of one scope share
    /// buckets there.
    fn add_buckets(
        &mut self,
        info: &Info,
        options: &Rc<IndexOptions>,
        relation: &Relation,
        from: Sql,
    ) {
        if self.has_scopes_of(info, relation) {
            self.buckets.extend(Buckets::new(info, options, from));
        }
    }

    /// Chooses the column of the keys: the one that was passed, or the usual one.
    fn choose_key(
        &mut self,
        arguments: &Arguments,
        relation: &Relation,
        usual: impl FnOnce() -> Option<Key>,
    ) -> Result<()> {
        let key = match arguments.key_column() {
            Some(name) => {
                self.key = self.column_named(name, "key_column")?;
                let column = relation.columns.get(self.key).map_or(0, |column| column.number);
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
    fn only_document(&self, arguments: &Arguments, relation: &Relation) -> Result<usize> {
        let key = match arguments.key_column() {
            Some(name) => Some(self.column_named(name, "key_column")?),
            None => None,
        };
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
            let origin = match self.origin_given(arguments)? {
                Some(Origin::Column(place)) => Some(place),
                Some(Origin::Same) | None => None,
            };
            let scope = self.scope(arguments)?;
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

    /// The place of a column that an argument names as SQL does: folded to lower case, or quoted.
    pub fn column_named(&self, name: pg_sys::Datum, argument: &str) -> Result<usize> {
        let raw = raw_text(name);
        let name = sql::identifier(&raw);
        let is_it = |column: &SelectColumn| column.name == *name.as_ref().unwrap_or(&raw);
        self.columns.iter().position(is_it).ok_or_else(|| {
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
    fn checked_kind(&self, arguments: &Arguments) -> Result<Kind> {
        for place in [self.key, self.body].iter().chain(&self.scopes) {
            let SelectColumn { name, type_oid, .. } = &self.columns[*place];
            let column = || format!("column \"{}\" of {}", label(name), self.argument);
            types::check(*type_oid, column, "Cast it to text in a query.")?;
        }
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

    /// The type and the collation of the key.
    pub fn key_column(&self) -> (Oid, Oid) {
        let column = &self.columns[self.key];
        (column.type_oid, column.collation)
    }

    /// The index whose buckets say which rows have to be read for `criteria`; none if all have to: where
    /// they come in an order of their own, the keys of all must be looked at, or boilerplate does not count.
    pub fn buckets_for(&self, criteria: &Criteria, keep: Option<&CStr>) -> Option<&Buckets> {
        let is_possible = self.key_is_unique && keep.is_none() && self.origin.is_none();
        self.buckets.iter().find(|buckets| is_possible && buckets.serves(criteria))
    }
}

/// True if tables inherit from a table, or have.
fn has_heirs(relation: &Relation) -> bool {
    relation.kind == b'r'
        && Open::relation(relation.oid, Lock::Held).is_none_or(|open| open.class().relhassubclass)
}

/// The columns of what stands behind FROM.
fn columns_of(session: &Session, from: &Sql, argument: &str) -> Result<Vec<SelectColumn>> {
    let sql = Sql::default().text("SELECT d.* FROM ").text(from).text(" AS d").build();
    let select = Select::prepare(session, &sql, &[])
        .map_err(|cause| cause.about(argument, &query_hint()))?;
    Ok(select.columns())
}

/// The place of the column of that number.
fn place(relation: &Relation, number: i16) -> usize {
    relation.columns.iter().position(|column| column.number == number).unwrap_or(0)
}

/// `name`, with as many underscores as it takes to be none of `names`.
fn new_name<'a>(names: impl Iterator<Item = &'a str> + Clone, name: &str) -> CString {
    let mut name = name.to_owned();
    while names.clone().any(|other| other == name) {
        name.push('_');
    }
    CString::new(name).unwrap_or_default()
}

/// The names of columns, for a HINT.
fn list(columns: &[SelectColumn]) -> String {
    let names: Vec<String> = columns.iter().map(|column| quoted(&label(&column.name))).collect();
    names.join(", ")
}
