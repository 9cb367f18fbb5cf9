//! `near_duplicate_clusters()`: verified pairs, put together.

use pgrx::pg_sys::Datum;

use crate::error::{Result, invalid_parameter};
use crate::functions::checkpoint;
use crate::pg::call::{Call, float8_datum, sql_function};
use crate::pg::rows::ResultRows;
use crate::pg::spi::Session;
use crate::query::corpus::collection::Part;
use crate::query::corpus::grouping::{self, Cluster, Ranks, leader_clusters, single_linkage};
use crate::query::corpus::work::Work;
use crate::query::question::Question;

sql_function!(minlsh_near_duplicate_clusters, near_duplicate_clusters);

/// `near_duplicate_clusters(index, threshold, verify, linkage) →
/// (doc_id, cluster_id, similarity, size, weakest_link)`
fn near_duplicate_clusters(call: &Call) -> Result<Option<Datum>> {
    let result = ResultRows::start(call)?;
    let question = Question::read(call, 0, 1, 2)?;
    let linkage = linkage(call, 3)?;
    let session = Session::open();
    let mut work = Work::start(&question, &session)?;
    let parts = work.parts.clone();
    let ranks = Ranks::of(&parts[0].keys.sorted(), work.identical.documents());
    let mut clusters = linkage(&mut work, &ranks)?;
    grouping::sort(&mut clusters, &ranks);
    for cluster in &clusters {
        write(cluster, &parts[0], &result);
    }
    Ok(None)
}

/// How verified pairs make clusters.
type Linkage = fn(&mut Work, &Ranks) -> Result<Vec<Cluster>>;

fn linkage(call: &Call, argument: usize) -> Result<Linkage> {
    match call.text(argument)?.as_deref() {
        None | Some("single") => Ok(single_linkage),
        Some("leader") => Ok(leader_clusters),
        Some(other) => Err(invalid_parameter(format!("unknown value for linkage: \"{other}\""))
            .set_hint("It is \"single\" (connected components) or \"leader\" (every member is similar to the one that names the cluster).")),
    }
}

fn write(cluster: &Cluster, part: &Part, result: &ResultRows) {
    let representative = cluster.representative;
    let size = cluster.members.len() as i64 + 1;
    for &(document, similarity) in [(representative, 1.0)].iter().chain(&cluster.members) {
        checkpoint();
        result.push(&[
            Some(part.text(document)),
            Some(part.text(representative)),
            Some(float8_datum(similarity)),
            Some(Datum::from(size)),
            Some(float8_datum(cluster.weakest_link)),
        ]);
    }
}
