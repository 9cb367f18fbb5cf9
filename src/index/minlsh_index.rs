//! An open index of the access method, through which all other code reads it. It is checked when it is opened, so its
//! methods are safe. Also `amvalidate`, which checks whether an operator class can serve an index.
//!
//! The extension's own operator classes can. A superuser may create one for another type. It must have the same support
//! functions, except that a scope's hash function must suit its type. `amvalidate` and an open index share this code,
//! because CREATE INDEX does not call `amvalidate`.

use crate::document::kind::{Kind, is_document};
use crate::error::JOINED;
use crate::index::layout::{Layout, LockedPage, Meta, Role, SCOPE_HASH};
use crate::index::nbtree::META_BLOCK;
use crate::pg::catalog::{CatalogRow, access_method, function_of_family, operator_of_family};
use crate::pg::index::IndexColumn;
use crate::prelude::*;

/// An open index of the access method. A partitioned one has no pages.
pub struct MinlshIndex<'a> {
    open: &'a Open,
    /// The kind of the document column.
    pub kind: Kind,
    /// The layout of its entries in tuples.
    pub layout: Layout,
}

impl<'a> MinlshIndex<'a> {
    /// Checks an open relation.
    ///
    /// # Errors
    /// SQLSTATE 42809 if it is not an index of the access method. 0A000 unless exactly one column is a document, the
    /// others are scopes and ranges, and all have operator classes whose functions can be called.
    pub fn of(open: &'a Open) -> Result<Self> {
        let layout = layout(open)?;
        let IndexColumn { family, input_type, .. } = IndexColumn::of(open, layout.document);
        Ok(Self { open, kind: Kind::of_class(family, input_type), layout })
    }

    /// The relation.
    pub fn open(&self) -> &'a Open {
        self.open
    }

    /// True if rows that satisfy a condition have keys that can be computed from it. For an operator that someone has
    /// added to a column's family, every row is read.
    pub fn has_keys(&self, condition: &pg_sys::ScanKeyData) -> bool {
        let column = condition.sk_attno as usize - 1;
        if column == self.layout.document {
            let function = catalog::c_function(condition.sk_func.fn_oid);
            return function.is_some_and(|name| SEARCHES.contains(&name.as_slice()));
        }
        let IndexColumn { family, input_type: input, .. } = IndexColumn::of(self.open, column);
        let right = if condition.sk_subtype == Oid::INVALID { input } else { condition.sk_subtype };
        let operator = operator_of_family(family, input, right, condition.sk_strategy as i16);
        let hash = || function_of_family(family, right, SCOPE_HASH as i16);
        catalog::is_equality(operator) && (right == input || is_hash_of(hash(), right))
    }

    /// The content of its metapage.
    pub fn meta(&self) -> Result<Meta> {
        let page = LockedPage::of(self.open, META_BLOCK);
        page.meta().ok_or_else(|| self.damaged(META_BLOCK))
    }

    /// Locks a page of the tree for reading. An error if there is no such block.
    pub fn tree_page(&self, block: pg_sys::BlockNumber) -> Result<(LockedPage, pg_sys::BTPageOpaqueData)> {
        let page = (block < self.open.pages()).then(|| LockedPage::of(self.open, block));
        let page = page.and_then(|page| page.opaque().map(|opaque| (page, opaque)));
        page.ok_or_else(|| self.damaged(block))
    }

    /// The error for a page that cannot be read.
    pub fn damaged(&self, block: pg_sys::BlockNumber) -> SqlError {
        error(
            PgSqlErrorCode::ERRCODE_INDEX_CORRUPTED,
            format!("page {block} of minlsh index \"{}\" is damaged", self.open.name()),
        )
        .set_hint("Use REINDEX to build the index again. minlsh_check() lists what is wrong.")
    }
}

/// Number of the support function that only the operator class for passages has.
pub const PASSAGE_HASHES: u16 = 8;

