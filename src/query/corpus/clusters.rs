//! `near_duplicate_clusters()`: the connected components of verified pairs.

use pgrx::pg_sys::Datum;
use sketch::corpus::{Components, Identical};

use crate::error::Result;
use crate::functions::checkpoint;
use crate::pg::call::{Call, float8_datum, sql_function};
use crate::pg::keys::Keys;
use crate::pg::rows::ResultRows;
use crate::pg::spi::Session;
use crate::query::corpus::collection::Collection;
use crate::query::corpus::verifier::Verifier;
use crate::query::question::Question;

sql_function!(minlsh_near_duplicate_clusters, near_duplicate_clusters);

/// `near_duplicate_clusters(index, threshold, verify) → (doc_id, cluster_id, similarity, size)`
fn near_duplicate_clusters(call: &Call) -> Result<Option<Datum>> {
    let result = ResultRows::start(call)?;
    let question = Question::read(call, 0, 1, 2)?;
    let session = Session::open();
    let Collection { keys, signatures, bands, hashes } = Collection::read(&question, &session)?;
    let mut verifier = Verifier::new(&question, &session, &keys, signatures);
    let identical = verifier.identical(&hashes)?;
    let mut components = Components::new(identical.documents());
    let mut failure = None;
    bands.connect(&identical, &mut components, &mut checkpoint, &mut |a, b| {
        checkpoint();
        failure.is_none()
            && verifier
                .similarity(a, b)
                .unwrap_or_else(|report| {
                    failure = Some(report);
                    None
                })
                .is_some()
    });
    if let Some(report) = failure {
        return Err(report);
    }
    let clusters = clusters(&identical, &mut components, &keys);
    drop(components);
    let mut names = Keys::new(&question.index.key)?;
    for cluster in &clusters {
        write(cluster, &keys, &mut names, &mut verifier, &result)?;
    }
    Ok(None)
}

/// The components of two or more documents, in the order of their least keys; each in the
/// order of its keys, so that its first document represents it.
fn clusters(identical: &Identical, components: &mut Components, keys: &Keys) -> Vec<Vec<u32>> {
    let mut members: Vec<(u32, u32)> = (0..identical.documents())
        .map(|document| (components.find(identical.leader(document)), document))
        .collect();
    members.sort_unstable();
    let mut clusters: Vec<Vec<u32>> = members
        .chunk_by(|a, b| a.0 == b.0)
        .filter(|cluster| cluster.len() > 1)
        .map(|cluster| {
            checkpoint();
            let mut cluster: Vec<u32> = cluster.iter().map(|(_, document)| *document).collect();
            cluster.sort_unstable_by(|a, b| keys.compare(*a, *b));
            cluster
        })
        .collect();
    clusters.sort_unstable_by(|a, b| keys.compare(a[0], b[0]));
    clusters
}

fn write(
    cluster: &[u32],
    keys: &Keys,
    names: &mut Keys,
    verifier: &mut Verifier,
    result: &ResultRows,
) -> Result<()> {
    let representative = cluster[0];
    let cluster_id = names.as_text(keys.datum(representative));
    for &document in cluster {
        checkpoint();
        let similarity = if document == representative {
            1.0
        } else {
            verifier.measure(representative, document)?
        };
        let doc_id = names.as_text(keys.datum(document));
        result.push(&[
            Some(doc_id),
            Some(cluster_id),
            Some(float8_datum(similarity)),
            Some(Datum::from(cluster.len() as i64)),
        ]);
        names.free(doc_id);
    }
    names.free(cluster_id);
    Ok(())
}
