//! The expression of `agree`: an array for each document. Like `keep`, it is evaluated by the caller's own SELECT.

use std::ffi::CStr;

use crate::corpus::source::arguments::{Arguments, raw_text};
use crate::pg::select::{Select, SelectColumn, one_statement};
use crate::prelude::*;

const HINT: &str = "Pass the name of a column of arrays, or an expression over the columns of the source that gives \
     an array, such as 'codes(body)'.";

/// The expression of `agree`, with its type.
pub struct Agreeing {
    pub sql: Sql,
    pub type_oid: Oid,
    /// Type and collation of the elements.
    pub element: (Oid, Oid),
}

impl Agreeing {
    /// The expression, if it was passed, over the rows of `from`, the SQL after FROM.
    pub fn given(session: &Session, arguments: &Arguments, from: Sql) -> Result<Option<Self>> {
        let Some(datum) = arguments.raw("agree") else { return Ok(None) };
        let wrong = |cause: SqlError| cause.about("agree", HINT);
        let sql = expression(&raw_text(datum)?).map_err(wrong)?;
        let statement = Sql::new("SELECT ").text(&sql).text(" FROM ").text(&from).build();
        let select = Select::prepare(session, &statement, &[]).map_err(wrong)?;
        if !select.is_row_by_row() {
            let message = "agree must not contain aggregate or window functions";
            return Err(invalid_parameter(message).set_hint(HINT));
        }
        let columns = select.columns();
        let Some(&SelectColumn { type_oid, collation, .. }) = columns.first() else {
            return Ok(None);
        };
        let element = catalog::base_element_type(type_oid);
        if element == Oid::INVALID {
            let message = format!("agree gives values of type {}, not arrays", type_label(type_oid));
            return Err(type_mismatch(message).set_hint(HINT));
        }
        Ok(Some(Self { sql, type_oid, element: (element, collation) }))
    }
}

/// Checks that a text is a single expression. COALESCE does not allow set-returning functions.
fn expression(text: &CStr) -> Result<Sql> {
    let sql = Sql::new("COALESCE((").text(text.to_bytes()).text("\n), NULL)");
    let (_, node) = one_statement(&Sql::new("SELECT ").text(&sql).build())?;
    // SAFETY: a node of the parser. A node that starts with SELECT is a SelectStmt, whose lists are valid or null.
    let is_one = unsafe {
        let select = &*node.cast::<pg_sys::SelectStmt>();
        select.type_ == pg_sys::NodeTag::T_SelectStmt
            && select.op == pg_sys::SetOperation::SETOP_NONE
            && select.targetList.as_ref().is_some_and(|targets| targets.length == 1)
            && select.whereClause.is_null()
            && select.havingClause.is_null()
            && select.limitCount.is_null()
            && select.limitOffset.is_null()
            && select.intoClause.is_null()
            && [select.fromClause, select.groupClause, select.windowClause, select.sortClause]
                .iter()
                .all(|clause| clause.is_null())
            && select.lockingClause.is_null()
    };
    if is_one {
        return Ok(sql);
    }
    Err(wrong_syntax("it must be an expression and nothing else"))
}
