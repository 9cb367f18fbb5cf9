//! The argument `source`: a table, view, index or query, and its columns. These are the key, the document, and the
//! columns that group documents: scopes, within which documents are compared, and the origin, which `boilerplate`
//! names.
//!
//! A source that names a table is read by the call's arguments and the defaults. Its indexes only make it faster, if
//! one serves exactly that. A source that names an index has the index's document, options, scopes, predicate,
//! threshold and banding, however it is read. PostgreSQL's rules for the caller apply when relations are found and
//! locked.

pub mod arguments;
pub mod buckets;
pub mod keyed_rows;
pub mod members;
pub mod omitted;
pub mod reader;
pub mod rows;
pub mod scopes;

use std::ffi::{CStr, CString};
use std::rc::Rc;

use crate::corpus::source::arguments::{
    Agreeing, Arguments, NAME, is_query, label, parenthesized, raw_text, relation_named, select_all,
};
use crate::corpus::source::buckets::{Buckets, from_places, rows};
use crate::document::kind::Kind;
use crate::error::JOINED;
use crate::index::info::{Info, Part, Text};
use crate::indexed::{Indexed, of_documents};
use crate::options::IndexOptions;
use crate::pg::rights::may_read;
use crate::pg::select::{Select, SelectColumn, one_statement};
use crate::pg::sql;
use crate::prelude::*;
use crate::row_key::Key;
use crate::side_table::SideTable;

fn query_hint() -> String {
    format!("Select the key first and the text second, as in $$SELECT id, {JOINED} FROM docs$$.")
}

#[derive(Default)]
pub struct Source {
    pub argument: &'static str,
    pub from: Sql,
    pub columns: Vec<SelectColumn>,
    /// Position of the key column.
    pub key: usize,
    pub body: usize,
    /// Positions of the scope columns. Documents are compared if all values are equal.
    pub scopes: Vec<usize>,
    /// Position of the column with a document's origin; documents of one origin share boilerplate. `None` if
    /// boilerplate counts, `Some(None)` if all documents have the same origin.
    pub origin: Option<Option<usize>>,
    /// The arrays that must agree, if `agree` was passed.
    agreeing: Option<Agreeing>,
    pub kind: Kind,
    pub relation: Option<Oid>,
    /// The numbers of the [used](Self::used) columns, if rows of the table can be fetched by `ctid` and have the values
    /// that the SELECT returns.
    plain: Option<Vec<i16>>,
    /// True if keys are unique.
    pub key_is_unique: bool,
    pub named: Option<Rc<Indexed>>,
    /// Indexes that show which rows must be read.
    buckets: Vec<Buckets>,
    /// Other indexes of the table, with their options.
    pub others: Vec<(Oid, Rc<IndexOptions>)>,
}

impl Source {
    /// Reads argument `argument`. `has_order` is true if the call passes an order, which may use columns of a query.
    pub fn read(session: &Session, arguments: &Arguments, argument: &'static str, has_order: bool) -> Result<Self> {
        let Some(datum) = arguments.raw(argument) else {
            return Err(null_not_allowed(format!("{argument} must not be NULL"))
                .set_hint(format!("Pass the name of a table or an index, or a query. {}", query_hint())));
        };
        let text = raw_text(datum)?;
        if is_query(text.to_bytes()) {
            return Self::of_query(session, arguments, &text, argument, has_order);
        }
        Self::of_relation(session, arguments, relation_named(datum, argument)?, argument)
    }

