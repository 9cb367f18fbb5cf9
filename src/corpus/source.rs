//! The argument `source`: a table, a view, an index, or a query; and the SELECT that reads it.

use std::ffi::{CStr, CString};
use std::rc::Rc;

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::pg_sys::{self, Oid};
use pgrx::prelude::*;

use crate::access::may_read;
use crate::corpus::arguments::{Arguments, Criteria, label, raw_text};
use crate::corpus::aside::{Aside, Places};
use crate::corpus::buckets::{Buckets, PARAMETERS};
use crate::corpus::indexed::Body;
use crate::corpus::kind::Kind;
use crate::corpus::table::{self, Found};
use crate::error::{Result, error, invalid_parameter};
use crate::options::IndexOptions;
use crate::pg::catalog;
use crate::pg::catching::Complaint;
use crate::pg::open::Open;
use crate::pg::relation::Lock;
use crate::pg::select::{Select, SelectColumn, one_statement};
use crate::pg::spi::Session;
use crate::pg::sql::Sql;
use crate::pg::tuple_store::TupleStore;

/// What a HINT says of a query.
const QUERY: &str = "A query gives the key first and the text second, as in \
                     $$SELECT id, title || ' ' || body FROM docs$$.";

/// Where documents come from.
pub struct Source {
    /// The name of the argument, for messages.
    pub argument: &'static str,
    /// What stands behind FROM.
    from: Sql,
    columns: Vec<SelectColumn>,
    key: usize,
    body: usize,
    scope: Option<usize>,
    /// The table that was named.
    pub relation: Option<Oid>,
    /// The table's columns of key and document, if its rows can be fetched by their places.
    plain: Option<[i16; 2]>,
    /// Whether no two rows can have the same key.
    pub key_is_unique: bool,
    /// The options of the index that was named, or is the table's only one.
    pub settings: Option<Rc<IndexOptions>>,
    /// That index, if it has all the rows.
    pub buckets: Option<Buckets>,
}

impl Source {
    /// Reads the argument at `place`, of the name `argument`.
    pub fn read(
        session: &Session,
        arguments: &Arguments,
        place: usize,
        argument: &'static str,
    ) -> Result<Self> {
        let Some(datum) = arguments.raw(place) else {
            return Err(error(
                PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED,
                format!("{argument} must not be NULL"),
            )
            .set_hint(format!("It is the name of a table or an index, or a query. {QUERY}")));
        };
        let text = raw_text(datum);
        if is_query(text.to_bytes()) {
            Self::of_query(session, arguments, &text, argument)
        } else {
            let found = table::find(session, datum, argument)?;
            Self::of_table(session, arguments, found, argument)
        }
    }

    fn of_query(
        session: &Session,
        arguments: &Arguments,
        text: &CStr,
        argument: &'static str,
    ) -> Result<Self> {
        let wrong = |cause: Complaint| cause.about(argument, QUERY);
        for given in
            ["body", "key_column"].into_iter().zip([arguments.body(), arguments.key_column()])
        {
            if let (name, Some(_)) = given {
                return Err(invalid_parameter(format!(
                    "{name} is for tables: {argument} is a query"
                ))
                .set_hint(QUERY));
            }
        }
        let (statement, _) = one_statement(text).map_err(wrong)?;
        // By itself first, so that a message is about what the user wrote.
        let columns = Select::prepare(session, &statement, &[]).map_err(wrong)?.columns();
        if columns.len() < 2 {
            return Err(invalid_parameter(format!(
                "{argument} has one column: a key and a text are needed"
            ))
            .set_hint(QUERY));
        }
        // A line of its own: the query may end in a comment.
        let from = Sql::default().text("(").text(statement.to_bytes()).text("\n)");
        let mut source = Self {
            argument,
            from,
            columns,
            key: 0,
            body: 1,
            scope: None,
            relation: None,
            plain: None,
            key_is_unique: false,
            settings: None,
            buckets: None,
        };
        source.name_columns();
        source.scope = source.scope_column(arguments)?;
        source.kind()?;
        Ok(source)
    }

    fn of_table(
        session: &Session,
        arguments: &Arguments,
        found: Found,
        argument: &'static str,
    ) -> Result<Self> {
        let from = table::from(&found);
        let sql = Sql::default().text("SELECT d.* FROM ").text(&from).text(" AS d").build();
        let select =
            Select::prepare(session, &sql, &[]).map_err(|cause| cause.about(argument, QUERY))?;
        let columns = select.columns();
        let body = table::body(&found, &columns, arguments.body())?;
        let (key, key_is_unique) =
            table::key(session, &found.relation, &columns, body, arguments.key_column())?;
        let mut source = Self {
            argument,
            from,
            columns,
            key,
            body,
            scope: None,
            relation: Some(found.relation.oid),
            plain: plain(&found, key, body),
            key_is_unique,
            settings: None,
            buckets: None,
        };
        source.scope = source.scope_column(arguments)?;
        source.take_index(&found);
        source.kind()?;
        Ok(source)
    }

