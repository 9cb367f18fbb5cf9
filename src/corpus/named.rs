//! Relations that a source names: a relation; an index, or a side table, with all it says.

use std::ffi::{CStr, CString};
use std::rc::Rc;

use pgrx::pg_sys::{self, Oid};
use pgrx::prelude::*;

use crate::corpus::arguments::raw_text;
use crate::document::kind::Kind;
use crate::error::{Result, SqlError, error, invalid_parameter};
use crate::index::info::{Info, Part, Text};
use crate::options::{IndexOptions, Threshold};
use crate::pg::catalog;
use crate::pg::catching::catching;
use crate::pg::index::Index;
use crate::pg::names::{regclass_literal, visible_name};
use crate::pg::relation::{self, Lock, Relation};
use crate::pg::rights::{check_before_reading, may_read};
use crate::pg::spi::Session;
use crate::pg::sql;
use crate::side_table::SideTable;

/// A HINT on the names and queries that a source may be.
pub const NAME: &str = "Pass the name of a table, a view or an index, or a query. A query begins with \
     SELECT, WITH, VALUES, TABLE or a parenthesis.";

/// The maximum number of relations that a HINT suggests.
const SHOWN: usize = 3;

/// An index, or a side table, that was named.
pub struct Named {
    /// Its name, as messages show it.
    pub name: String,
    /// The table that it is of.
    pub table: Oid,
    /// Its options.
    pub options: Rc<IndexOptions>,
    /// The kind of its documents.
    pub kind: Kind,
    /// Its document, scopes and predicate.
    pub text: Text,
    /// It, and what it is of, if it has pages of its own.
    pub info: Option<Info>,
    /// The key column of a side table.
    pub key: Option<i16>,
}

impl Named {
    /// The index of that name.
    pub fn index(session: &Session, named: &Relation, argument: &str) -> Result<Self> {
        let other = || {
            error(
                PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE,
                format!(
                    "{argument}: \"{}\" is not an index of the access method minlsh",
                    named.name
                ),
            )
            .set_hint("Pass the name of its table.")
        };
        let info = Info::open(named.oid).ok_or_else(other)?;
        if info.kind == Kind::Passage {
            return Err(info.of_passages());
        }
        if let Some(side) = SideTable::of_index(&info)? {
            return Ok(Self::of_side_table(side));
        }
        info.check_valid()?;
        Ok(Self {
            name: named.name.clone(),
            table: info.index.table,
            options: info.current_options()?,
            kind: info.kind,
            text: info.text(session)?,
            info: Some(info),
            key: None,
        })
    }

    /// The side table that a relation is; nothing if it is another relation.
    pub fn side_table(named: &Relation) -> Result<Option<Self>> {
        if named.kind != b'r' {
            return Ok(None);
        }
        // One that is not sound is told to whoever names it.
        let sides = SideTable::find(named.oid).unwrap_or_default();
        let is_it = |side: &SideTable| side.storage == named.oid;
        Ok(sides.into_iter().find(is_it).map(Self::of_side_table))
    }

    pub fn of_side_table(side: SideTable) -> Self {
        let document = Part::Column(side.body.number);
        Self {
            name: visible_name(side.storage),
            table: side.table.oid,
            options: side.options,
            kind: Kind::Text,
            text: Text { document, scopes: Vec::new(), predicate: None },
            info: None,
            key: Some(side.key.number),
        }
    }

    /// Refuses what the index cannot answer.
    pub fn check(&self, threshold: Threshold, recall: f64) -> Result<()> {
        let (name, options) = (&self.name, &self.options);
        let table = regclass_literal(self.table);
        if threshold < options.threshold {
            return Err(invalid_parameter(format!(
                "threshold {threshold} is below that of index \"{name}\", which is {}",
                options.threshold
            ))
            .set_detail("The bands of the index would miss pairs below its threshold.")
            .set_hint(format!(
                "Use a threshold of {} or more, or name the table instead of the index: {table}.",
                options.threshold
            )));
        }
        if recall > options.recall {
            return Err(invalid_parameter(format!(
                "recall {recall} is above that of index \"{name}\", which is {}",
                options.recall
            ))
            .set_hint(format!("Name the table instead of the index: {table}.")));
        }
        Ok(())
    }

    pub fn has_other_options(&self) -> SqlError {
        invalid_parameter(format!("index \"{}\" has other options than those passed", self.name))
            .set_detail(format!("It has {}.", self.options.config))
            .set_hint(format!(
                "Pass no options, or name the table instead of the index: {}.",
                regclass_literal(self.table)
            ))
    }
}

/// The relation of that name, as PostgreSQL finds it for the caller, locked as a SELECT would; an index after its
/// table, as DROP locks them. Nothing is locked of which the caller may read nothing.
pub fn relation_named(name: pg_sys::Datum, argument: &str) -> Result<Oid> {
    let meant = found(name, argument, Lock::Held)?;
    let kind = catalog::relation_kind(meant);
    if matches!(kind, b'r' | b'p' | b'i' | b'I') {
        check_before_reading(meant)?;
    }
    if matches!(kind, b'i' | b'I') {
        relation::lock(Index::table_of(meant), Lock::Read);
    }
    found(name, argument, Lock::Read)
}

/// The relation of that name, locked.
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
            meant(&raw_text(name))
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
fn meant(name: &CStr) -> Vec<String> {
    let last = name.to_bytes().rsplit(|byte| *byte == b'.').next().unwrap_or_default();
    let written = CString::new(last.trim_ascii()).unwrap_or_default();
    let mut names = vec![written.clone()];
    names.extend(sql::identifier(&written).filter(|folded| *folded != written));
    let is_meant = |relation: &Oid| {
        matches!(catalog::relation_kind(*relation), b'r' | b'p' | b'v' | b'm' | b'f')
            && !catalog::is_of_other_session(catalog::relation_schema(*relation))
            && may_read(*relation, &[])
    };
    let relations = names.iter().flat_map(|name| catalog::relations_called(name));
    let mut meant: Vec<String> = relations.filter(is_meant).map(regclass_literal).collect();
    meant.sort();
    meant.truncate(SHOWN);
    meant
}
