//! `near_duplicate_bridges()`: the pairs without which a cluster would fall in two.

use pgrx::pg_sys::Datum;
use sketch::corpus::{Identical, LeftOut, Links, Side, pairs};
use sketch::memory;

use crate::corpus::arguments::{Arguments, Places};
use crate::corpus::group::Group;
use crate::corpus::members::Members;
use crate::corpus::work::{Work, report};
use crate::error::{Result, engine};
use crate::pg::call::{Call, float8_datum, sql_function};
use crate::pg::interrupts::check_interrupts;
use crate::pg::result_rows::ResultRows;
use crate::pg::spi::Session;
use crate::settings::bucket_limit;

sql_function!(minlsh_near_duplicate_bridges, near_duplicate_bridges);

const PLACES: Places = Places { threshold: 1, verify: 2, options: 6 };

/// `near_duplicate_bridges(source, threshold, [key], verify, body, ...) →
/// (cluster_id, doc_a, doc_b, similarity, size_a, size_b)`
fn near_duplicate_bridges(call: &Call) -> Result<Option<Datum>> {
    let result = ResultRows::start(call)?;
    let session = Session::open();
    let Work { members, mut batches } = Work::of_one(&session, &Arguments::of(call, PLACES), None)?;
    let mut left_out = LeftOut::default();
    batches.each(&mut |group| {
        left_out += write(group, &members, &result)?;
        Ok(())
    })?;
    report(left_out);
    Ok(None)
}

/// Gives out the bridges of a group. Copies count as one document, of which the first is shown.
fn write(group: &mut Group, members: &Members, result: &ResultRows) -> Result<LeftOut> {
    let identical = Identical::group(group)?;
    let mut links = Links::new(identical.documents()).map_err(engine)?;
    let left_out = pairs(group, &identical, &|_| Side::Both, bucket_limit(), &mut |_, pair| {
        links.push(pair).map_err(engine)
    })?;
    let (bridges, mut clusters) =
        links.bridges(&|leader| identical.members(leader).count() as u64).map_err(engine)?;
    if bridges.is_empty() {
        return Ok(left_out);
    }
    let least = |a: u32, b: u32| if members.compare(a, b).is_le() { a } else { b };
    let first_copy = |leader| identical.members(leader).map(|copy| group.name(copy)).reduce(least);
    // The least key of each cluster, at the place of its root.
    let all = (0..identical.documents()).map(|document| group.name(document));
    let mut names = memory::collect(all).map_err(engine)?;
    for document in 0..identical.documents() {
        check_interrupts();
        let root = clusters.find(identical.leader(document)) as usize;
        names[root] = least(names[root], group.name(document));
    }
    for bridge in bridges {
        check_interrupts();
        let cluster = names[clusters.find(bridge.link.a) as usize];
        let name = |leader| first_copy(leader).unwrap_or(cluster);
        let (a, b) = (name(bridge.link.a), name(bridge.link.b));
        let [size_a, size_b] = bridge.sizes.map(|size| Datum::from(size as i64));
        let (a, b, size_a, size_b) =
            if least(a, b) == a { (a, b, size_a, size_b) } else { (b, a, size_b, size_a) };
        let [cluster, a, b] = [cluster, a, b].map(|name| members.key(name));
        let similarity = float8_datum(bridge.link.similarity);
        result.push(&[cluster, a, b, similarity, size_a, size_b].map(Some));
    }
    Ok(left_out)
}