    fn of_relation(session: &Session, arguments: &Arguments, oid: Oid, argument: &'static str) -> Result<Self> {
        let relation = Relation::open(oid, Lock::Read).ok_or_else(|| no_such_relation(oid))?;
        let side_table = |side| Rc::new(Indexed::of_side_table(side, arguments.extension));
        let named = match relation.kind {
            // A call that names an unsound side table gets the error.
            b'r' => {
                SideTable::find(oid).unwrap_or_default().into_iter().find(|side| side.storage == oid).map(side_table)
            }
            b'p' | b'v' | b'm' | b'f' => None,
            b'i' | b'I' => Some(match of_documents(oid)? {
                Some((_, Some(side))) => side_table(side),
                Some((info, None)) => Rc::new(Indexed::of_index(info, arguments.extension)?),
                None => {
                    let message = format!("{argument}: \"{}\" is not a minlsh index", relation.name);
                    return Err(wrong_object(message).set_hint("Pass the name of its table."));
                }
            }),
            _ => {
                return Err(wrong_object(format!(
                    "{argument}: \"{}\" is neither a table, a view nor an index",
                    relation.name
                ))
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
        let wrong = |cause: SqlError| cause.about(argument, &query_hint());
        if arguments.raw("key_column").is_some() {
            let message = format!("key_column can only be used with a table, and {argument} is a query");
            return Err(invalid_parameter(message).set_hint(query_hint()));
        }
        let (statement, _) = one_statement(text).map_err(wrong)?;
        // First by itself, so that a message is about the text that the user wrote.
        let columns = Select::prepare(session, &statement, &[]).map_err(wrong)?.columns();
        if columns.len() < 2 {
            return Err(invalid_parameter(format!("{argument} has only one column, but needs a key and a text"))
                .set_hint(query_hint()));
        }
        let mut source = Self::new(argument, parenthesized(&statement), columns);
        source.name_columns();
        source.body = source.column_given(arguments, "body")?.unwrap_or(1);
        source.choose_groupings(session, arguments)?;
        let is_used = |place: &usize| source.used().any(|used| used == *place);
        let unused = (0..source.columns.len()).find(|place| !is_used(place));
        let may_be_used = has_order || source.agreeing.is_some();
        if let (Some(unused), None, false) = (unused, arguments.raw("body"), may_be_used) {
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

    fn of_table(session: &Session, arguments: &Arguments, relation: Relation, argument: &'static str) -> Result<Self> {
        let table = Sql::default().relation(relation.oid);
        let columns = columns_of(session, &table, argument)?;
        let mut source = Self::new(argument, table.clone(), columns);
        source.relation = Some(relation.oid);
        source.body = match source.column_given(arguments, "body")? {
            Some(body) => body,
            None => source.only_document(arguments, &relation)?,
        };
        let number = relation.columns.get(source.body).map_or(0, |column| column.number);
        let key = || Key::of_table(relation.oid, relation.kind, number).ok();
        source.choose_key(arguments, &relation, key)?;
        source.choose_groupings(session, arguments)?;
        source.kind = source.checked_kind(arguments)?;
        let is_indexed = matches!(relation.kind, b'r' | b'p' | b'm');
        // `ctid` is a column for which no privilege can be granted.
        let has_places = may_read(relation.oid, &[]);
        source.plain = source.plain_columns(&relation).filter(|_| has_places);
        for info in Info::of_table(relation.oid).into_iter().filter(|_| is_indexed) {
            let Ok(options) = info.options() else { continue };
            let is_of_body = info.document() == number;
            let is_whole = info.has_all_rows() && is_of_body && source.kind == info.kind;
            if has_places && is_whole && source.has_scopes_of(&info, &relation) {
                let from = from_places(&relation, table.clone(), None, &[]);
                source.buckets.extend(Buckets::new(&info, &options, from));
            }
            if info.index.valid && (is_of_body || arguments.raw("body").is_none()) {
                source.others.push((info.index.oid, options));
            }
        }
        for side in SideTable::find(relation.oid).unwrap_or_default() {
            source.others.push((side.storage, side.options));
        }
        Ok(source)
    }

    /// Makes a source of an index, whose table is locked.
    pub fn of_index(
        session: &Session,
        arguments: &Arguments,
        named: Rc<Indexed>,
        argument: &'static str,
    ) -> Result<Self> {
        let relation = &Relation::open(named.table(), Lock::Read).ok_or_else(|| no_such_relation(named.table()))?;
        if arguments.raw("body").is_some() {
            return Err(invalid_parameter(format!(
                "body can only be used with a table or a query, and {argument} is index \"{}\"",
                named.name()
            ))
            .set_hint(format!("Pass its table, {}.", regclass_literal(relation.oid))));
        }
        // A side table covers only its table's own rows.
        let only = if named.is_of_own_rows() && has_heirs(relation) { "ONLY " } else { "" };
        let table = Sql::new(only).relation(relation.oid);
        let Text { document, scopes, predicate } = named.info.text()?;
        // Expressions become columns after the table's.
        let names = relation.columns.iter().map(|column| column.name.as_str());
        let mut added = Vec::new();
        let mut place = |part: Part, name: &str| match part {
            Part::Column(number) => place(relation, number),
            Part::Expression(sql) => {
                added.push((sql, new_name(names.clone(), name)));
                relation.columns.len() + added.len() - 1
            }
        };
        let body = place(document, "minlsh_document");
        let scopes = scopes.into_iter().enumerate();
        let scopes: Vec<usize> = scopes.map(|(number, part)| place(part, &format!("minlsh_scope_{number}"))).collect();
        let predicate = predicate.as_deref();
        let is_whole = added.is_empty() && predicate.is_none();
        let from =
            if is_whole { table.clone() } else { rows(relation, table.clone(), predicate.map(Sql::new), &added) };
        let columns = columns_of(session, &from, argument)?;
        let mut source = Self::new(argument, from, columns);
        (source.relation, source.body, source.scopes) = (Some(relation.oid), body, scopes);
        source.choose_key(arguments, relation, || named.key.ok())?;
        source.choose_groupings(session, arguments)?;
        source.kind = named.info.kind;
        let has_places = may_read(relation.oid, &[]);
        if is_whole && has_places {
            source.plain = source.plain_columns(relation);
        }
        if named.is_on_table() && has_places && source.has_scopes_of(&named.info, relation) {
            let from = from_places(relation, table, predicate, &added);
            source.buckets.extend(Buckets::new(&named.info, &named.options, from));
        }
        source.named = Some(named);
        Ok(source)
    }

    /// A source with the key in the first column, and the document in the second.
    fn new(argument: &'static str, from: Sql, columns: Vec<SelectColumn>) -> Self {
        Self { argument, from, columns, body: 1, ..Self::default() }
    }
}

/// True if a table has, or once had, inheritance children.
fn has_heirs(relation: &Relation) -> bool {
    relation.kind == b'r' && Open::relation(relation.oid, Lock::Held).is_none_or(|open| open.class().relhassubclass)
}

fn columns_of(session: &Session, from: &Sql, argument: &str) -> Result<Vec<SelectColumn>> {
    let select = select_all(session, from);
    Ok(select.map_err(|cause| cause.about(argument, &query_hint()))?.columns())
}

fn place(relation: &Relation, number: i16) -> usize {
    relation.columns.iter().position(|column| column.number == number).unwrap_or(0)
}

/// `name`, with underscores appended until it differs from `names`.
fn new_name<'a>(names: impl Iterator<Item = &'a str> + Clone, name: &str) -> CString {
    let mut name = name.to_owned();
    while names.clone().any(|other| other == name) {
        name.push('_');
    }
    CString::new(name).unwrap_or_default()
}

impl Source {
    /// Chooses the columns that group documents, from the index and the call, and the arrays that must agree.
    fn choose_groupings(&mut self, session: &Session, arguments: &Arguments) -> Result<()> {
        self.scopes.extend(self.column_given(arguments, "scope")?);
        self.origin = self.origin_given(arguments)?;
        let mut from = Sql::default().text(&self.from);
        if self.relation.is_some() {
            from = from.text(" AS d");
        }
        self.agreeing = Agreeing::given(session, arguments, from)?;
        Ok(())
    }

    /// The type and collation of the elements of the arrays that must agree, if there are any.
    pub fn agreeing_type(&self) -> Vec<(Oid, Oid)> {
        self.agreeing.iter().map(|agreeing| agreeing.element).collect()
    }

    pub fn scope_types(&self) -> Vec<(Oid, Oid)> {
        self.scopes.iter().map(|place| self.column_type(*place)).collect()
    }

    /// True if the scopes are the columns of an index of the table, which hashes them consistently with their equality.
    /// Then rows of a scope share buckets there.
    pub fn has_scopes_of(&self, info: &Info, relation: &Relation) -> bool {
        let own = info.scope_columns().map(|column| {
            let place = relation.columns.iter().position(|own| own.number == column.attribute)?;
            let SelectColumn { type_oid, collation, .. } = self.columns[place];
            let base = catalog::base_type(type_oid);
            let as_stored =
                base == column.input_type || (base == pg_sys::VARCHAROID && column.input_type == pg_sys::TEXTOID);
            (as_stored && collation == column.collation).then_some(place)
        });
        own.collect::<Option<Vec<usize>>>().is_some_and(|own| own == self.scopes)
    }

    /// The origin of documents from argument `boilerplate`, if it was passed.
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

    /// The positions of the columns that are read: key, document and scopes, then the origin.
    fn used(&self) -> impl Iterator<Item = usize> {
        let named = [self.key, self.body].into_iter();
        named.chain(self.scopes.iter().copied()).chain(self.origin.flatten())
    }

    /// The column numbers of [`Self::used`] in a table whose rows have a `ctid`, if the stored values can be used.
    fn plain_columns(&self, relation: &Relation) -> Option<Vec<i16>> {
        let has_places = Open::relation(relation.oid, Lock::Held)?.has_places();
        // A cast to text changes values of this type.
        let is_changed = |place: usize| {
            [self.key, self.body].contains(&place)
                && catalog::base_type(relation.columns[place].type_oid) == pg_sys::BPCHAROID
        };
        let stored = |place: usize| {
            let column = relation.columns.get(place).filter(|column| column.generated != b'v')?;
            (!is_changed(place)).then_some(column.number)
        };
        self.used().map(stored).collect::<Option<_>>().filter(|_| has_places)
    }

    /// Type and collation of the origin column, if there is one.
    pub fn origin_type(&self) -> Vec<(Oid, Oid)> {
        self.origin.flatten().map(|place| self.column_type(place)).into_iter().collect()
    }

    /// Renames columns whose names a query repeats.
    fn name_columns(&mut self) {
        let given: Vec<CString> = self.columns.iter().map(|column| column.name.clone()).collect();
        for place in 0..self.columns.len() {
            if given.iter().filter(|name| **name == given[place]).count() > 1 {
                self.columns[place].name = self.new_name(&format!("column{}", place + 1));
            }
        }
        let names: Vec<Sql> = self.columns.iter().map(|column| Sql::default().name(&column.name)).collect();
        let from = std::mem::take(&mut self.from);
        self.from = from.text(" AS d(").list(&names, ", ").text(")");
    }

    fn new_name(&self, name: &str) -> CString {
        let names: Vec<String> = self.columns.iter().map(|column| label(&column.name)).collect();
        new_name(names.iter().map(String::as_str), name)
    }

    /// Chooses the key column: the passed one, or the default.
    fn choose_key(
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
                    not_supported(format!("\"{}\" has no primary key of one column", relation.name)).set_hint(
                        "Pass a unique column with key_column => '...', or write a query, which may combine several \
                         columns.",
                    )
                })?;
                self.key = place(relation, key.column);
                Some(key)
            }
        };
        // NULL keys are detected where all rows are read.
        let is_not_null = relation.columns.get(self.key).is_some_and(|column| column.not_null);
        // Inheriting tables are read too, and have their own keys.
        self.key_is_unique = key.is_some() && is_not_null && !has_heirs(relation);
        Ok(())
    }

