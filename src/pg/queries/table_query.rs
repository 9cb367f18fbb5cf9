//! A query of one table, written as text, and run many times as the caller.
//!
//! Names are written with their schemas, and values with casts to the types that operators and functions take, so each
//! has one meaning. A name in an index expression is written as the search path finds it. Before each run the query is
//! checked: it must read the intended table, return the same types, and run no foreign code.

use pgrx::pg_sys::{self, Oid};

use crate::error::{Result, SqlError, wrong_state};
use crate::pg::names::relation_name;
use crate::pg::plan::{PreparedPlan, Statement};
use crate::pg::rights::no_such_relation;
use crate::pg::row::{Continue, Row};
use crate::pg::spi::Session;
use crate::pg::sql::Sql;
use crate::pg::typed_value::Parameter;

/// The parts of a query of a table.
#[derive(Default)]
pub struct Parts {
    /// The table; `None` to evaluate expressions of parameters.
    pub table: Option<Oid>,
    /// True to exclude rows of tables that inherit from it.
    pub only: bool,
    pub columns: Vec<Sql>,
    pub conditions: Vec<Sql>,
    /// SQL that follows the conditions.
    pub order: &'static str,
    /// The types of its parameters.
    pub parameters: Vec<Oid>,
    /// True to plan it for the values of its parameters.
    pub custom: bool,
    /// The object that stored code in it may belong to, for messages.
    pub stored: Option<String>,
}

/// A query that is planned for many runs as the caller.
pub struct TableQuery {
    plan: PreparedPlan,
    table: Option<Oid>,
    types: Vec<Oid>,
    stored: Option<String>,
}

impl TableQuery {
    pub fn prepare(session: &Session, query: &Parts) -> Result<Self> {
        let generic = if query.custom { 0 } else { pg_sys::CURSOR_OPT_GENERIC_PLAN };
        let plan = session.plan(&query.write()?, &query.parameters, generic)?.keep();
        let types = plan.statement().map(types).unwrap_or_default();
        Ok(Self { plan, table: query.table, types, stored: query.stored.clone() })
    }

    /// Runs it. Returns its first row.
    pub fn first(&self, session: &Session, values: &[Parameter]) -> Result<Option<Row>> {
        self.check()?;
        session.first(&self.plan, values)
    }

    /// Runs it, and calls `visit` with each row.
    pub fn each(
        &self,
        session: &Session,
        values: &[Parameter],
        visit: &mut dyn FnMut(&Row) -> Result<()>,
    ) -> Result<()> {
        self.check()?;
        let visit = &mut |row: &Row| visit(row).map(|()| Continue::Yes);
        session.each(&self.plan, values, None, visit)
    }

    /// Makes the query valid, and checks that it reads the intended table and returns the promised types. The query
    /// keeps its locks, so this is the one that runs next.
    fn check(&self) -> Result<()> {
        let is_current = self.plan.bring_up_to_date(|statement| {
            if !statement.is_of(self.table) || types(statement) != self.types {
                return Err(self.replaced());
            }
            self.stored.as_ref().map_or(Ok(()), |of| statement.check_code(of))
        })?;
        if is_current { Ok(()) } else { Err(self.replaced()) }
    }

    /// The type of column `column` (from 0) of the result; invalid if there is no such column.
    pub fn type_of(&self, column: usize) -> Oid {
        self.types.get(column).copied().unwrap_or(Oid::INVALID)
    }

    /// The error for a query that reads something else now.
    pub fn replaced(&self) -> SqlError {
        let table = self.table.map(relation_name).unwrap_or_default();
        wrong_state(format!("table \"{table}\" was replaced while it was being read")).set_hint("Retry the statement.")
    }
}

fn types(statement: Statement) -> Vec<Oid> {
    statement.columns(|attribute| attribute.atttypid)
}

impl Parts {
    fn write(&self) -> Result<Sql> {
        let mut text = Sql::new("SELECT ").list(&self.columns, ", ");
        if let Some(table) = self.table {
            text = text.text(if self.only { " FROM ONLY " } else { " FROM " });
            if relation_name(table).is_empty() {
                return Err(no_such_relation(table));
            }
            text = text.relation(table);
        }
        if !self.conditions.is_empty() {
            text = text.text(" WHERE (").list(&self.conditions, ") AND (").text(")");
        }
        Ok(text.text(self.order))
    }
}
