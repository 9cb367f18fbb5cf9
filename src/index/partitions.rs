//! Partitions that keep a partitioned index from being valid, and the statements that fix it.

use crate::pg::index::Index;
use crate::pg::names::qualified;
use crate::pg::relation::children;
use crate::pg::sql::{self, free_relation_name};
use crate::prelude::*;

/// A partition without a valid attached index.
pub struct Missing {
    /// Name of the partition.
    pub partition: String,
    /// The statements that fix it; `None` if none can, as for a foreign table.
    pub statements: Option<String>,
}

/// The partitions that keep an index from being valid; none if it is not partitioned. Locks their indexes.
pub fn missing(index: &Index) -> Vec<Missing> {
    if index.valid || catalog::relation_kind(index.oid) != b'I' {
        return Vec::new();
    }
    let attached = children(index.oid, Lock::Read);
    let lacking = |partition: Oid| {
        let indexes = Index::of_table(partition);
        let own = indexes.iter().find(|own| attached.contains(&own.oid));
        let statements = match own {
            Some(own) if own.valid => return None,
            Some(own) => Some(mended(index, own)),
            None if catalog::relation_kind(partition) == b'f' => None,
            None => attached_by(index, partition, &indexes),
        };
        Some(Missing { partition: visible_name(partition), statements })
    };
    children(index.table, Lock::Read).into_iter().filter_map(lacking).collect()
}

/// The statements that fix an attached index, or its own partitions.
fn mended(index: &Index, own: &Index) -> String {
    let attach = attach(index, &visible_name(own.oid));
    if catalog::relation_kind(own.oid) != b'I' {
        return format!("REINDEX INDEX {}; {attach}", visible_name(own.oid));
    }
    missing(own).into_iter().find_map(|missing| missing.statements).unwrap_or(attach)
}

fn attach(index: &Index, child: &str) -> String {
    format!("ALTER INDEX {} ATTACH PARTITION {child};", visible_name(index.oid))
}

/// The statements that attach an index of a partition: one of `indexes` if it is like the partitioned index, otherwise
/// a new one.
fn attached_by(index: &Index, partition: Oid, indexes: &[Index]) -> Option<String> {
    let definition = definition(index)?;
    let is_like = |own: &&Index| !catalog::is_partition(own.oid) && self::definition(own).as_ref() == Some(&definition);
    if let Some(own) = indexes.iter().find(is_like) {
        return Some(attach(index, &visible_name(own.oid)));
    }
    let schema = catalog::relation_schema(partition);
    let name = free_relation_name(schema, &sql::relation_name(partition), None, c"idx");
    let (name, table) = (quoted(&name.to_string_lossy()), visible_name(partition));
    // An index is in its table's schema.
    let child = match catalog::is_visible(partition) {
        true => name.clone(),
        false => {
            let schema = Sql::default().schema(schema);
            format!("{}.{name}", String::from_utf8_lossy(schema.as_ref()))
        }
    };
    Some(format!("CREATE INDEX {name} ON {table} {definition}; {}", attach(index, &child)))
}

/// The definition of an index, from USING on.
fn definition(index: &Index) -> Option<String> {
    let (name, table) = (quoted(&index.name), qualified(index.table));
    let whole = index.definition()?;
    let rest = whole.strip_prefix(&format!("CREATE INDEX {name} ON "))?;
    let rest = rest.strip_prefix("ONLY ").unwrap_or(rest);
    rest.strip_prefix(&format!("{table} ")).map(str::to_owned)
}

impl Missing {
    /// The partitions as a sentence, and a HINT with the statements.
    pub fn shown(all: &[Self]) -> Option<(String, String)> {
        let first = all.first()?;
        let names: Vec<&str> = all.iter().map(|missing| missing.partition.as_str()).collect();
        let detail = format!("No valid index is attached to it for: {}.", names.join(", "));
        let hint = match all.iter().find_map(|missing| missing.statements.as_ref()) {
            Some(statements) if all.len() == 1 => format!("Use {statements}"),
            Some(statements) => {
                format!("Use {statements} minlsh_check() lists the statements for all partitions.")
            }
            None => format!("Detach {}, or query without the index.", first.partition),
        };
        Some((detail, hint))
    }
}
