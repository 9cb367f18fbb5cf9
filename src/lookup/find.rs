//! The index that a call refers to.
//!
//! The argument `index` names an index, a table with an index, or a side table. Without it the call refers to the only
//! index of the tables on the caller's search path, or else of the caller's own tables. Several indexes of one table
//! count as one if they have the same document and options. An invalid index does not count, and a partial one must be
//! named. Other tables do not count, because a lookup runs the code in their policies and index expressions: callers
//! choose them by name or by search path.

use std::rc::Rc;

use pgrx::pg_sys::PG_NODE_TREEOID;

use sketch::dedup::Verify;

use crate::document::kind::Kind;
use crate::index::info::Info;
use crate::index::partitions::{Missing, missing};
use crate::indexed::{Indexed, of_documents};
use crate::lookup::session_cache;
use crate::options::{Threshold, verify_named};
use crate::pg::call::Extension;
use crate::pg::dependency;
use crate::pg::relation::{Column, owner_of};
use crate::pg::rights::{self, current_role};
use crate::prelude::*;
use crate::row_key::Key;
use crate::side_table::{SideTable, check_current};

/// The index or side table that a call refers to.
enum Referent {
    /// An index of a table, which the session's cache may have open.
    Index(Oid),
    /// A side table, which is opened at each call, to detect alterations.
    Side(SideTable),
}

/// Finds the index of a call.
#[derive(Clone, Copy)]
struct IndexFinder {
    extension: Extension,
    /// The argument that names the index, for messages.
    argument: &'static str,
}

/// Finds the index that argument `argument` names.
pub fn read(call: &Call, argument: usize) -> Result<Rc<Indexed>> {
    match call.oid(argument) {
        Some(named) => IndexFinder::of(call, "index").named(named),
        None => only(call),
    }
}

/// Finds the only index that a call without a name can mean.
pub fn only(call: &Call) -> Result<Rc<Indexed>> {
    let (finder, meant) = (IndexFinder::of(call, "index"), session_cache::unnamed());
    if let Some(index) = session_cache::known(&meant) {
        return finder.named(index);
    }
    let index = finder.only()?;
    session_cache::keep(meant, index);
    finder.named(index)
}

/// Finds the index that `relation`, the argument `source`, is or has; `None` for a table without an index of all its
/// rows.
pub fn of_relation(call: &Call, relation: Oid) -> Result<Option<Rc<Indexed>>> {
    let finder = IndexFinder::of(call, "source");
    finder.find(relation)?.map(|found| finder.open(found)).transpose()
}

impl IndexFinder {
    fn of(call: &Call, argument: &'static str) -> Self {
        Self { extension: call.extension(), argument }
    }

    /// Finds the index that `named` is or has, in the session's cache if nothing has changed since it was found, up to
    /// the time that its table is locked.
    fn named(self, named: Oid) -> Result<Rc<Indexed>> {
        let meant = (named, None);
        if let Some(index) = session_cache::known(&meant) {
            // Another role may have found it: a caller may not lock what it may not read.
            rights::check_before_reading(named)?;
            let kept = session_cache::index(index, self.extension).ok();
            if let Some(kept) = kept.filter(|_| !session_cache::has_changed()) {
                return Ok(kept);
            }
        }
        let found = self.find(named)?.ok_or_else(|| self.has_none(named))?;
        if let Referent::Index(index) = found {
            session_cache::keep(meant, index);
        }
        self.open(found)
    }

    fn open(self, found: Referent) -> Result<Rc<Indexed>> {
        match found {
            Referent::Index(index) => session_cache::index(index, self.extension),
            Referent::Side(side) => {
                check_current(side.storage, &side.options)?;
                Ok(Rc::new(Indexed::of_side_table(side, self.extension)))
            }
        }
    }

    /// The error for a table without an index of all its rows.
    fn has_none(self, named: Oid) -> SqlError {
        let (argument, table) = (self.argument, relation_name(named));
        let all = Info::of_table(named);
        if all.is_empty() {
            let message = format!("{argument}: table \"{table}\" has no minlsh index");
            return undefined_object(message).set_hint(create(named));
        }
        let report = undefined_object(format!("{argument}: table \"{table}\" has no minlsh index of all its rows"));
        let mut whole = all.iter().filter(|info| !info.index.partial);
        if let Some((detail, hint)) = whole.find_map(|info| Missing::shown(&missing(&info.index))) {
            return report.set_detail(detail).set_hint(hint);
        }
        report
            .set_detail("Partial and invalid indexes do not count. Name a partial index to use it.")
            .set_hint(self.name_one(&oids(&all)))
    }

    /// Finds the index that `named` is or has; `None` for a table without one.
    fn find(self, named: Oid) -> Result<Option<Referent>> {
        match catalog::relation_kind(named) {
            b'i' | b'I' => self.index(named).map(Some),
            b'r' | b'p' | b'm' => self.of_table(named),
            0 => Err(self.no_such_relation(named)),
            _ => Err(wrong_object(format!(
                "{}: \"{}\" is neither an index nor a table",
                self.argument,
                relation_name(named)
            ))
            .set_hint("Name an index of type minlsh, a table that has one, or a side table.")),
        }
    }

