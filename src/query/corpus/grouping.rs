//! From components to clusters: who belongs together, and which document stands for them.

use sketch::corpus::{Components, Connected, Identical, LeftOut, leaders, weakest_link};

use crate::error::Result;
use crate::functions::checkpoint;
use crate::query::corpus::verifier::Verifier;
use crate::query::corpus::work::{Work, report};

/// In a cluster of more distinct documents not every two of them are compared for its weakest
/// link: a thousand make half a million comparisons.
const COMPARE_ALL: usize = 1000;

/// Documents that belong together.
pub struct Cluster {
    /// The document that stands for them: the first of them.
    pub representative: u32,
    /// The others, with the similarity to the representative, in order.
    pub members: Vec<(u32, f64)>,
    /// The weakest link that holds the cluster together.
    pub weakest_link: f64,
}

/// A place for each document in an order: in that of keys, or in that in which documents shall be
/// kept.
pub struct Ranks(Vec<u32>);

impl Ranks {
    /// The order in which `sorted` has the documents; those that it lacks come last.
    pub fn of(sorted: &[u32], documents: u32) -> Self {
        let mut ranks = vec![u32::MAX; documents as usize];
        for (rank, &document) in (0..).zip(sorted) {
            ranks[document as usize] = rank;
        }
        Self(ranks)
    }

    fn of_document(&self, document: u32) -> u32 {
        self.0[document as usize]
    }

    fn sort(&self, documents: &mut [u32]) {
        documents.sort_unstable_by_key(|document| self.of_document(*document));
    }
}

/// The connected components of two or more documents (single linkage), in order.
pub fn single_linkage(work: &mut Work, ranks: &Ranks) -> Result<Vec<Cluster>> {
    let Connected { mut components, links, .. } = work.connect()?;
    let mut weakest_of_tree = std::collections::HashMap::new();
    for link in &links {
        let weakest: &mut f64 = weakest_of_tree.entry(components.find(link.a)).or_insert(1.0);
        *weakest = weakest.min(link.similarity);
    }
    let components = members(&work.identical, &mut components);
    let verifier = &mut work.verifier;
    components
        .into_iter()
        .map(|(root, mut documents)| {
            let distinct = leaders_of(&work.identical, &documents);
            let weakest_link = match weakest_of_tree.get(&root) {
                Some(weakest) if distinct.len() > COMPARE_ALL => *weakest,
                _ => weakest_link(verifier, &distinct)?,
            };
            ranks.sort(&mut documents);
            let representative = documents[0];
            let members = documents[1..]
                .iter()
                .map(|&document| Ok((document, similarity(verifier, representative, document)?)))
                .collect::<Result<_>>()?;
            Ok(Cluster { representative, members, weakest_link })
        })
        .collect()
}

fn similarity(verifier: &mut Verifier, representative: u32, document: u32) -> Result<f64> {
    checkpoint();
    verifier.measure(representative, document)
}

/// Clusters in which every document is similar to the first of them, its leader: documents are
/// taken in order, and belong to the first leader that they are similar to.
pub fn leader_clusters(work: &mut Work, ranks: &Ranks) -> Result<Vec<Cluster>> {
    let Connected { mut components, .. } = work.connect()?;
    let components = members(&work.identical, &mut components);
    let mut clusters = Vec::new();
    let mut left_out = LeftOut::default();
    for (_, documents) in components {
        let (found, missed) = split(&mut work.verifier, &work.identical, &documents, ranks)?;
        clusters.extend(found);
        left_out += missed;
    }
    report(left_out);
    Ok(clusters)
}

/// The leader clusters of a component, those of two documents or more.
fn split(
    verifier: &mut Verifier,
    identical: &Identical,
    documents: &[u32],
    ranks: &Ranks,
) -> Result<(Vec<Cluster>, LeftOut)> {
    let first = |leader: &u32| identical.members(*leader).map(|d| ranks.of_document(d)).min();
    let mut distinct = leaders_of(identical, documents);
    distinct.sort_by_cached_key(first);
    // Who belongs to which leader; a leader to itself.
    let mut belongs: Vec<(u32, u32, f64)> = Vec::new();
    let limit = crate::settings::bucket_limit();
    let left_out = leaders(verifier, &distinct, limit, &mut |leader, member, similarity| {
        belongs.push((leader, member, similarity));
    })?;
    let assigned: std::collections::HashSet<u32> = belongs.iter().map(|b| b.1).collect();
    belongs.extend(distinct.iter().filter(|d| !assigned.contains(d)).map(|&d| (d, d, 1.0)));
    belongs.sort_unstable_by_key(|(leader, member, _)| (*leader, *member));
    let clusters = belongs.chunk_by(|a, b| a.0 == b.0).filter_map(|group| {
        checkpoint();
        let mut documents: Vec<(u32, f64)> = group
            .iter()
            .flat_map(|&(_, member, similarity)| {
                identical.members(member).map(move |d| (d, similarity))
            })
            .collect();
        documents.sort_unstable_by_key(|(document, _)| ranks.of_document(*document));
        let weakest_link = documents.iter().map(|(_, similarity)| *similarity).fold(1.0, f64::min);
        let representative = documents.remove(0).0;
        (!documents.is_empty()).then_some(Cluster {
            representative,
            members: documents,
            weakest_link,
        })
    });
    Ok((clusters.collect(), left_out))
}

/// The components of two or more documents, each with its root.
fn members(identical: &Identical, components: &mut Components) -> Vec<(u32, Vec<u32>)> {
    let mut by_root: Vec<(u32, u32)> = (0..identical.documents())
        .map(|document| (components.find(identical.leader(document)), document))
        .collect();
    by_root.sort_unstable();
    by_root
        .chunk_by(|a, b| a.0 == b.0)
        .filter(|component| component.len() > 1)
        .map(|component| {
            checkpoint();
            (component[0].0, component.iter().map(|(_, document)| *document).collect())
        })
        .collect()
}

/// Those of `documents` that are no copies of others.
fn leaders_of(identical: &Identical, documents: &[u32]) -> Vec<u32> {
    documents.iter().copied().filter(|document| identical.is_leader(*document)).collect()
}

/// Puts clusters in the order of their representatives.
pub fn sort(clusters: &mut [Cluster], ranks: &Ranks) {
    clusters.sort_unstable_by_key(|cluster| ranks.of_document(cluster.representative));
}