impl Kind {
    /// The kind of documents that an operator class serves, by its family and input type.
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

/// The layout of an index of the access method, after a check of its columns.
fn layout(open: &Open) -> Result<Layout> {
    let class = open.class();
    if !matches!(class.relkind as u8, b'i' | b'I') || class.relam != access_method() {
        return Err(wrong_object(format!("\"{}\" is not a minlsh index", open.name())));
    }
    let mut roles = Vec::new();
    for (column, attribute) in open.attributes().enumerate() {
        let IndexColumn { input_type: input, .. } = IndexColumn::of(open, column);
        // SAFETY: an index of the access method, as just checked, has these support function numbers for each
        // attribute.
        let function = |number| unsafe { pg_sys::index_getprocid(open.raw(), column as i16 + 1, number) };
        let class = OperatorClass { input, stored: attribute.atttypid, function };
        if !class.problems().is_empty() {
            let message = format!("the operator class of column {} cannot serve a minlsh index", column + 1);
            return Err(not_supported(message).set_hint("Use amvalidate() to see what is wrong with it."));
        }
        roles.push(class.role());
    }
    let documents: Vec<usize> = (0..roles.len()).filter(|column| roles[*column] == Role::Document).collect();
    let [document] = documents[..] else {
        let hint = if documents.is_empty() {
            "Add a text, an array or a minlsh_document. Cast other types, as in ((body::text)).".to_owned()
        } else {
            format!(
                "Join several texts in one expression, as in (({JOINED})). Give a text that is compared by \
                 =, such as a tenant, its operator class, as in (tenant minlsh_text_scope_ops, body)."
            )
        };
        let message = format!("a minlsh index must have exactly one document column, not {}", documents.len());
        return Err(not_supported(message).set_hint(hint));
    };
    Ok(Layout::new(&roles, document))
}

/// Support function 1 of a B-tree: comparison.
const COMPARE: u16 = 1;
/// Support function 4 of a B-tree: true if equal keys have equal bytes.
const EQUAL_IMAGE: u16 = 4;

/// `amvalidate`: false, with an INFO for each reason, if the class is incomplete or inconsistent.
#[pg_guard]
pub unsafe extern "C-unwind" fn amvalidate(operator_class: Oid) -> bool {
    answer(|| {
        let Some(class) = CatalogRow::<pg_sys::FormData_pg_opclass>::find(operator_class) else {
            pgrx::error!("cache lookup failed for operator class {}", operator_class.to_u32());
        };
        let (family, input) = (class.opcfamily, class.opcintype);
        // A class without a storage type stores its input type.
        let stored = if class.opckeytype == Oid::INVALID { input } else { class.opckeytype };
        let function = |number| function_of_family(family, input, number as i16);
        let mut problems = OperatorClass { input, stored, function }.problems();
        let (cache, operator) = (pg_sys::SysCacheIdentifier::AMOPSTRATEGY, |_: &pg_sys::FormData_pg_amop| ());
        // SAFETY: this cache lists `pg_amop` by family.
        if unsafe { catalog::listed(cache, Datum::from(family), operator) }.is_empty() {
            problems.push("its family has no operator".to_owned());
        }
        for problem in &problems {
            pgrx::info!("operator class for type {}: {problem}", type_label(input));
        }
        Ok(problems.is_empty())
    })
}

/// An operator class: its input type, its stored type, and its support functions by number.
struct OperatorClass<F> {
    input: Oid,
    stored: Oid,
    function: F,
}

impl<F: Fn(u16) -> Oid> OperatorClass<F> {
    fn role(&self) -> Role {
        Role::of_class(self.input, (self.function)(SCOPE_HASH))
    }