    /// Finds what an index belongs to: a table, or a side table.
    fn index(self, oid: Oid) -> Result<Referent> {
        rights::check_before_reading(oid)?;
        match of_documents(oid)? {
            Some((_, side)) => Ok(side.map_or(Referent::Index(oid), Referent::Side)),
            None => Err(self.other_index(oid)),
        }
    }

    /// Finds the index of all rows of a table, or of the side table if it is one.
    fn of_table(self, table: Oid) -> Result<Option<Referent>> {
        rights::check_before_reading(table)?;
        // It may be gone by the time that the lock is granted.
        let Some(_locked) = Open::relation(table, Lock::Read) else {
            return Err(self.no_such_relation(table));
        };
        let mut sides = SideTable::find(table)?;
        if let Some(itself) = sides.iter().position(|side| side.storage == table) {
            return Ok(Some(Referent::Side(sides.remove(itself))));
        }
        let mut indexes = Info::of_table(table);
        indexes.retain(Info::has_all_rows);
        if sides.is_empty() {
            return Ok(self.best(table, &indexes)?.map(Referent::Index));
        }
        if sides.len() == 1 && indexes.is_empty() {
            return Ok(Some(Referent::Side(sides.remove(0))));
        }
        let mut all = oids(&indexes);
        all.extend(sides.iter().map(|side| side.storage));
        Err(self.several_of(table, &all))
    }

    /// The best of the indexes of all rows of a table, which must agree in document and options; `None` if there are
    /// none.
    fn best(self, table: Oid, indexes: &[Info]) -> Result<Option<Oid>> {
        let Some((first, others)) = indexes.split_first() else { return Ok(None) };
        for other in others {
            if !agree(first, other)? {
                return Err(self.several_of(table, &oids(indexes)));
            }
        }
        // An index of this version of the library is better than an outdated one.
        let is_current = |info: &&Info| info.options().is_ok_and(|options| options.is_current());
        Ok(Some(indexes.iter().find(is_current).unwrap_or(first).index.oid))
    }

    fn several_of(self, table: Oid, indexes: &[Oid]) -> SqlError {
        let (argument, table, count) = (self.argument, relation_name(table), indexes.len());
        self.ambiguous(format!("{argument}: table \"{table}\" has {count} minlsh indexes"), indexes)
            .set_detail("They differ in their documents or in their options.")
    }

    /// Finds the only index that a call without a name can mean.
    fn only(self) -> Result<Oid> {
        let mut readable = self.readable(catalog::is_visible);
        if readable.is_empty() {
            readable = self.readable(|table| owner_of(table) == current_role());
        }
        let is_partial = |(_, info): &(Oid, Option<Info>)| info.as_ref().is_some_and(|info| info.index.partial);
        let (partial, whole): (Vec<_>, Vec<_>) = readable.into_iter().partition(is_partial);
        let (partial, _): (Vec<Oid>, Vec<_>) = partial.into_iter().unzip();
        let (all, indexes): (Vec<Oid>, Vec<_>) = whole.into_iter().unzip();
        if all.is_empty() && !partial.is_empty() {
            // Its answer would silently be about a part of the rows.
            return Err(
                undefined_object("all minlsh indexes that you may read are partial").set_hint(self.name_one(&partial))
            );
        }
        let indexes: Vec<Info> = indexes.into_iter().flatten().collect();
        let table = indexes.first().map(|info| info.index.table);
        let of_one_table = indexes.iter().all(|info| Some(info.index.table) == table);
        match (&all[..], table) {
            ([index], _) => Ok(*index),
            ([], _) => Err(undefined_object("no table on your search path has a minlsh index that you may read")
                .set_hint(format!(
                    "Name one with index => '...' (the view minlsh_indexes lists them). {}",
                    create_on("docs", "body")
                ))),
            (_, Some(table)) if of_one_table && indexes.len() == all.len() => {
                Ok(self.best(table, &indexes)?.unwrap_or(all[0]))
            }
            _ => {
                let count = all.len();
                let message = format!("there are {count} minlsh indexes to choose from");
                Err(self.ambiguous(message, &all))
            }
        }
    }

    /// The indexes of documents that the caller may read, on tables that `wanted` accepts. A side table comes without a
    /// description. Locks no other table, because no one should wait for what strangers do with their tables.
    fn readable(self, wanted: fn(Oid) -> bool) -> Vec<(Oid, Option<Info>)> {
        let all = Info::oids_of_all().into_iter();
        all.filter_map(|oid| Self::readable_index(oid, wanted)).collect()
    }

