//! Code that others have stored, in expressions of their indexes and in casts of their types.
//!
//! A function of minlsh evaluates such expressions as the caller, where a plain SELECT would not. So it accepts a
//! function only if the owner has the caller's rights already: a superuser (all built-in functions), the caller, or a
//! member of the caller's role. Membership in an extension is not enough, because its owner may add functions to it.

use std::ffi::c_void;

use pgrx::pg_sys::{self, Node, NodeTag, Oid};
use pgrx::prelude::*;

use crate::error::{Result, SqlError, not_allowed};
use crate::pg::catalog::{self, CatalogRow, has_rights_of};
use crate::pg::names::type_label;
use crate::pg::relation::owner_of;
use crate::pg::rights::current_role;
use crate::pg::{text, versions};

/// A function, or a type with its own functions, that belongs to a role without the caller's rights: its kind and name,
/// for a message, and its owner.
type Foreign = (String, Oid);

/// The search of an expression for foreign code.
struct ForeignSearch {
    caller: Oid,
    found: Option<Foreign>,
}

/// Refuses expressions that run foreign code with the caller's rights. `of` names what they belong to.
///
/// # Safety
/// The nodes are valid trees of expressions, or null.
pub unsafe fn check(nodes: impl IntoIterator<Item = *mut Node>, of: &str) -> Result<()> {
    let mut search = ForeignSearch { caller: current_role(), found: None };
    let context = (&raw mut search).cast();
    // SAFETY: null or a valid tree, as # Safety asks; `context` points to a `ForeignSearch`, which `visit` expects.
    nodes.into_iter().any(|node| unsafe { visit(node, context) });
    search.found.map_or(Ok(()), |found| Err(refused(found, of)))
}

/// Refuses a type if reading its values runs foreign code with the caller's rights. `of` names what has the values.
pub fn check_type(type_oid: Oid, of: &str) -> Result<()> {
    let found = foreign_type(type_oid, current_role());
    found.map_or(Ok(()), |found| Err(refused(found, of)))
}

/// True if code of the table's owner runs with the owner's rights, in a security-restricted operation.
pub fn runs_restricted(table: Oid) -> bool {
    // SAFETY: reads globals of this backend.
    unsafe { pg_sys::InSecurityRestrictedOperation() && owner_of(table) == current_role() }
}

fn refused((label, owner): Foreign, of: &str) -> SqlError {
    // SAFETY: a look-up in the system caches, which returns null for a role that does not exist.
    let role = unsafe { text::from_cstring(pg_sys::GetUserNameFromId(owner, true)) };
    not_allowed(format!("{of} would run code of role \"{role}\" with your rights"))
        .set_detail(format!("It uses {label}, whose owner does not have your rights."))
        .set_hint("Use SET ROLE to ask as that role, or ALTER ... OWNER TO to give what is used to a superuser.")
}

#[pg_guard]
unsafe extern "C-unwind" fn visit(node: *mut Node, context: *mut c_void) -> bool {
    if node.is_null() {
        return false;
    }
    // SAFETY: PostgreSQL's walker passes a node of the tree, and the context that `check` gave it.
    unsafe {
        let search = &mut *context.cast::<ForeignSearch>();
        // A domain's checks run where its values are made, and so do the checks of a row's columns.
        if makes_values((*node).type_) {
            search.found = foreign_type(pg_sys::exprType(node), search.caller);
        }
        search.found.is_some()
            || pg_sys::check_functions_in_node(node, Some(is_foreign), context)
            || pg_sys::expression_tree_walker(node, Some(visit), context)
    }
}

/// True for nodes that make values of their type by calling its functions.
fn makes_values(tag: NodeTag) -> bool {
    matches!(tag, NodeTag::T_FuncExpr | NodeTag::T_CoerceToDomain | NodeTag::T_CoerceViaIO)
        || versions::JSON_EXPRESSION == Some(tag)
}

#[pg_guard]
unsafe extern "C-unwind" fn is_foreign(function: Oid, context: *mut c_void) -> bool {
    // SAFETY: PostgreSQL passes on the context that `check` gave it.
    let search = unsafe { &mut *context.cast::<ForeignSearch>() };
    if is_built_in(function) {
        return false;
    }
    let row = CatalogRow::<pg_sys::FormData_pg_proc>::find(function);
    let owner = row.map_or(Oid::INVALID, |row| row.proowner);
    if !has_rights_of(owner, search.caller) {
        // SAFETY: a look-up in the system caches, which takes any OID.
        let name = unsafe { text::from_cstring(pg_sys::format_procedure(function)) };
        search.found = Some((format!("function {name}"), owner));
    }
    search.found.is_some()
}

/// Returns a type whose values run foreign code when they are read: a domain, or a type with parts of such a type.
fn foreign_type(type_oid: Oid, caller: Oid) -> Option<Foreign> {
    let mut next = type_oid;
    while !is_built_in(next) {
        let element = catalog::element_type(next);
        if element != Oid::INVALID {
            next = element;
            continue;
        }
        let row = CatalogRow::<pg_sys::FormData_pg_type>::find(next)?;
        match row.typtype as u8 {
            // Only superusers create base types.
            b'b' | b'e' | b'p' => return None,
            _ if !has_rights_of(row.typowner, caller) => {
                return Some((format!("type {}", type_label(next)), row.typowner));
            }
            b'd' => next = row.typbasetype,
            _ => return None,
        }
    }
    None
}

fn is_built_in(oid: Oid) -> bool {
    oid.to_u32() < pg_sys::FirstNormalObjectId
}