    /// The reasons why an index cannot use its functions.
    fn problems(&self) -> Vec<String> {
        let (input, function, role) = (self.input, &self.function, self.role());
        let (stored, compare, name) = match role {
            Role::Document => (pg_sys::TIDOID, pg_sys::F_BTTIDCMP, "bttidcmp"),
            _ => (pg_sys::CHAROID, pg_sys::F_BTCHARCMP, "btcharcmp"),
        };
        let mut problems = Vec::new();
        if self.stored != stored {
            problems.push(format!("it must have STORAGE {}", type_label(stored)));
        }
        // Pages are written and read in the order of these functions.
        if function(COMPARE) != Oid::from(compare) {
            problems.push(format!("support function {COMPARE} must be {name}"));
        }
        if function(EQUAL_IMAGE) != Oid::from(pg_sys::F_BTEQUALIMAGE) {
            problems.push(format!("support function {EQUAL_IMAGE} must be btequalimage"));
        }
        let (passage, is_text) = (function(PASSAGE_HASHES), role == Role::Document && input == pg_sys::TEXTOID);
        if passage != Oid::INVALID
            && (!is_text || catalog::c_function(passage).as_deref() != Some(b"minlsh_passage_hashes"))
        {
            problems.push(format!("support function {PASSAGE_HASHES} is for texts alone"));
        }
        let known = [COMPARE, EQUAL_IMAGE, SCOPE_HASH, PASSAGE_HASHES];
        let others = (1..=PASSAGE_HASHES).filter(|other| !known.contains(other) && function(*other) != Oid::INVALID);
        problems.extend(others.map(|other| format!("it must not have a support function {other}")));
        if role == Role::Scope && !is_hash_of(function(SCOPE_HASH), input) {
            problems.push(format!(
                "support function {SCOPE_HASH} must be an immutable hash with a seed, as (value {}, seed bigint) \
                 RETURNS bigint",
                type_label(input)
            ));
        }
        let texts_and_sets = [pg_sys::TEXTOID, pg_sys::ANYARRAYOID, pg_sys::INT4ARRAYOID];
        if role == Role::Document && !texts_and_sets.contains(&input) && !is_document(input) {
            problems
                .push("it must be for text, anyarray, anyrange, integer[] (signatures) or minlsh_document".to_owned());
        }
        problems
    }
}

/// Types that PostgreSQL itself hashes with another type's function.
const HASHED_AS_OTHERS: [(Oid, u32); 7] = [
    (pg_sys::BOOLOID, pg_sys::F_HASHCHAREXTENDED),
    (pg_sys::BYTEAOID, pg_sys::F_HASHVARLENAEXTENDED),
    (pg_sys::CIDOID, pg_sys::F_HASHINT4EXTENDED),
    (pg_sys::DATEOID, pg_sys::F_HASHINT4EXTENDED),
    (pg_sys::TIMESTAMPTZOID, pg_sys::F_TIMESTAMP_HASH_EXTENDED),
    (pg_sys::XIDOID, pg_sys::F_HASHINT4EXTENDED),
    (pg_sys::XID8OID, pg_sys::F_HASHINT8EXTENDED),
];

/// True if `function` can hash values of type `input`: it is declared for this type, or for a type to which `input` is
/// binary-coercible.
fn is_hash_of(function: Oid, input: Oid) -> bool {
    if HASHED_AS_OTHERS.contains(&(input, function.to_u32())) {
        return true;
    }
    let Some(row) = CatalogRow::<pg_sys::FormData_pg_proc>::find(function) else { return false };
    // SAFETY: `proargtypes` of `pg_proc` has `pronargs` types.
    let arguments = unsafe { row.proargtypes.values.as_slice(row.pronargs.max(0) as usize) };
    let [argument, pg_sys::INT8OID] = *arguments else { return false };
    let is_any = catalog::type_kind(argument) == pg_sys::TYPTYPE_PSEUDO as u8;
    let is_taken = argument == input || !is_any && catalog::is_stored_as(input, argument);
    let is_plain = row.prokind as u8 == pg_sys::PROKIND_FUNCTION as u8
        && row.provolatile as u8 == pg_sys::PROVOLATILE_IMMUTABLE as u8
        && !row.proretset;
    is_taken && is_plain && row.prorettype == pg_sys::INT8OID
}

/// The functions of the operators that search for documents and passages.
const SEARCHES: [&[u8]; 8] = [
    b"minlsh_text_similar_document",
    b"minlsh_document_similar_text",
    b"minlsh_array_similar_document",
    b"minlsh_document_similar_array",
    b"minlsh_document_similar_document",
    b"minlsh_text_similar_text",
    b"minlsh_array_similar_array",
    b"minlsh_text_contains_passage",
];
