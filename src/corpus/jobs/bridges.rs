//! `near_duplicate_bridges()`: the pairs without which a cluster would fall in two.

use pgrx::pg_sys::Datum;
use sketch::corpus::{ClusterLinks, Hashes, Identical, LeftOut, PairSide, pairs};
use sketch::{Error, memory};

use crate::corpus::groups::Emit;
use crate::corpus::groups::group::Group;
use crate::corpus::jobs::Work;
use crate::corpus::jobs::linkage::Ranks;
use crate::corpus::source::arguments::{Arguments, Positions};
use crate::pg::call::{Call, float8_datum, sql_function};
use crate::pg::result_rows::ResultRows;
use crate::pg::spi::Session;

sql_function!(minlsh_near_duplicate_bridges, near_duplicate_bridges);

const POSITIONS: Positions = Positions { threshold: 1, verify: 2, options: 6 };

/// `near_duplicate_bridges(source, threshold, verify, body, ...) →
/// (cluster_id, doc_a, doc_b, similarity, size_a, size_b)`
fn near_duplicate_bridges(call: &Call) -> crate::error::Result<Option<Datum>> {
    let result = ResultRows::start(call)?;
    let session = Session::open();
    let Work { members, mut batches, .. } =
        Work::of_one(&session, &Arguments::of(call, POSITIONS), None)?;
    // In the order of keys.
    let ranks = Ranks::of(&members.sorted())?;
    batches.each(
        &|group: &mut Group, emit: &mut Emit<Bridge>| of_group(group, &ranks, emit),
        &mut |Bridge { cluster, ends, similarity, sizes }: Bridge| {
            let [cluster, a, b] = [cluster, ends[0], ends[1]].map(|name| members.key(name));
            let [size_a, size_b] = sizes.map(|size| Datum::from(size as i64));
            let similarity = float8_datum(similarity);
            result.push(&[cluster, a, b, similarity, size_a, size_b].map(Some));
            Ok(())
        },
    )?;
    Ok(None)
}

/// A bridge, by the names of documents.
struct Bridge {
    cluster: u32,
    ends: [u32; 2],
    similarity: f64,
    sizes: [u64; 2],
}

/// The bridges of a group. Copies count as one document, of which the first is shown.
fn of_group(group: &mut Group, ranks: &Ranks, emit: &mut Emit<Bridge>) -> Result<LeftOut, Error> {
    let identical = Identical::group(group)?;
    let limit = group.limit();
    let mut links = ClusterLinks::new(identical.documents())?;
    let left_out =
        pairs(group, &identical, &|_| PairSide::Both, limit, &mut |_, pair| links.push(pair))?;
    let (bridges, mut clusters) =
        links.bridges(&|leader| identical.members(leader).count() as u64)?;
    if bridges.is_empty() {
        return Ok(left_out);
    }
    let least = |a: u32, b: u32| if ranks.rank(a) <= ranks.rank(b) { a } else { b };
    // The least key of each cluster, at the place of its root.
    let all = (0..identical.documents()).map(|document| group.name(document));
    let mut names = memory::collect(all)?;
    for document in 0..identical.documents() {
        group.check_interrupts()?;
        let root = clusters.find(identical.leader(document)) as usize;
        names[root] = least(names[root], group.name(document));
    }
    for bridge in bridges {
        group.check_interrupts()?;
        let cluster = names[clusters.find(bridge.link.a) as usize];
        let name = |leader| {
            let copies = identical.members(leader).map(|copy| group.name(copy));
            copies.reduce(least).unwrap_or(cluster)
        };
        let (a, b) = (name(bridge.link.a), name(bridge.link.b));
        let [size_a, size_b] = bridge.sizes;
        let (ends, sizes) =
            if least(a, b) == a { ([a, b], [size_a, size_b]) } else { ([b, a], [size_b, size_a]) };
        emit(Bridge { cluster, ends, similarity: bridge.link.similarity, sizes })?;
    }
    Ok(left_out)
}
