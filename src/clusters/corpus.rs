//! The documents of tracked clusters as a corpus: the current components, and the lowest similarity in each cluster,
//! which shows chains and templates. Both use the corpus job, without the links and ranks of
//! `near_duplicate_clusters()`.

use sketch::clusters::ClusterId;
use sketch::corpus::{Connected, Hashes, Identical, LeftOut, connect};
use sketch::dedup::{self, Emit, Form, Group, Terms};
use sketch::{Config, Result as Outcome};

use crate::clusters::tables::{APART, AT_A_TIME, Tables};
use crate::clusters::tracked::Tracked;
use crate::corpus::host::each_group;
use crate::corpus::jobs::{Question, Work};
use crate::corpus::source::arguments::Arguments;
use crate::pg::names;
use crate::pg::relation::lock;
use crate::pg::snapshot::ActiveSnapshot;
use crate::prelude::*;

/// A 128-bit hash of a normalised text. Texts with the same hash are copies: they have the same shingles.
pub type Fingerprint = [u8; 16];

/// The documents of an index, compared as `near_duplicate_clusters()` does, except for pairs that someone marked as
/// apart. Keys come from the tracked column, even if the table has another key by now.
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
        // No column has an empty name.
        let key = tracked.documents.column(tables.key.column);
        let key = key.map(|column| names::quoted(&column.name)).unwrap_or_default();
        let arguments = Arguments::new(&[
            ("source", text::write(&names::qualified(index))),
            ("threshold", float8_datum(threshold)),
            ("key_column", text::write(&key)),
            ("apart", text::write(&names::qualified(tracked.oids[APART]))),
        ]);
        let mut question = Question::new(session, &arguments, &["source"], false)?;
        // A refresh of changed documents finds pairs that share a band, so a refresh of all documents finds no others.
        question.criteria.whole = 0;
        Ok(question)
    }

    /// Compares the members of clusters with the member of the least key. `clusters` ascend, and were just written.
    /// Calls `visit` with some of the clusters at a time and the lowest similarity of each, as parameters of a
    /// statement. Of equal texts one is compared.
    pub fn each_least_similar(
        &self,
        clusters: &[ClusterId],
        mut visit: impl FnMut(&[Parameter; 2]) -> Result<()>,
    ) -> Result<()> {
        let mut memory = Memory::scratch(c"minlsh clusters of a statement");
        let session = Session::open();
        let mut question = None;
        for some in clusters.chunks(AT_A_TIME) {
            let (keys, clusters) = memory.run_and_reset(|| self.distinct_members(some))?;
            let mut least = memory::filled(1.0, some.len())?;
            if keys.len() > 0 {
                let asked = question.take().map_or_else(|| self.question(&session), Ok)?;
                self.least_similar(question.insert(asked), &keys, &clusters, &mut least)?;
            }
            memory.run_and_reset(|| {
                let clusters = Parameter::int8s(some.iter().copied().map(Some));
                let least = least.iter().map(|least| Some(TypedValue::float8(*least)));
                let least = Parameter::array(least, pg_sys::FLOAT8OID);
                visit(&[clusters, least])
            })?;
        }
        Ok(())
    }

    /// One member for each distinct text of the clusters, in the order of clusters and keys, with the position of its
    /// cluster. Clusters with a single text are left out.
    fn distinct_members(&self, clusters: &[ClusterId]) -> Result<(DocumentKeys, Vec<usize>)> {
        let key = &self.tables.key;
        let mut keys = DocumentKeys::new(key.base_type, key.collation())?;
        let mut places = Vec::new();
        let _as_written = ActiveSnapshot::of_transaction();
        self.tables.each(
            "SELECT cluster_id, doc_id
             FROM (SELECT cluster_id, doc_id, count(*) OVER (PARTITION BY cluster_id) AS texts
                 FROM (SELECT DISTINCT ON (cluster_id, fingerprint) cluster_id, doc_id FROM {members}
                     WHERE cluster_id = ANY ($1) ORDER BY cluster_id, fingerprint, doc_id) AS d) AS t
             WHERE texts > 1 ORDER BY cluster_id, doc_id",
            &[Parameter::int8s(clusters.iter().copied().map(Some))],
            |row| {
                let stored = (row.int8(1)?, row.typed(2, key.base_type)?);
                if let (Some(cluster), Some(key)) = stored
                    && let Ok(place) = clusters.binary_search(&cluster)
                {
                    keys.push(key)?;
                    memory::push(&mut places, place)?;
                }
                Ok(Continue::Yes)
            },
        )?;
        Ok((keys, places))
    }

    /// Finds the lowest similarity of each cluster with members in `keys`. `clusters` has the position in `least` for
    /// each key.
    fn least_similar(
        &self,
        question: &Question,
        keys: &DocumentKeys,
        clusters: &[usize],
        least: &mut [f64],
    ) -> Result<()> {
        let mut work = question.of_keys(&self.tables.key, keys)?;
        let sorted = keys.sorted()?;
        let members = &work.rows.members;
        let of_name = |name| keys.find(&sorted, members.stored(name));
        let numbers = memory::collect((0..members.len()).map(of_name))?;
        each_group(
            &mut work.groups,
            &work.rows,
            &|group: &mut Group, emit: &mut Emit<(usize, f64)>| least_of(group, &numbers, clusters, emit),
            &mut |(cluster, similarity)| {
                least[cluster] = similarity;
                Ok(())
            },
        )
    }
}

