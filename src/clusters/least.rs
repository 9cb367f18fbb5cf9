//! The lowest similarity of a member of a cluster to its first one, by which a chain or a template is seen.

use std::collections::HashMap;

use ahash::RandomState;
use pgrx::pg_sys;
use sketch::clusters::ClusterId;
use sketch::corpus::{Hashes, LeftOut};
use sketch::memory;

use crate::clusters::tables::{AT_A_TIME, Tables};
use crate::corpus::groups::Emit;
use crate::corpus::groups::group::Group;
use crate::corpus::jobs::Question;
use crate::error::Result;
use crate::pg::call::float8_datum;
use crate::pg::document_keys::DocumentKeys;
use crate::pg::row::Continue;
use crate::pg::snapshot::ActiveSnapshot;
use crate::pg::spi::{Parameter, Session};
use crate::row_key::Key;

/// The lowest similarities of clusters that have different texts.
#[derive(Default)]
pub struct LeastOfEach(HashMap<ClusterId, f64, RandomState>);

impl LeastOfEach {
    /// Some of the clusters, and the lowest similarity of each, as parameters of a statement.
    pub fn of(&self, clusters: &[ClusterId]) -> [Parameter; 2] {
        let least = clusters.iter().map(|cluster| self.0.get(cluster).copied().unwrap_or(1.0));
        let least = least.map(|least| Some(float8_datum(least)));
        // SAFETY: numbers that were just made datums of that type.
        let least = unsafe { Parameter::array(least, pg_sys::FLOAT8OID) };
        [Parameter::int8s(clusters.iter().copied().map(Some)), least]
    }
}

/// Makes the question that a refresh asks.
pub type Ask<'a> = dyn for<'s> Fn(&'s Session) -> Result<Question<'s>> + 'a;

/// Compares the members of some clusters, as they have just been written, with those of the least keys. Of equal texts
/// one is compared.
pub fn least_similar(
    tables: &Tables,
    ask: &Ask,
    key: &Key,
    clusters: &[ClusterId],
) -> Result<LeastOfEach> {
    let mut keys = DocumentKeys::new(key.base_type, key.collation())?;
    let mut cluster_of = Vec::new();
    {
        let _as_written = ActiveSnapshot::of_transaction();
        for some in clusters.chunks(AT_A_TIME) {
            let some = Parameter::int8s(some.iter().copied().map(Some));
            tables.each(
                "SELECT cluster_id, doc_id
                 FROM (SELECT cluster_id, doc_id, count(*) OVER (PARTITION BY cluster_id) AS texts
                     FROM (SELECT DISTINCT ON (cluster_id, fingerprint) cluster_id, doc_id FROM {members}
                         WHERE cluster_id = ANY ($1) ORDER BY cluster_id, fingerprint, doc_id) AS d) AS t
                 WHERE texts > 1",
                &[some],
                |rows, row| {
                    let stored = (rows.int8(row, 1)?, rows.value(row, 2, tables.key)?);
                    if let (Some(cluster), Some(key)) = stored {
                        // SAFETY: `keys` was made for `tables.key`, which `value` has found this one to be of.
                        unsafe { keys.push(key)? };
                        memory::push(&mut cluster_of, cluster)?;
                    }
                    Ok(Continue::Yes)
                },
            )?;
        }
    }
    let mut least = LeastOfEach::default();
    if keys.len() == 0 {
        return Ok(least);
    }
    let session = Session::open();
    let mut work = ask(&session)?.of_keys(key, &keys)?;
    // The cluster of each document of the job, and its rank in the order of keys.
    let sorted = keys.sorted();
    let mut ranks = memory::filled(0, keys.len())?;
    for (rank, at) in (0_u32..).zip(&sorted) {
        ranks[*at as usize] = rank;
    }
    let places = (0..work.members.len()).map(|name| {
        // SAFETY: `question` names the key column of the documents, whose base type `tables.key` is, and `keys` was
        // made for.
        let at = unsafe { keys.find(&sorted, work.members.stored(name)) };
        at.map(|at| (cluster_of[at as usize], ranks[at as usize]))
    });
    let places = memory::collect(places)?;
    work.batches.each(
        &|group: &mut Group, emit: &mut Emit<(ClusterId, f64)>| {
            let documents = 0..group.len() as u32;
            let placed =
                documents.map(|document| (places[group.name(document) as usize], document));
            let mut placed = memory::collect(placed)?;
            placed.sort_unstable();
            let cluster_of =
                |of: &(Option<(ClusterId, u32)>, u32)| of.0.map(|(cluster, _)| cluster);
            for members in placed.chunk_by(|a, b| cluster_of(a) == cluster_of(b)) {
                let Some(cluster) = cluster_of(&members[0]) else { continue };
                let mut least = 1.0_f64;
                for (_, member) in &members[1..] {
                    group.check_interrupts()?;
                    least = least.min(group.measure(members[0].1, *member)?);
                }
                emit((cluster, least))?;
            }
            Ok(LeftOut::default())
        },
        &mut |(cluster, similarity)| {
            memory::insert_at(&mut least.0, cluster, similarity)?;
            Ok(())
        },
    )?;
    Ok(least)
}
