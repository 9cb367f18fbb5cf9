//! The triggers that keep a side table equal to its user's table.
//!
//! One pass over a transition table serves a statement of any size. Two cases need a trigger
//! for each row: a statement aimed at a partition (or an inheritance child) does not fire its
//! parent's statement triggers, and the apply worker of logical replication fires none at all.

use pgrx::pg_sys::Oid;

use crate::error::{Result, invalid_parameter};
use crate::index::home::Home;
use crate::pg::names::{literal, object_name, qualified, quoted};
use crate::pg::relation::Relation;
use crate::pg::spi::{Access, Parameter, Session};

/// Which triggers an index has, and when they fire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Firing {
    /// For each statement.
    Statement,
    /// For each row.
    Row,
    /// For each row, also of changes that come through logical replication.
    Replica,
}

impl Firing {
    /// What `triggers => 'auto' | 'row' | 'replica'` means for a table.
    pub fn of(option: &str, needs_rows: bool) -> Result<Self> {
        match option {
            "auto" if needs_rows => Ok(Self::Row),
            "auto" => Ok(Self::Statement),
            "row" => Ok(Self::Row),
            "replica" => Ok(Self::Replica),
            other => Err(invalid_parameter(format!("unknown value for triggers: \"{other}\""))
                .set_hint("It is \"auto\", \"row\", or \"replica\".")),
        }
    }

    /// What the triggers of an index tell of how they were made.
    pub fn of_existing(triggers: &[Existing]) -> Self {
        match triggers.iter().find(|trigger| trigger.for_each_row) {
            None => Self::Statement,
            Some(trigger) if trigger.enabled == "A" => Self::Replica,
            Some(_) => Self::Row,
        }
    }

    /// How many triggers it takes on a table.
    pub fn trigger_count(self, relation: &Relation) -> usize {
        triggers(("key", "body"), self, relation).len()
    }
}

/// The events of one trigger, and its suffix.
struct Trigger {
    suffix: &'static str,
    events: String,
}

/// Creates the triggers of index `name` on `relation`.
pub fn create(
    session: &Session,
    home: &Home,
    relation: &Relation,
    name: &str,
    columns: (&str, &str),
    firing: Firing,
) -> Result<()> {
    let table = qualified(relation.oid);
    for trigger in triggers(columns, firing, relation) {
        let trigger_name = quoted(&free_name(session, relation.oid, name, trigger.suffix)?);
        session.run(&format!(
            "CREATE TRIGGER {trigger_name} {events} EXECUTE FUNCTION {schema}.minlsh_sync({argument})",
            events = trigger.events.replace("$table", &table),
            schema = home.schema,
            argument = literal(name),
        ))?;
        if firing == Firing::Replica {
            session.run(&format!("ALTER TABLE {table} ENABLE ALWAYS TRIGGER {trigger_name}"))?;
        }
    }
    Ok(())
}

/// `<index>_<suffix>`, with a number where the names of two indexes are alike (when shortened, or
/// one of them a partition's, which gets the triggers of its parent).
fn free_name(session: &Session, relation: Oid, index: &str, suffix: &str) -> Result<String> {
    let mut label = suffix.to_owned();
    let mut number = 0;
    loop {
        let name = object_name(index, &label);
        let taken = session.query(
            "SELECT FROM pg_trigger WHERE tgname = $2::name \
             AND (tgrelid = $1 OR tgrelid IN (SELECT relid FROM pg_partition_tree($1::regclass)))",
            &[Parameter::oid(relation), Parameter::text(&name)],
            Access::Write,
        )?;
        if taken.is_empty() {
            return Ok(name);
        }
        number += 1;
        label = format!("{suffix}{number}");
    }
}

fn triggers((key, body): (&str, &str), firing: Firing, relation: &Relation) -> Vec<Trigger> {
    let trigger = |suffix, events: &str| Trigger { suffix, events: events.to_owned() };
    // PostgreSQL keeps the columns of UPDATE OF right through every rename, dump and restore:
    // this trigger is the record of what the index covers (see minlsh_covered_columns), and it
    // keeps a covered column from being dropped or retyped unawares.
    let columns = if key == body {
        quoted(key) // a text that is its own key: no column may be listed twice
    } else {
        format!("{}, {}", quoted(key), quoted(body))
    };
    let covered = format!("AFTER TRUNCATE OR UPDATE OF {columns} ON $table FOR EACH STATEMENT");
    let mut triggers = vec![trigger("truncate", &covered)];
    if relation.is_temporary() {
        // ON COMMIT DELETE ROWS fires no trigger, and the catalog does not know of it.
        triggers.push(trigger("before", "BEFORE INSERT ON $table FOR EACH STATEMENT"));
    }
    if firing == Firing::Statement {
        // PostgreSQL allows transition tables for one event and all columns only.
        triggers.extend([
            trigger(
                "insert",
                "AFTER INSERT ON $table REFERENCING NEW TABLE AS minlsh_new FOR EACH STATEMENT",
            ),
            trigger(
                "update",
                "AFTER UPDATE ON $table REFERENCING OLD TABLE AS minlsh_old \
                 NEW TABLE AS minlsh_new FOR EACH STATEMENT",
            ),
            trigger(
                "delete",
                "AFTER DELETE ON $table REFERENCING OLD TABLE AS minlsh_old FOR EACH STATEMENT",
            ),
        ]);
    } else {
        // Without a column list: a BEFORE trigger may change a column that no SET names.
        triggers.push(trigger("row", "AFTER INSERT OR UPDATE OR DELETE ON $table FOR EACH ROW"));
    }
    triggers
}

/// A trigger as the catalog has it.
pub struct Existing {
    /// `pg_trigger.oid`
    pub oid: Oid,
    /// Its name.
    pub name: String,
    /// `pg_trigger.tgenabled`: `O` and `A` fire for an ordinary writer.
    pub enabled: String,
    /// FOR EACH ROW
    pub for_each_row: bool,
}

/// The triggers that index `name` has on `relation`.
pub fn existing(
    session: &Session,
    home: &Home,
    relation: Oid,
    name: &str,
) -> Result<Vec<Existing>> {
    let rows = session.query(
        &format!(
            "SELECT t.oid, t.tgname::text, t.tgenabled::text, t.tgtype & 1 = 1 \
             FROM {}.minlsh_triggers($1::regclass, $2::name) AS t ORDER BY t.tgname",
            home.schema
        ),
        &[Parameter::oid(relation), Parameter::text(name)],
        Access::Write,
    )?;
    (0..rows.len())
        .map(|row| {
            Ok(Existing {
                oid: rows.oid(row, 1),
                name: rows.text(row, 2)?,
                enabled: rows.text(row, 3)?,
                for_each_row: rows.bool(row, 4),
            })
        })
        .collect()
}
