//! The rows of a source that a job reads, all, those that share a bucket of an index, or those of some keys: the SELECT
//! that reads them, and the store in which they are put aside.

use std::ffi::{CStr, CString};

use crate::corpus::source::Source;
use crate::corpus::source::buckets::{Buckets, PARAMETERS};
use crate::corpus::source::reader::Criteria;
use crate::corpus::source::row_spool::{Places, RowColumns, RowPlace, RowSpool, SourceRow};
use crate::document::kind::Kind;
use crate::pg::document_keys::DocumentKeys;
use crate::pg::foreign_code::runs_restricted;
use crate::pg::relation::has_row_security;
use crate::pg::row::TupleStore;
use crate::pg::select::{Select, SelectColumn, Stored, one_statement};
use crate::prelude::*;
use crate::row_key::{Key, KeyValue};

/// Keys that a statement is given at a time.
const AT_A_TIME: usize = 1 << 12;

#[derive(Clone, Copy)]
pub enum RowFilter<'a> {
    All,
    /// Those that an index knows to be worth it.
    Buckets(&'a Buckets),
    /// Those of some keys, each of which comes once.
    Keys(&'a Key, &'a DocumentKeys),
}

pub struct SourceRows<'a> {
    select: Select<'a>,
    filter: RowFilter<'a>,
    columns: RowColumns,
}

impl SourceRows<'_> {
    pub fn each(&self, visit: &mut dyn FnMut(&SourceRow) -> Result<()>) -> Result<()> {
        let Self { select, filter, columns } = self;
        let visit = &mut |row: &Row| visit(&SourceRow { row, columns });
        match filter {
            RowFilter::All => select.each(&[], visit),
            RowFilter::Buckets(buckets) if columns.place == RowPlace::Own => {
                buckets.each_stored(select, visit)
            }
            RowFilter::Buckets(buckets) => buckets.each(&mut |places| select.each(places, visit)),
            RowFilter::Keys(key, keys) => {
                let all = memory::collect((0..keys.len() as u32).map(|at| keys.datum(at)))?;
                all.chunks(AT_A_TIME).try_for_each(|some| {
                    // SAFETY: `DocumentKeys` gives values of the type that it was made for, which whoever chooses by
                    // keys has made for those of `key`.
                    let typed = |value: &Datum| unsafe { KeyValue::new(*value, key.base_type) };
                    let some = memory::collect(some.iter().map(typed))?;
                    let context = Memory::scratch(c"minlsh keys of a statement");
                    let array = context.run(|| key.array(&some));
                    select.each(&[array], visit)
                })
            }
        }
    }
}

impl Source {
    /// The rows that `filter` lets pass, in the order of `keep` if that is given.
    pub fn rows<'a>(
        &self,
        session: &'a Session,
        keep: Option<&CStr>,
        filter: RowFilter<'a>,
    ) -> Result<SourceRows<'a>> {
        // In another order, to fetch rows by their places would read the table here and there.
        let is_plain = match filter {
            RowFilter::All => keep.is_none(),
            // These are not read by the executor, which alone knows the policies of a table.
            RowFilter::Buckets(_) => !self.relation.is_none_or(has_row_security),
            RowFilter::Keys(..) => false,
        };
        let plain = self.plain.as_ref().filter(|_| is_plain);
        let groupings = self.groupings().count() as i16;
        let columns = match (filter, plain) {
            (RowFilter::Buckets(_), Some(columns)) => columns.clone(),
            _ => RowColumns::selected(groupings, plain.is_some()),
        };
        let select = self.select(session, keep, filter, &columns)?;
        Ok(SourceRows { select, filter, columns })
    }

    /// The SELECT of key, document, scopes and origin, and behind them the place of the row, if it is a column.
    fn select<'a>(
        &self,
        session: &'a Session,
        keep: Option<&CStr>,
        filter: RowFilter,
        columns: &RowColumns,
    ) -> Result<Select<'a>> {
        // Names of its own: an ORDER BY list means the columns of the source.
        let name = |number: usize| self.new_name(&format!("minlsh_{number}"));
        let key = &self.columns[self.key];
        let (mut selected, mut gives) = (Vec::new(), Vec::new());
        let places = [self.key, self.body].into_iter().chain(self.groupings());
        for (number, place) in places.enumerate() {
            let SelectColumn { name: own, type_oid, .. } = &self.columns[place];
            let is_text = number == 1 && self.kind == Kind::Text;
            let cast = if is_text { "::pg_catalog.text AS " } else { " AS " };
            selected.push(Sql::new("d.").name(own).text(cast).name(&name(number + 1)));
            gives.push(if is_text { pg_sys::TEXTOID } else { *type_oid });
        }
        let mut sql = Sql::new("SELECT ").list(&selected, ", ");
        let (from, condition, types) = match filter {
            RowFilter::All => (&self.from, None, Vec::new()),
            RowFilter::Buckets(buckets) => (&buckets.from, None, PARAMETERS.to_vec()),
            RowFilter::Keys(by, _) => {
                let condition = by.is_among(Sql::new("d.").name(&key.name), 1);
                (&self.from, Some(condition), vec![by.array_type()])
            }
        };
        if matches!(columns.place, RowPlace::Column(_)) {
            // A table that inherits from it since it was looked at has places of its own.
            sql = sql.text(", d.ctid FROM ONLY ").text(from);
            gives.push(pg_sys::TIDOID);
        } else {
            sql = sql.text(" FROM ").text(from);
        }
        if self.relation.is_some() {
            sql = sql.text(" AS d");
        }
        if let Some(condition) = condition {
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

    /// Makes the store in which such rows are put aside.
    pub fn spool(&self, rows: &SourceRows, memory: usize) -> RowSpool {
        let plain = self.plain.as_ref().filter(|_| rows.columns.place != RowPlace::None);
        let table = self.relation.and_then(|table| Open::relation(table, Lock::Held));
        if let (Some(columns), Some(table)) = (plain, table) {
            let places = Places::new(table, columns.clone(), self.key_column().0, memory);
            return RowSpool::Places(Box::new(places));
        }
        RowSpool::Rows(TupleStore::new(memory))
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
    pub fn plain_columns(&self, relation: &Relation) -> Option<RowColumns> {
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
        has_places.then_some(RowColumns { key, document, scopes, place: RowPlace::Own })
    }

    /// The index whose buckets say which rows have to be read for `criteria`. All have to where they come in an order
    /// of their own, their keys must be checked, or boilerplate does not count.
    pub fn buckets_for(&self, criteria: &Criteria, keep: Option<&CStr>) -> Option<&Buckets> {
        let is_possible = self.key_is_unique && keep.is_none() && self.origin.is_none();
        self.buckets.iter().find(|buckets| is_possible && buckets.serves(criteria))
    }
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
        let cause = error(
            PgSqlErrorCode::ERRCODE_SYNTAX_ERROR,
            "it must be an ORDER BY list and nothing else",
        );
        return Err(wrong_order(cause));
    }
    text::c_string(&statement.to_bytes()[BEFORE.len()..])
}

fn wrong_order(cause: SqlError) -> SqlError {
    cause.about(
        "keep",
        "Pass an ORDER BY list over the columns of the source, such as 'published_at DESC, length(body) \
         DESC', or NULL to keep the lowest key.",
    )
}