    /// The relation by which to name an index, if the caller may read it.
    fn readable_index(oid: Oid, wanted: fn(Oid) -> bool) -> Option<(Oid, Option<Info>)> {
        let table = catalog::table_of_index(oid);
        // A trigger ties a side table to the user's table, which is the one that counts.
        let mut tables = dependency::tables_tied_to(table);
        tables.push(table);
        if !tables.into_iter().any(wanted) || rights::check_before_reading(oid).is_err() {
            return None;
        }
        let of_documents = |info: &Info| info.index.valid && info.kind != Kind::Passage;
        let info = Info::open(oid).filter(of_documents)?;
        // A call that names an unsound side table gets the error.
        let Some(side) = SideTable::of_index(&info).ok()? else {
            return (wanted(table) && info.is_readable()).then_some((oid, Some(info)));
        };
        let columns = [side.key.number, side.body.number];
        let may_read = wanted(side.table.oid) && rights::may_read(side.table.oid, &columns);
        may_read.then_some((side.storage, None))
    }

    fn no_such_relation(self, oid: Oid) -> SqlError {
        let (argument, oid) = (self.argument, oid.to_u32());
        undefined_table(format!("{argument}: relation with OID {oid} does not exist"))
    }

    fn ambiguous(self, message: String, indexes: &[Oid]) -> SqlError {
        error(PgSqlErrorCode::ERRCODE_AMBIGUOUS_ALIAS, message).set_hint(self.name_one(indexes))
    }

    fn name_one(self, indexes: &[Oid]) -> String {
        let name = |index: &Oid| format!("{} => {}", self.argument, regclass_literal(*index));
        let names: Vec<String> = indexes.iter().map(name).collect();
        format!("Name one with {}.", names.join(" or "))
    }

    fn other_index(self, oid: Oid) -> SqlError {
        let table = catalog::table_of_index(oid);
        if table == Oid::INVALID {
            return self.no_such_relation(oid);
        }
        let of_table = oids(&Info::of_table(table));
        let report = wrong_object(format!("{}: \"{}\" is not a minlsh index", self.argument, relation_name(oid)));
        if of_table.is_empty() { report.set_hint(create(table)) } else { report.set_hint(self.name_one(&of_table)) }
    }
}

fn oids(indexes: &[Info]) -> Vec<Oid> {
    indexes.iter().map(|info| info.index.oid).collect()
}

/// True if two indexes of a table give the same answers: they have the same document and options.
fn agree(a: &Info, b: &Info) -> Result<bool> {
    let (of_a, of_b) = (a.options()?, b.options()?);
    let same =
        a.kind == b.kind && (&of_a.config, of_a.threshold, of_a.recall) == (&of_b.config, of_b.threshold, of_b.recall);
    Ok(same && a.text()? == b.text()?)
}

/// The command that creates an index of a table, on the column that probably has the texts.
fn create(table: Oid) -> String {
    let relation = Relation::open(table, Lock::Read).filter(|_| rights::may_read(table, &[]));
    let column = relation.and_then(|relation| text_column(&relation));
    create_on(&visible_name(table), column.as_deref().unwrap_or("body"))
}

fn create_on(table: &str, column: &str) -> String {
    format!("Create one with CREATE INDEX ON {table} USING minlsh ({column});")
}

/// A text column that is not the key. If there are several, a column with a usual name, else the last one.
fn text_column(relation: &Relation) -> Option<String> {
    let key = Key::of_table(relation.oid, relation.kind, 0).ok().map(|key| key.column);
    let is_text = |column: &&Column| {
        Kind::of_type(column.type_oid, Oid::INVALID) == Some(Kind::Text)
            && column.type_oid != PG_NODE_TREEOID
            && Some(column.number) != key
    };
    let mut texts = relation.columns.iter().filter(is_text);
    let usual = texts.clone().find(|column| column.name == "body");
    usual.or_else(|| texts.next_back()).map(|column| quoted(&column.name))
}

/// Finds the index of a call that must name it: refuses NULL.
pub fn required(call: &Call, argument: usize) -> Result<Rc<Indexed>> {
    if call.oid(argument).is_none() {
        return Err(invalid_parameter("index must not be NULL")
            .set_hint(format!("Name an index or its table, for example {}.", literal("docs"))));
    }
    read(call, argument)
}

/// Reads the argument `verify`; `None` stands for the index's best way.
pub fn verify(call: &Call, argument: usize) -> Result<Option<Verify>> {
    call.text(argument)?.map(verify_named).transpose()
}

/// Reads the argument `threshold`; NULL stands for the index's threshold.
pub fn threshold(call: &Call, argument: usize, target: &Indexed) -> Result<Threshold> {
    let threshold = call.float8(argument).map_or(Ok(target.options.threshold), Threshold::new)?;
    served(threshold, target)
}

/// Refuses a threshold that the index does not serve.
pub fn served(threshold: Threshold, target: &Indexed) -> Result<Threshold> {
    target.info.check_threshold(threshold, target.options.threshold)?;
    Ok(threshold)
}
