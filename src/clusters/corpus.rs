//! The documents of tracked clusters as a corpus: which belong together now, and how similar the members of a cluster
//! are at least, by which a chain or a template is seen. Both ask the corpus job, without the links and ranks that
//! `near_duplicate_clusters()` shows.

use std::collections::HashMap;

use ahash::RandomState;
use sketch::Error;
use sketch::clusters::ClusterId;
use sketch::corpus::{Connected, Hashes, Identical, LeftOut, connect};

use crate::clusters::tables::{AT_A_TIME, Tables};
use crate::clusters::tracked::Tracked;
use crate::corpus::groups::Emit;
use crate::corpus::groups::group::Group;
use crate::corpus::jobs::{ApartKeys, Question, Work, linkage};
use crate::corpus::source::arguments::Arguments;
use crate::corpus::source::reader::Criteria;
use crate::pg::document_keys::DocumentKeys;
use crate::pg::names;
use crate::pg::relation::lock;
use crate::pg::snapshot::ActiveSnapshot;
use crate::prelude::*;

/// A hash of 128 bits of a normalised text: texts with the same one are copies, for they have the same shingles.
pub type Fingerprint = [u8; 16];

/// The documents of an index, to be compared as `near_duplicate_clusters()` compares them, but for pairs that somebody
/// decided are not copies. Their keys are those of the tracked column, also where the table has another key by now.
#[derive(Clone, Copy)]
pub struct TrackedCorpus<'a> {
    pub tracked: &'a Tracked,
    pub tables: &'a Tables,
    pub index: Oid,
    pub threshold: f64,
}

impl TrackedCorpus<'_> {
    pub fn question<'s>(&self, session: &'s Session) -> Result<Question<'s>> {
        let Self { tracked, tables, index, threshold } = *self;
        if !lock(index, Lock::Read) {
            return Err(wrong_state("the index of the tracked clusters was dropped meanwhile")
                .set_hint("Create it again, and track the clusters again."));
        }
        // There is no column of the empty name.
        let key = tracked.documents.column(tables.key.column);
        let key = key.map(|column| names::quoted(&column.name)).unwrap_or_default();
        let arguments = Arguments::new(&[
            ("source", text::write(&names::qualified(index))),
            ("threshold", float8_datum(threshold)),
            ("key_column", text::write(&key)),
        ]);
        let mut apart = DocumentKeys::new(tables.key.base_type, tables.key.collation())?;
        tables.each("SELECT a, b FROM {apart}", &[], |row| {
            for column in [1, 2] {
                if let Some(key) = row.typed(column, tables.key.base_type)? {
                    // SAFETY: `apart` was made for keys of the type that `typed` has found this one to be of.
                    unsafe { apart.push(key)? };
                }
            }
            Ok(Continue::Yes)
        })?;
        Ok(Question::new(session, &arguments, &["source"], false)?
            .with_apart(ApartKeys::new(apart)?))
    }

    /// Compares the members of clusters, as they have just been written, with the member of the least key. Calls
    /// `visit` with some of the clusters at a time, and the lowest similarity of each, as parameters of a statement. Of
    /// equal texts one is compared.
    pub fn each_least_similar(
        &self,
        clusters: &[ClusterId],
        mut visit: impl FnMut(&[Parameter; 2]) -> Result<()>,
    ) -> Result<()> {
        let mut memory = Memory::scratch(c"minlsh clusters of a statement");
        let session = Session::open();
        let mut question = None;
        for some in clusters.chunks(AT_A_TIME) {
            let (keys, cluster_of) = memory.run_and_reset(|| self.distinct_members(some))?;
            let mut least = HashMap::default();
            if keys.len() > 0 {
                let asked = question.take().map_or_else(|| self.question(&session), Ok)?;
                least = self.least_similar(question.insert(asked), &keys, &cluster_of)?;
            }
            memory.run_and_reset(|| {
                let clusters = Parameter::int8s(some.iter().copied().map(Some));
                let of = |cluster| Some(float8_datum(least.get(cluster).copied().unwrap_or(1.0)));
                // SAFETY: numbers that were just made datums of that type.
                let least = unsafe { Parameter::array(some.iter().map(of), pg_sys::FLOAT8OID) };
                visit(&[clusters, least])
            })?;
        }
        Ok(())
    }

    /// The members of those clusters that have different texts, one of each text, and the cluster of each.
    fn distinct_members(&self, clusters: &[ClusterId]) -> Result<(DocumentKeys, Vec<ClusterId>)> {
        let key = &self.tables.key;
        let mut keys = DocumentKeys::new(key.base_type, key.collation())?;
        let mut cluster_of = Vec::new();
        let _as_written = ActiveSnapshot::of_transaction();
        self.tables.each(
            "SELECT cluster_id, doc_id
             FROM (SELECT cluster_id, doc_id, count(*) OVER (PARTITION BY cluster_id) AS texts
                 FROM (SELECT DISTINCT ON (cluster_id, fingerprint) cluster_id, doc_id FROM {members}
                     WHERE cluster_id = ANY ($1) ORDER BY cluster_id, fingerprint, doc_id) AS d) AS t
             WHERE texts > 1",
            &[Parameter::int8s(clusters.iter().copied().map(Some))],
            |row| {
                let stored = (row.int8(1)?, row.typed(2, key.base_type)?);
                if let (Some(cluster), Some(key)) = stored {
                    // SAFETY: `keys` was made for keys of the type that `typed` has found.
                    unsafe { keys.push(key)? };
                    memory::push(&mut cluster_of, cluster)?;
                }
                Ok(Continue::Yes)
            },
        )?;
        Ok((keys, cluster_of))
    }

    /// The lowest similarity of each cluster of which `keys` has members, and `cluster_of` the cluster of each.
    fn least_similar(
        &self,
        question: &Question,
        keys: &DocumentKeys,
        cluster_of: &[ClusterId],
    ) -> Result<HashMap<ClusterId, f64, RandomState>> {
        let mut least = HashMap::default();
        let mut work = question.of_keys(&self.tables.key, keys)?;
        // The cluster of each document of the job, and its rank in the order of keys.
        let sorted = keys.sorted()?;
        let mut ranks = memory::filled(0, keys.len())?;
        for (rank, at) in (0_u32..).zip(&sorted) {
            ranks[*at as usize] = rank;
        }
        let places = (0..work.members.len()).map(|name| {
            // SAFETY: `question` names the key column of the documents, for whose base type `keys` was made.
            let at = unsafe { keys.find(&sorted, work.members.stored(name)) };
            at.map(|at| (cluster_of[at as usize], ranks[at as usize]))
        });
        let places = memory::collect(places)?;
        work.batches.each(
            &|group: &mut Group, emit: &mut Emit<(ClusterId, f64)>| least_of(group, &places, emit),
            &mut |(cluster, similarity)| {
                memory::insert_at(&mut least, cluster, similarity)?;
                Ok(())
            },
        )?;
        Ok(least)
    }
}

