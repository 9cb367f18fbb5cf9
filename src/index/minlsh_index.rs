//! An open index of the access method, by which all others read it: what it is was looked at when it was opened, so
//! that nothing that is asked of it here can be unsafe. And `amvalidate`: whether an operator class can serve one.
//!
//! Those of the extension can. One that a superuser makes for a type of their own must store its
//! keys as these do, since the B-tree reads them by their comparison function.

use crate::document::kind::{Kind, is_document};
use crate::error::JOINED;
use crate::index::layout::{Layout, LockedPage, Meta, SCOPE_HASH};
use crate::index::nbtree::META_BLOCK;
use crate::pg::catalog::{CatalogRow, access_method, function_of_family};
use crate::pg::index::IndexColumn;
use crate::pg::names::type_label;
use crate::pg::type_storage::TypeStorage;
use crate::prelude::*;

/// An open index of the access method; a partitioned one has no pages.
pub struct MinlshIndex<'a> {
    open: &'a Open,
    /// The kind of the document column.
    pub kind: Kind,
    /// The layout of entries in tuples.
    pub layout: Layout,
}

impl<'a> MinlshIndex<'a> {
    /// Looks at an open relation.
    ///
    /// # Errors
    /// SQLSTATE 42809 if it is not an index of the access method; 0A000 unless exactly one column is a document that
    /// can be read, and the others are scopes.
    pub fn of(open: &'a Open) -> Result<Self> {
        let layout = layout(open)?;
        let IndexColumn { family, input_type, .. } = IndexColumn::of(open, layout.document);
        if !is_readable(family, input_type) {
            let message = format!("values of {} are not documents", type_label(input_type));
            return Err(not_supported(message).set_hint(
                "Use an operator class of minlsh. amvalidate() lists what is wrong with another one.",
            ));
        }
        Ok(Self { open, kind: Kind::of_class(family, input_type), layout })
    }

    /// The relation.
    pub fn open(&self) -> &'a Open {
        self.open
    }

    /// Refuses operator classes of which `amvalidate` says that something is wrong: their functions could be called
    /// with values of other types.
    pub fn check_classes(&self) -> Result<()> {
        for (column, attribute) in self.open.attributes().enumerate() {
            let IndexColumn { family, input_type, .. } = IndexColumn::of(self.open, column);
            if !problems(family, input_type, attribute.atttypid).is_empty() {
                return Err(cannot_serve(column));
            }
        }
        Ok(())
    }

    /// The content of its metapage.
    pub fn meta(&self) -> Result<Meta> {
        let page = LockedPage::of(self.open, META_BLOCK);
        page.meta().ok_or_else(|| self.damaged(META_BLOCK))
    }

    /// Locks a page of the tree for reading, if there is such a block.
    pub fn tree_page(
        &self,
        block: pg_sys::BlockNumber,
    ) -> Result<(LockedPage, pg_sys::BTPageOpaqueData)> {
        let page = (block < self.open.pages()).then(|| LockedPage::of(self.open, block));
        let page = page.and_then(|page| page.opaque().map(|opaque| (page, opaque)));
        page.ok_or_else(|| self.damaged(block))
    }

    /// The error about a page that cannot be read.
    pub fn damaged(&self, block: pg_sys::BlockNumber) -> SqlError {
        error(
            PgSqlErrorCode::ERRCODE_INDEX_CORRUPTED,
            format!("page {block} of minlsh index \"{}\" is damaged", self.open.name()),
        )
        .set_hint("Use REINDEX to build the index again. minlsh_check() lists what is wrong.")
    }
}

/// The number of the support function that only the operator class for passages has.
pub const PASSAGE_HASHES: u16 = 8;

impl Kind {
    /// The kind that an operator class is for, by its family and its input type.
    pub fn of_class(family: Oid, input_type: Oid) -> Self {
        let passage_hashes = || function_of_family(family, input_type, PASSAGE_HASHES as i16);
        match input_type {
            pg_sys::TEXTOID if passage_hashes() != Oid::INVALID => Self::Passage,
            pg_sys::TEXTOID => Self::Text,
            pg_sys::ANYARRAYOID => Self::Set,
            pg_sys::INT4ARRAYOID => Self::Signature,
            _ => Self::Document,
        }
    }
}

