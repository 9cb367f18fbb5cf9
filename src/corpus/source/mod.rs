//! The argument `source`: a table, a view, an index, or a query; its documents, keys, scopes and options.
//!
//! A source that names a table is read by what the call says, else by the defaults: its indexes only
//! make it quicker, where one serves exactly that. A source that names an index has that index's
//! document, options, scopes, predicate, threshold and banding, however it is read. Relations are found and locked as
//! PostgreSQL finds them for the caller.

pub mod arguments;
pub mod buckets;
pub mod columns;
pub mod reader;
pub mod row_spool;
pub mod rows;

use std::ffi::{CStr, CString};
use std::rc::Rc;

use crate::corpus::source::arguments::{Arguments, label, raw_text};
use crate::corpus::source::buckets::{Buckets, from_places, rows};
use crate::corpus::source::row_spool::RowColumns;
use crate::document::kind::Kind;
use crate::error::JOINED;
use crate::index::info::{Info, Part, Text};
use crate::indexed::{Indexed, of_documents};
use crate::options::IndexOptions;
use crate::pg::catching::catching;
use crate::pg::names::regclass_literal;
use crate::pg::rights::{check_before_reading, may_read, no_such_relation};
use crate::pg::select::{Select, SelectColumn, one_statement};
use crate::pg::{relation, sql};
use crate::prelude::*;
use crate::row_key::Key;
use crate::side_table::SideTable;

fn query_hint() -> String {
    format!("Select the key first and the text second, as in $$SELECT id, {JOINED} FROM docs$$.")
}

pub struct Source {
    pub argument: &'static str,
    pub from: Sql,
    pub columns: Vec<SelectColumn>,
    /// The column of the keys, by its place.
    pub key: usize,
    pub body: usize,
    /// The columns within whose equal values documents are compared.
    pub scopes: Vec<usize>,
    /// If boilerplate does not count, the column whose value is the origin of a document: documents of one origin share
    /// boilerplate. Without a column the origin is the same for all.
    pub origin: Option<Option<usize>>,
    pub kind: Kind,
    pub relation: Option<Oid>,
    /// The table's columns, if its rows can be fetched by their places.
    plain: Option<RowColumns>,
    /// True if no two rows have the same key.
    pub key_is_unique: bool,
    pub named: Option<Rc<Indexed>>,
    /// Indexes that know which rows are worth being read.
    buckets: Vec<Buckets>,
    /// Other indexes of the table, with their options.
    pub others: Vec<(Oid, Rc<IndexOptions>)>,
}

impl Source {
    /// Reads the argument of that name. `has_order` says that the call gives an order, which columns of a query may be
    /// for.
    pub fn read(
        session: &Session,
        arguments: &Arguments,
        argument: &'static str,
        has_order: bool,
    ) -> Result<Self> {
        let Some(datum) = arguments.raw(argument) else {
            return Err(error(
                PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED,
                format!("{argument} must not be NULL"),
            )
            .set_hint(format!(
                "Pass the name of a table or an index, or a query. {}",
                query_hint()
            )));
        };
        let text = raw_text(datum)?;
        if is_query(text.to_bytes()) {
            return Self::of_query(session, arguments, &text, argument, has_order);
        }
        Self::of_relation(session, arguments, relation_named(datum, argument)?, argument)
    }