    /// The only column of a table that can be the document: a text or document, else an array. Columns that are passed
    /// as key, scope or origin do not count.
    fn only_document(&self, arguments: &Arguments, relation: &Relation) -> Result<usize> {
        let key = self.column_given(arguments, "key_column")?;
        let of = |wanted: &[Kind], key: Option<usize>| -> Vec<usize> {
            let is_it = |place: &usize| {
                let kind = Kind::of_type(self.columns[*place].type_oid, arguments.extension.document);
                kind.is_some_and(|kind| wanted.contains(&kind)) && Some(*place) != key
            };
            (0..self.columns.len()).filter(is_it).collect()
        };
        let found = |key: Option<usize>| {
            let texts = of(&[Kind::Text, Kind::Document], key);
            if texts.is_empty() { of(&[Kind::Set], key) } else { texts }
        };
        let usual = || Key::of_table(relation.oid, relation.kind, 0).ok();
        let not = key.or_else(|| usual().map(|key| place(relation, key.column)));
        let mut places = found(not);
        if places.is_empty() && key.is_none() {
            // It is the document, and the key is another column.
            places = found(None);
        }
        if places.len() > 1 {
            // A column that groups documents is not the document.
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
                let indexes: Vec<String> =
                    Info::of_table(relation.oid).iter().map(|info| regclass_literal(info.index.oid)).collect();
                let index = if indexes.is_empty() {
                    "join several in a query".to_owned()
                } else {
                    format!("name an index instead of the table: {}", indexes.join(", "))
                };
                Err(invalid_parameter(format!("\"{name}\" has {} text columns: {}", places.len(), list(&columns)))
                    .set_hint(format!("Pass the document column with body => '...', or {index}.")))
            }
        }
    }

    /// Position of the column that argument `argument` names, folded to lower case or quoted as in SQL; `None` if it
    /// was not passed.
    fn column_given(&self, arguments: &Arguments, argument: &str) -> Result<Option<usize>> {
        let Some(datum) = arguments.raw(argument) else { return Ok(None) };
        let raw = raw_text(datum)?;
        let name = sql::identifier(&raw)?;
        let is_it = |column: &SelectColumn| column.name == *name.as_ref().unwrap_or(&raw);
        self.columns.iter().position(is_it).map(Some).ok_or_else(|| {
            let of =
                self.relation.map_or_else(|| self.argument.to_owned(), |oid| format!("\"{}\"", relation_name(oid)));
            let report = undefined_column(format!(
                "{argument}: {of} has no column \"{}\"",
                label(name.as_ref().unwrap_or(&raw))
            ));
            match (name, self.relation) {
                (None, Some(relation)) if argument == "scope" => report.set_hint(format!(
                    "Name one column, or write a query that makes one of several, as in $$SELECT id, body, \
                     concat_ws(',', tenant, lang) AS scope FROM {}$$ with scope => 'scope'.",
                    visible_name(relation)
                )),
                (None, Some(relation)) => report.set_hint(format!(
                    "Write a query for an expression, as in $$SELECT id, {JOINED} FROM {}$$.",
                    visible_name(relation)
                )),
                _ => report.set_hint(format!("Use one of its columns: {}.", list(&self.columns))),
            }
        })
    }

    /// The kind of the documents, after the types of all used columns were checked.
    fn checked_kind(&self, arguments: &Arguments) -> Result<Kind> {
        self.used().try_for_each(|place| self.check_column(place))?;
        let SelectColumn { name, type_oid, .. } = &self.columns[self.body];
        let kind = Kind::of_type(*type_oid, arguments.extension.document).ok_or_else(|| {
            let (name, type_label) = (label(name), type_label(*type_oid));
            type_mismatch(format!(
                "column \"{name}\" of {} is of type {type_label}, not text, an array or a document",
                self.argument
            ))
            .set_hint(self.hint_on_body(arguments))
        })?;
        if kind == Kind::Set {
            element::check(catalog::base_element_type(*type_oid))?;
        }
        Ok(kind)
    }

    /// The HINT for a document column of an unsuitable type. The most common cause is a query that selects the text
    /// before the key.
    fn hint_on_body(&self, arguments: &Arguments) -> String {
        let [key, body] = [self.key, self.body].map(|place| &self.columns[place]);
        let is_swapped = self.relation.is_none()
            && (self.key, self.body) == (0, 1)
            && Kind::of_type(key.type_oid, arguments.extension.document).is_some();
        if is_swapped {
            let [key, body] = [key, body].map(|column| quoted(&label(&column.name)));
            return format!("Select the key first and the text second, as in SELECT {body}, {key} ...");
        }
        "Cast it to text in a query.".to_owned()
    }

    pub fn key_column(&self) -> (Oid, Oid) {
        self.column_type(self.key)
    }

    pub fn column_type(&self, place: usize) -> (Oid, Oid) {
        (self.columns[place].type_oid, self.columns[place].collation)
    }
}