/// Emits the lowest similarity to the first member for each cluster in a group. `numbers` has the number of each
/// document by name, and `clusters` the cluster by number. Members of a cluster are consecutive.
fn least_of(
    group: &mut Group,
    numbers: &[Option<u32>],
    clusters: &[usize],
    emit: &mut Emit<(usize, f64)>,
) -> Outcome<LeftOut> {
    let documents = 0..group.len() as u32;
    let number = |document| numbers[group.name(document) as usize];
    let numbered = documents.filter_map(|document| Some((number(document)? as usize, document)));
    let mut numbered = memory::collect(numbered)?;
    numbered.sort_unstable();
    for members in numbered.chunk_by(|a, b| clusters[a.0] == clusters[b.0]) {
        let (number, first) = members[0];
        let mut least = 1.0_f64;
        for (_, member) in &members[1..] {
            group.check_interrupts();
            least = least.min(group.measure(first, *member)?);
        }
        emit((clusters[number], least))?;
    }
    Ok(LeftOut::default())
}

/// Calls `visit` with the documents of all components of a job, one component after another: key, number of the
/// component, and fingerprint. Returns the number of documents that were read.
pub fn components(work: Work, visit: &mut dyn FnMut(TypedValue, u32, Fingerprint) -> Result<()>) -> Result<u32> {
    let Work { rows, mut groups, read, .. } = work;
    let (terms, members) = (groups.terms().clone(), &rows.members);
    let mut components = 0;
    each_group(
        &mut groups,
        &rows,
        &|group: &mut Group, emit: &mut Emit<ComponentMembers>| components_of(group, &terms, emit),
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

/// The documents of a component, by name and fingerprint.
type ComponentMembers = Vec<(u32, Fingerprint)>;

fn components_of(group: &mut Group, terms: &Terms, emit: &mut Emit<ComponentMembers>) -> Outcome<LeftOut> {
    let identical = Identical::group(group)?;
    // minlsh.bucket_limit would make the result depend on the order of rows.
    let Connected { components: mut joined, left_out, .. } = connect(group, &identical, usize::MAX)?;
    for component in dedup::components_of(&identical, &mut joined)? {
        let mut found = memory::with_capacity(component.len())?;
        for document in component {
            group.check_interrupts();
            let print = |bytes: &[u8], check: Check| fingerprint(terms.form, &terms.config, bytes, check);
            found.push((group.name(document), group.with_bytes(document, print)?));
        }
        emit(found)?;
    }
    Ok(left_out)
}

pub fn fingerprint(form: Form, config: &Config, bytes: &[u8], check: Check) -> Outcome<Fingerprint> {
    Ok(form.fingerprint(config, bytes, check)?.to_be_bytes())
}
