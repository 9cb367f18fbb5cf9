//! A query of one table, written as text, for many executions as the caller.
//!
//! Names are written with their schemas, and values with casts to the types that operators and functions take, so that
//! each means one thing. A name in an expression of an index is written as the search path finds it. Before each use
//! the query is checked to read the table that was meant, to give what it gave, and to run no code of strangers.

use pgrx::pg_sys::{self, Oid};

use crate::error::{Result, SqlError, wrong_state};
use crate::pg::names::relation_name;
use crate::pg::plan::{PreparedPlan, Statement};
use crate::pg::rights::no_such_relation;
use crate::pg::row::{Continue, Row};
use crate::pg::spi::{Parameter, Session};
use crate::pg::sql::Sql;

/// A query of a table, to be planned.
#[derive(Default)]
pub struct Parts {
    /// The table; none to evaluate expressions of parameters.
    pub table: Option<Oid>,
    /// True if the rows of tables that inherit from it are left out.
    pub only: bool,
    pub columns: Vec<Sql>,
    pub conditions: Vec<Sql>,
    /// The SQL behind the conditions.
    pub order: &'static str,
    /// The types of its parameters.
    pub parameters: Vec<Oid>,
    /// True if it is worth the time to plan it for the values of its parameters.
    pub custom: bool,
    /// The thing that code in it may belong to, if others have stored some; for messages.
    pub stored: Option<String>,
}

/// A query, planned for many executions, which run as the caller.
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

    /// Runs it, up to its first row.
    pub fn first(&self, session: &Session, values: &[Parameter]) -> Result<Option<Row>> {
        self.check()?;
        session.first(&self.plan, values)
    }

    /// Runs it, and calls `visit` with each of its rows.
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

    /// Has PostgreSQL bring the query up to date, and sees that it reads the table that was meant,
    /// as a table, and gives what was promised. All that it locks stays locked: it is this query
    /// that runs then.
    fn check(&self) -> Result<()> {
        let is_current = self.plan.bring_up_to_date(|statement| {
            if !statement.is_of(self.table) || types(statement) != self.types {
                return Err(self.replaced());
            }
            self.stored.as_ref().map_or(Ok(()), |of| statement.check_code(of))
        })?;
        if is_current { Ok(()) } else { Err(self.replaced()) }
    }

    /// The type of a column of the result, from 0; invalid if there is no such column.
    pub fn type_of(&self, column: usize) -> Oid {
        self.types.get(column).copied().unwrap_or(Oid::INVALID)
    }

    /// The error of a query that has become another one.
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