/// Refuses a pseudo-type, such as `cstring` or `anyarray`, before its values are used. They cannot be stored, and the
/// catalogs' length, order and elements do not apply to them. Records and arrays of records describe themselves. `what`
/// describes the value in the error; `hint` names an alternative.
pub fn check_type(type_oid: Oid, what: impl Fn() -> String, hint: &str) -> Result<()> {
    let is_record = [pg_sys::RECORDOID, pg_sys::RECORDARRAYOID].contains(&type_oid);
    if is_record || catalog::type_kind(type_oid) != pg_sys::TYPTYPE_PSEUDO {
        return Ok(());
    }
    let message = format!("{} is of pseudo-type {}", what(), type_label(type_oid));
    Err(type_mismatch(message).set_hint(hint))
}

/// The types and collations of the columns that an argument names, which must be the same in all sources.
pub fn common(argument: &str, sources: &[Source], of: fn(&Source) -> Vec<(Oid, Oid)>) -> Result<Vec<(Oid, Oid)>> {
    let all = || sources.iter().map(of);
    let first = all().next().unwrap_or_default();
    let Some(other) = all().find(|other| *other != first) else { return Ok(first) };
    let shown = |scopes: &[(Oid, Oid)]| match scopes {
        [] => "none".to_owned(),
        _ => scopes.iter().map(|(oid, _)| type_label(*oid)).collect::<Vec<_>>().join(", "),
    };
    let (first, other) = (shown(&first), shown(&other));
    let message = format!("{argument} columns have different types, {first} and {other}");
    Err(type_mismatch(message).set_hint("Cast them in a query, or compare tables instead of indexes."))
}

fn list(columns: &[SelectColumn]) -> String {
    let names: Vec<String> = columns.iter().map(|column| quoted(&label(&column.name))).collect();
    names.join(", ")
}