/// The layout of an index of the access method, whose columns are checked.
fn layout(open: &Open) -> Result<Layout> {
    let class = open.class();
    if !matches!(class.relkind as u8, b'i' | b'I') || class.relam != access_method() {
        let message = format!("\"{}\" is not a minlsh index", open.name());
        return Err(wrong_object(message));
    }
    let count = open.attributes().count();
    let is_scope = |column: &usize| {
        // SAFETY: an index of the access method, as just checked, has as many support functions for each attribute.
        let hash = unsafe { pg_sys::index_getprocid(open.raw(), *column as i16 + 1, SCOPE_HASH) };
        hash != Oid::INVALID
    };
    let documents: Vec<usize> = (0..count).filter(|column| !is_scope(column)).collect();
    let [document] = documents[..] else {
        let hint = if documents.is_empty() {
            "Use a text, an array or a minlsh_document. Cast other types, as in ((body::text))."
                .to_owned()
        } else {
            format!(
                "Join several texts in one expression, as in (({JOINED})). Give a text that is compared by \
                 =, such as a tenant, its operator class, as in (tenant minlsh_text_scope_ops, body)."
            )
        };
        return Err(not_supported(format!(
            "a minlsh index must have exactly one document column, not {}",
            documents.len()
        ))
        .set_hint(hint));
    };
    // An operator class that stores something else would have the B-tree read what is not there.
    for (column, attribute) in open.attributes().enumerate() {
        let stored = if column == document { pg_sys::TIDOID } else { pg_sys::CHAROID };
        if attribute.atttypid != stored {
            return Err(cannot_serve(column));
        }
    }
    Ok(Layout::new(count, document))
}

/// The error of an operator class that is made for something else, that of a column (from 0).
fn cannot_serve(column: usize) -> SqlError {
    let column = column + 1;
    not_supported(format!("the operator class of column {column} cannot serve a minlsh index"))
        .set_hint("Use amvalidate() to see what is wrong with it.")
}

/// Support function 1 of a B-tree: comparison.
const COMPARE: i16 = 1;
/// Support function 4 of a B-tree: whether equal keys have equal bytes.
const EQUAL_IMAGE: i16 = 4;

/// `amvalidate`: false, with an INFO for each reason, if the class is incomplete or inconsistent.
#[pg_guard]
pub unsafe extern "C-unwind" fn amvalidate(operator_class: Oid) -> bool {
    answer(|| {
        let Some(class) = CatalogRow::<pg_sys::FormData_pg_opclass>::find(operator_class) else {
            pgrx::error!("cache lookup failed for operator class {}", operator_class.to_u32());
        };
        let (family, input) = (class.opcfamily, class.opcintype);
        // A type that is stored as it is has no storage type of its own.
        let stored = if class.opckeytype == Oid::INVALID { input } else { class.opckeytype };
        let problems = problems(family, input, stored);
        for problem in &problems {
            pgrx::info!("operator class for type {}: {problem}", type_label(input));
        }
        Ok(problems.is_empty())
    })
}

/// The problems of the operator class of a family for values of a type, stored as another.
fn problems(family: Oid, input: Oid, is_stored: Oid) -> Vec<String> {
    let function = |number: i16| function_of_family(family, input, number);
    let is_scope = function(SCOPE_HASH as i16) != Oid::INVALID;
    let mut problems = Vec::new();
    let stored = if is_scope { pg_sys::CHAROID } else { pg_sys::TIDOID };
    if is_stored != stored {
        problems.push(format!("it must have STORAGE {}", type_label(stored)));
    }
    if argument_types(function(COMPARE)) != [stored; 2] {
        problems.push(format!("support function 1 must compare values of {}", type_label(stored)));
    }
    if function(EQUAL_IMAGE) != Oid::from(pg_sys::F_BTEQUALIMAGE) {
        problems.push("support function 4 must be btequalimage".to_owned());
    }
    if is_scope && !takes(function(SCOPE_HASH as i16), input) {
        let label = type_label(input);
        problems.push(format!("support function {SCOPE_HASH} must take values of {label}"));
    }
    if !is_scope && !is_readable(family, input) {
        problems.push(
            "it must be for text, anyarray, integer[] (signatures) or minlsh_document".to_owned(),
        );
    }
    let (cache, operator) =
        (pg_sys::SysCacheIdentifier::AMOPSTRATEGY, |_: &pg_sys::FormData_pg_amop| ());
    // Which types its operators take differs from class to class.
    // SAFETY: rows of pg_amop, by their family.
    if unsafe { catalog::listed(cache, Datum::from(family), operator) }.is_empty() {
        problems.push("its family has no operator".to_owned());
    }
    problems
}

/// True if the first argument of a function is passed as values of that type are: some types are hashed as others.
fn takes(function: Oid, input: Oid) -> bool {
    let same = |argument| TypeStorage::of(argument) == TypeStorage::of(input);
    let argument = argument_types(function).first().copied();
    argument.is_some_and(|argument| argument == pg_sys::INTERNALOID || same(argument))
}

/// The types of the arguments of a function; none if there is no such function.
fn argument_types(function: Oid) -> Vec<Oid> {
    let Some(row) = CatalogRow::<pg_sys::FormData_pg_proc>::find(function) else {
        return Vec::new();
    };
    // SAFETY: `pg_proc` has as many types in `proargtypes` as `pronargs` says, behind one another.
    unsafe { row.proargtypes.values.as_slice(row.pronargs.max(0) as usize).to_vec() }
}

/// True if an operator class for values of that type can be one for documents: the values are read as such.
fn is_readable(family: Oid, input_type: Oid) -> bool {
    Kind::of_class(family, input_type) != Kind::Document || is_document(input_type)
}
