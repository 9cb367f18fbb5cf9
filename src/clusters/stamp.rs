//! Changes that triggers do not see.
//!
//! The stamp is a digest of the files of the documents and of the index, of the rows of the catalog that
//! describe them, and of our triggers. It differs after ATTACH and DETACH, TRUNCATE of a partition,
//! DISABLE TRIGGER, VACUUM FULL, REINDEX, a change of owner, and a restore. Of a row of the catalog its
//! writer counts, so what was changed and changed back differs as well.

use pgrx::pg_sys::{self, Oid};
use sketch::ElementHash;

use crate::clusters::tracked::Tracked;
use crate::pg::catalog::CatalogRow;
use crate::pg::dependency;
use crate::pg::index::Index;
use crate::pg::open::Open;
use crate::pg::relation::Lock;
use crate::pg::trigger::triggers;

/// A stamp of what a refresh has seen.
#[derive(Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The digest.
    pub digest: String,
    /// The reasons why triggers do not see every row that is written, also by replication.
    pub faults: Vec<String>,
}

/// The stamp of what is tracked by an index. All of it is locked.
pub fn of(tracked: &Tracked, index: &Index) -> Stamp {
    let mut faults = Vec::new();
    let mut parts: Vec<u32> = Vec::new();
    relation(tracked.documents.oid, &mut parts);
    relation(index.oid, &mut parts);
    for leaf in &tracked.leaves {
        relation(leaf.oid, &mut parts);
        for own in Index::of_table(leaf.oid).iter().filter(|own| own.method == index.method) {
            relation(own.oid, &mut parts);
        }
        let Some(open) = Open::relation(leaf.oid, Lock::Held) else { continue };
        let ours = triggers(&open).into_iter().filter(|trigger| tracked.is_noting(trigger));
        let mut watching = 0;
        for trigger in ours {
            let written = dependency::writer_of_trigger(trigger.oid).unwrap_or_default();
            parts.extend([trigger.oid.to_u32(), written, trigger.enabled.into()]);
            if !trigger.is_truncate() {
                let name = trigger.name.to_string_lossy();
                let fault = trigger.fault(true);
                let table = &leaf.name;
                faults.extend(
                    fault.map(|fault| format!("Trigger \"{name}\" of table \"{table}\" {fault}")),
                );
                watching += 1;
            }
        }
        // The record, and the one for what other triggers change.
        if watching < 2 {
            faults.push(format!("Table \"{}\" lacks a trigger", leaf.name));
        }
    }
    let bytes: Vec<u8> = parts.iter().flat_map(|part| part.to_le_bytes()).collect();
    Stamp { digest: format!("{:016x}", ElementHash::Xxh3.hash(&bytes)), faults }
}

fn relation(oid: Oid, parts: &mut Vec<u32>) {
    let Some(row) = CatalogRow::<pg_sys::FormData_pg_class>::find(oid) else { return };
    // SAFETY: of a row that is stored the header tells its writer.
    let writer = unsafe { row.header().t_choice.t_heap.t_xmin };
    parts.extend([oid.to_u32(), row.relfilenode.to_u32(), writer.into_inner()]);
}