    /// Takes over the options of the index, if it is of these documents.
    fn take_index(&mut self, found: &Found) {
        let Some(indexed) = &found.indexed else { return };
        let is_of_body = match indexed.body {
            Body::Column(number) => table::place(&found.relation, number) == self.body,
            Body::Expression(_) => found.is_index && self.body + 1 == self.columns.len(),
        };
        if is_of_body {
            self.settings = Some(indexed.settings.clone());
        }
        if found.is_index && self.scope.is_none() {
            self.scope = indexed.scope.map(|number| table::place(&found.relation, number));
        }
        // Rows of other scopes share no bucket.
        let has_all = (found.is_index || indexed.predicate.is_none()) && indexed.scope.is_none();
        // Rows are asked for by their places, which are a column that nobody can be granted.
        let has_all = has_all && may_read(found.relation.oid, &[]);
        if let (Some((index, values)), true) = (indexed.native, is_of_body && has_all) {
            let from = table::from_places(found);
            let table = found.relation.oid;
            self.buckets = Buckets::new(index, table, values, &indexed.settings, from);
        }
    }

    /// The index whose buckets say which rows have to be read for `criteria`; none if all have to: where
    /// they come in an order of their own, or the keys of all must be looked at.
    pub fn buckets_for(&self, criteria: &Criteria, keep: Option<&CStr>) -> Option<&Buckets> {
        let is_possible = self.key_is_unique && keep.is_none();
        self.buckets.as_ref().filter(|buckets| is_possible && buckets.serves(criteria))
    }

    /// Names that a query has given twice become those of their places.
    fn name_columns(&mut self) {
        let names: Vec<CString> = self.columns.iter().map(|column| column.name.clone()).collect();
        for (place, column) in self.columns.iter_mut().enumerate() {
            if names.iter().filter(|name| **name == column.name).count() > 1 {
                column.name = CString::new(format!("column{}", place + 1)).unwrap_or_default();
            }
        }
        let mut from = std::mem::take(&mut self.from).text(" AS d(");
        for (place, column) in self.columns.iter().enumerate() {
            from = from.text(if place > 0 { ", " } else { "" }).name(&column.name);
        }
        self.from = from.text(")");
    }

    fn scope_column(&self, arguments: &Arguments) -> Result<Option<usize>> {
        let Some(datum) = arguments.scope() else { return Ok(None) };
        table::column_named(&self.columns, &raw_text(datum)).map(Some).ok_or_else(|| {
            error(
                PgSqlErrorCode::ERRCODE_UNDEFINED_COLUMN,
                format!("scope: {} has no column \"{}\"", self.argument, label(&raw_text(datum))),
            )
            .set_hint(format!("Its columns are {}.", table::list(&self.columns)))
        })
    }

    /// What its documents are.
    pub fn kind(&self) -> Result<Kind> {
        let column = &self.columns[self.body];
        Kind::of(column.type_oid).ok_or_else(|| {
            error(
                PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH,
                format!(
                    "column \"{}\" of {} is of type {}, not text, an array or a signature",
                    label(&column.name),
                    self.argument,
                    crate::pg::names::type_label(column.type_oid)
                ),
            )
            .set_hint("Cast it to text in a query.")
        })
    }

    /// The type of the key as it is read: that of the column, unless the result wants another but
    /// text, which is made of it at the end.
    pub fn key_column(&self, wanted: Oid) -> (Oid, Oid) {
        let column = &self.columns[self.key];
        if wanted == pg_sys::TEXTOID || wanted == column.type_oid {
            return (column.type_oid, column.collation);
        }
        (wanted, catalog::type_collation(wanted))
    }

    /// The column of the scope, if there is one.
    pub fn scope(&self) -> Option<&SelectColumn> {
        self.scope.map(|scope| &self.columns[scope])
    }

    /// What the rows are put aside in, if they are read as [`Source::select`] gives them.
    pub fn aside(
        &self,
        key_type: Oid,
        keep: Option<&CStr>,
        buckets: Option<&Buckets>,
        memory: usize,
    ) -> Aside {
        let column = if self.scope.is_some() { 4 } else { 3 };
        let places = self.plain(key_type, keep, buckets).and_then(|[key, document]| {
            let table = Open::relation(self.relation?, Lock::Held)?;
            Some(Places::new(table, key, document, column))
        });
        places.map_or_else(|| Aside::Rows(TupleStore::new(memory)), Aside::Places)
    }

    /// The columns of key and document that are fetched again by the places of their rows. In another
    /// order than that of the table, that would read it here and there.
    fn plain(
        &self,
        key_type: Oid,
        keep: Option<&CStr>,
        buckets: Option<&Buckets>,
    ) -> Option<[i16; 2]> {
        let is_as_stored = key_type == self.columns[self.key].type_oid;
        self.plain.filter(|_| is_as_stored && keep.is_none() && buckets.is_none())
    }