/// Gives out the lowest similarity of a member of each cluster in a group to its first one. `places` has the cluster
/// and the rank of each document by name.
fn least_of(
    group: &mut Group,
    places: &[Option<(ClusterId, u32)>],
    emit: &mut Emit<(ClusterId, f64)>,
) -> Result<LeftOut, Error> {
    let documents = 0..group.len() as u32;
    let placed = documents.map(|document| (places[group.name(document) as usize], document));
    let mut placed = memory::collect(placed)?;
    placed.sort_unstable();
    let cluster_of = |of: &(Option<(ClusterId, u32)>, u32)| of.0.map(|(cluster, _)| cluster);
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
}

/// Calls `visit` with the documents of all components of a job, one component after the other: the key of each, the
/// number of the component, and the fingerprint. Returns the number of documents that were read to find them.
pub fn components(
    work: Work,
    visit: &mut dyn FnMut(Datum, u32, Fingerprint) -> Result<()>,
) -> Result<u32> {
    let Work { members, mut batches, read } = work;
    let criteria = batches.criteria().clone();
    let mut components = 0;
    batches.each(
        &|group: &mut Group, emit: &mut Emit<ComponentMembers>| {
            components_of(group, &criteria, emit)
        },
        &mut |component: ComponentMembers| {
            for (name, print) in component {
                check_interrupts();
                visit(members.stored(name), components, print)?;
            }
            components += 1;
            Ok(())
        },
    )?;
    Ok(read)
}

/// The documents of a component by name, with their fingerprints.
type ComponentMembers = Vec<(u32, Fingerprint)>;

fn components_of(
    group: &mut Group,
    criteria: &Criteria,
    emit: &mut Emit<ComponentMembers>,
) -> Result<LeftOut, Error> {
    let identical = Identical::group(group)?;
    // minlsh.bucket_limit would make the result depend on the order of rows.
    let Connected { components: mut joined, left_out, .. } =
        connect(group, &identical, usize::MAX)?;
    for component in linkage::components_of(&identical, &mut joined)? {
        let mut found = memory::with_capacity(component.len())?;
        for document in component {
            group.check_interrupts()?;
            let print = |bytes: &[u8], check: Check| fingerprint(criteria, bytes, check);
            found.push((group.name(document), group.with_bytes(document, print)?));
        }
        emit(found)?;
    }
    Ok(left_out)
}

pub fn fingerprint(criteria: &Criteria, bytes: &[u8], check: Check) -> Result<Fingerprint, Error> {
    let print = criteria.reader.fingerprint(&criteria.config, bytes, check)?;
    Ok(print.to_be_bytes())
}