    fn of_relation(
        session: &Session,
        arguments: &Arguments,
        oid: Oid,
        argument: &'static str,
    ) -> Result<Self> {
        let relation = Relation::open(oid, Lock::Read).ok_or_else(|| no_such_relation(oid))?;
        let side_table = |side| Rc::new(Indexed::of_side_table(side, arguments.extension));
        let named = match relation.kind {
            // An unsound one is reported to whoever names it.
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
        let wrong = |cause: SqlError| cause.about(argument, &query_hint());
        if arguments.raw("key_column").is_some() {
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
        let mut source = Self::new(argument, parenthesized(&statement), columns);
        source.name_columns();
        source.body = source.column_given(arguments, "body")?.unwrap_or(1);
        source.choose_groupings(arguments)?;
        let is_used = |place: &usize| {
            [0, source.body].contains(place) || source.groupings().any(|other| other == *place)
        };
        let unused = (0..source.columns.len()).find(|place| !is_used(place));
        if let (Some(unused), None, false) = (unused, arguments.raw("body"), has_order) {
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
        source.body = match source.column_given(arguments, "body")? {
            Some(body) => body,
            None => source.only_document(arguments, &relation)?,
        };
        let number = relation.columns.get(source.body).map_or(0, |column| column.number);
        let key = || Key::of_table(relation.oid, relation.kind, number).ok();
        source.choose_key(arguments, &relation, key)?;
        source.choose_groupings(arguments)?;
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
            if info.index.valid && (is_of_body || arguments.raw("body").is_none()) {
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
        if arguments.raw("body").is_some() {
            return Err(invalid_parameter(format!(
                "body can only be used with a table or a query, and {argument} is index \"{}\"",
                named.name()
            ))
            .set_hint(format!("Pass its table, {}.", regclass_literal(relation.oid))));
        }
        // A side table is of its table's own rows.
        let only = named.side.is_some() && has_heirs(relation);
        let table = Sql::new(if only { "ONLY " } else { "" }).relation(relation.oid);
        let Text { document, scopes, predicate } = named.info.text()?;
        // Expressions become columns behind those of the table.
        let names = relation.columns.iter().map(|column| column.name.as_str());
        let fresh = |name: String| new_name(names.clone(), &name);
        let mut added = Vec::new();
        let mut place = |part: Part, name: &str| match part {
            Part::Column(number) => place(relation, number),
            Part::Expression(sql) => {
                added.push((sql, fresh(name.to_owned())));
                relation.columns.len() + added.len() - 1
            }
        };
        let body = place(document, "minlsh_document");
        let scopes = scopes.into_iter().enumerate();
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
        source.choose_groupings(arguments)?;
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
            buckets: Vec::new(),
            others: Vec::new(),
        }
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
}

/// True if tables inherit from a table, or have.
fn has_heirs(relation: &Relation) -> bool {
    relation.kind == b'r'
        && Open::relation(relation.oid, Lock::Held).is_none_or(|open| open.class().relhassubclass)
}

fn columns_of(session: &Session, from: &Sql, argument: &str) -> Result<Vec<SelectColumn>> {
    let select = select_all(session, from);
    Ok(select.map_err(|cause| cause.about(argument, &query_hint()))?.columns())
}

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

/// A HINT on the names and queries that a source may be.
const NAME: &str = "Pass the name of a table, a view or an index, or a query. A query begins with \
     SELECT, WITH, VALUES, TABLE or a parenthesis.";

const SHOWN: usize = 3;

/// The relation of that name, as PostgreSQL finds it for the caller, locked as a SELECT would; an index after its
/// table, as DROP locks them. Nothing is locked of which the caller may read nothing.
pub fn relation_named(name: pg_sys::Datum, argument: &str) -> Result<Oid> {
    let meant = found(name, argument, Lock::Held)?;
    let kind = catalog::relation_kind(meant);
    if matches!(kind, b'r' | b'p' | b'i' | b'I') {
        check_before_reading(meant)?;
    }
    if matches!(kind, b'i' | b'I') {
        relation::lock(catalog::table_of_index(meant), Lock::Read);
    }
    found(name, argument, Lock::Read)
}

fn found(name: pg_sys::Datum, argument: &str, lock: Lock) -> Result<Oid> {
    catching(|| {
        // SAFETY: an argument of type text; the parts of a name, and the relation they name.
        unsafe {
            let names = pg_sys::textToQualifiedNameList(name.cast_mut_ptr());
            let relation = pg_sys::makeRangeVarFromNameList(names);
            let argument = std::ptr::null_mut();
            pg_sys::RangeVarGetRelidExtended(relation, lock.mode(), 0, None, argument)
        }
    })
    .map_err(|cause| {
        let meant = if cause.is(PgSqlErrorCode::ERRCODE_UNDEFINED_TABLE) {
            raw_text(name).and_then(|name| meant(&name)).unwrap_or_default()
        } else {
            Vec::new()
        };
        if meant.is_empty() {
            return cause.about(argument, NAME);
        }
        cause.about(
            argument,
            &format!(
                "Pass {}. Names are folded to lower case without double quotes, and need their schema where the \
                 search path does not have it.",
                meant.join(" or ")
            ),
        )
    })
}

/// The tables and views that a name may mean that PostgreSQL does not find: those of another schema, and those
/// whose capital letters were folded. The caller must be allowed to read them.
fn meant(name: &CStr) -> Result<Vec<String>> {
    let last = name.to_bytes().rsplit(|byte| *byte == b'.').next().unwrap_or_default();
    let written = text::c_string(last.trim_ascii())?;
    let folded = sql::identifier(&written)?.filter(|folded| *folded != written);
    let names = [Some(written), folded];
    let is_meant = |relation: &Oid| {
        matches!(catalog::relation_kind(*relation), b'r' | b'p' | b'v' | b'm' | b'f')
            && !catalog::is_of_other_session(catalog::relation_schema(*relation))
            && may_read(*relation, &[])
    };
    let relations = names.iter().flatten().flat_map(|name| catalog::relations_called(name));
    let mut meant: Vec<String> = relations.filter(is_meant).map(regclass_literal).collect();
    meant.sort();
    meant.truncate(SHOWN);
    Ok(meant)
}

/// A query as what stands behind FROM.
pub fn parenthesized(query: &CStr) -> Sql {
    // A line of its own: the query may end in a comment.
    Sql::new("(").text(query.to_bytes()).text("\n)")
}

pub fn select_all<'a>(session: &'a Session, from: &Sql) -> Result<Select<'a>> {
    let sql = Sql::new("SELECT d.* FROM ").text(from).text(" AS d").build();
    Select::prepare(session, &sql, &[])
}

/// True if a text begins as queries do, behind white space and comments.
pub fn is_query(text: &[u8]) -> bool {
    let text = skip_comments(text);
    let word =
        text.iter().take_while(|b| b.is_ascii_alphanumeric() || b"_$".contains(b) || !b.is_ascii());
    let word = &text[..word.count()];
    let begins = |with: &str| word.eq_ignore_ascii_case(with.as_bytes());
    text.first() == Some(&b'(') || ["SELECT", "WITH", "VALUES", "TABLE"].into_iter().any(begins)
}

fn skip_comments(mut text: &[u8]) -> &[u8] {
    loop {
        text = text.trim_ascii_start();
        if text.starts_with(b"--") {
            let line = text.iter().position(|&b| b == b'\n').unwrap_or(text.len());
            text = &text[line..];
        } else if text.starts_with(b"/*") {
            text = &text[comment_length(text)..];
        } else {
            return text;
        }
    }
}

/// The length of a comment `/* ... */`, which may contain others.
fn comment_length(text: &[u8]) -> usize {
    let (mut at, mut depth) = (0, 0);
    while at < text.len() {
        match &text[at..] {
            [b'/', b'*', ..] => (at, depth) = (at + 2, depth + 1),
            [b'*', b'/', ..] => (at, depth) = (at + 2, depth - 1),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}