    /// The SELECT of key, document and scope, in the order of `keep` if that is given; of the rows at
    /// some places if there is an index that gives them. The place of the row comes last, where that is
    /// what is put aside.
    pub fn select<'a>(
        &self,
        session: &'a Session,
        key_type: Oid,
        keep: Option<&CStr>,
        buckets: Option<&Buckets>,
    ) -> Result<Select<'a>> {
        let mut sql = Sql::default().text("SELECT d.").name(&self.columns[self.key].name);
        if key_type != self.columns[self.key].type_oid {
            sql = sql.text("::").type_name(key_type);
        }
        sql = sql.text(", d.").name(&self.columns[self.body].name);
        if self.kind()? == Kind::Text {
            sql = sql.text("::pg_catalog.text");
        }
        if let Some(scope) = self.scope {
            sql = sql.text(", d.").name(&self.columns[scope].name);
        }
        if self.plain(key_type, keep, buckets).is_some() {
            sql = sql.text(", d.ctid");
        }
        let from = buckets.map_or(&self.from, |buckets| &buckets.from);
        let types = buckets.map_or(&[][..], |_| &PARAMETERS);
        sql = sql.text(" FROM ").text(from);
        if self.relation.is_some() {
            sql = sql.text(" AS d");
        }
        let select = Select::prepare(session, &sql.clone().build(), types)
            .map_err(|cause| cause.about("key", "NULL::bigint gives keys as bigint."))?;
        let select = match keep {
            None => select,
            Some(keep) => {
                let key = &self.columns[self.key].name;
                let sql =
                    sql.text(" ORDER BY ").text(order(keep)?.to_bytes()).text("\n, d.").name(key);
                Select::prepare(session, &sql.build(), types).map_err(wrong_order)?
            }
        };
        match self.relation {
            Some(relation) if !select.reads(relation) => Err(error(
                PgSqlErrorCode::ERRCODE_OBJECT_IN_USE,
                format!("{} was renamed meanwhile", self.argument),
            )
            .set_hint("Try again.")),
            _ => Ok(select),
        }
    }
}

/// The columns of key and document of a table whose rows have places, which the caller may see, and
/// values as they are stored.
fn plain(found: &Found, key: usize, body: usize) -> Option<[i16; 2]> {
    let relation = &found.relation;
    let open = Open::relation(relation.oid, Lock::Held)?;
    let class = open.class();
    let is_plain = matches!(class.relkind as u8, b'r' | b'm')
        && class.relam == pg_sys::HEAP_TABLE_AM_OID
        && !class.relhassubclass
        && table::is_whole(found)
        // A place is a column that nobody can be granted.
        && may_read(relation.oid, &[]);
    let column = |place: usize| {
        let column = relation.columns.get(place).filter(|column| column.generated != b'v')?;
        // Values of this type are changed when they are cast to text.
        // SAFETY: a lookup in the system caches.
        let base = unsafe { pg_sys::getBaseType(column.type_oid) };
        (base != pg_sys::BPCHAROID).then_some(column.number)
    };
    Some([column(key)?, column(body)?]).filter(|_| is_plain)
}

/// `keep`, checked to be an ORDER BY list and no more.
fn order(keep: &CStr) -> Result<CString> {
    const BEFORE: &str = "SELECT ORDER BY ";
    let sql = Sql::default().text(BEFORE).text(keep.to_bytes()).build();
    let (statement, node) = one_statement(&sql).map_err(wrong_order)?;
    // SAFETY: the parser's node; one that starts with SELECT is a SelectStmt.
    let only_sorts = unsafe {
        let select = &*node.cast::<pg_sys::SelectStmt>();
        select.type_ == pg_sys::NodeTag::T_SelectStmt
            && !select.sortClause.is_null()
            && select.limitCount.is_null()
            && select.limitOffset.is_null()
            && select.lockingClause.is_null()
    };
    if !only_sorts {
        let cause = Complaint::new(
            PgSqlErrorCode::ERRCODE_SYNTAX_ERROR,
            "it must be an ORDER BY list alone",
        );
        return Err(wrong_order(cause));
    }
    Ok(CString::new(&statement.to_bytes()[BEFORE.len()..]).unwrap_or_default())
}

fn wrong_order(cause: Complaint) -> ErrorReport {
    cause.about(
        "keep",
        "It is an ORDER BY list over the columns of the source, such as 'published_at DESC, length(body) DESC'; \
         NULL keeps the least key.",
    )
}

/// Whether a text begins as queries do, behind white space and comments.
pub fn is_query(text: &[u8]) -> bool {
    let text = skip_comments(text);
    let word =
        text.iter().take_while(|b| b.is_ascii_alphanumeric() || b"_$".contains(b) || !b.is_ascii());
    let word = text[..word.count()].to_ascii_uppercase();
    text.first() == Some(&b'(') || [&b"SELECT"[..], b"WITH", b"VALUES", b"TABLE"].contains(&&*word)
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
