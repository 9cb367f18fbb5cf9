//! `near_duplicate_plan()`: what to remove so that no near-duplicates remain, and what to keep.

use pgrx::pg_sys::Datum;

use crate::error::{Result, invalid_parameter};
use crate::functions::checkpoint;
use crate::index::definition::Index;
use crate::pg::call::{Call, float8_datum, sql_function};
use crate::pg::keys::Keys;
use crate::pg::names::quoted;
use crate::pg::rows::ResultRows;
use crate::pg::spi::{Access, Session};
use crate::query::corpus::grouping::{self, Ranks, leader_clusters};
use crate::query::corpus::work::Work;
use crate::query::question::Question;

sql_function!(minlsh_near_duplicate_plan, near_duplicate_plan);

/// `near_duplicate_plan(index, threshold, keep, verify) → (doc_id, kept_id, similarity)`
fn near_duplicate_plan(call: &Call) -> Result<Option<Datum>> {
    let result = ResultRows::start(call)?;
    let question = Question::read(call, 0, 1, 3)?;
    let keep = call.text(2)?;
    let session = Session::open();
    let mut work = Work::start(&question, &session)?;
    let parts = work.parts.clone();
    let keys = &parts[0].keys;
    let order = match keep {
        Some(keep) => kept_first(&question.index, &session, keys, &keep)?,
        None => keys.sorted(),
    };
    let ranks = Ranks::of(&order, work.identical.documents());
    drop(order);
    let mut clusters = leader_clusters(&mut work, &ranks)?;
    grouping::sort(&mut clusters, &ranks);
    for cluster in &clusters {
        for &(document, similarity) in &cluster.members {
            checkpoint();
            let row = [parts[0].text(document), parts[0].text(cluster.representative)];
            result.push(&[Some(row[0]), Some(row[1]), Some(float8_datum(similarity))]);
        }
    }
    Ok(None)
}

/// The documents in the order in which the caller would keep them: `keep` is an ORDER BY list
/// over the columns of the table, `d`. It runs with the caller's rights.
fn kept_first(index: &Index, session: &Session, keys: &Keys, keep: &str) -> Result<Vec<u32>> {
    if keep.trim().is_empty() {
        return Err(invalid_parameter("keep must not be empty")
            .set_hint("It is an ORDER BY list, such as 'published_at DESC, length(body) DESC'; NULL keeps the least key."));
    }
    let sorted = keys.sorted();
    let key = quoted(&index.key.name);
    let plan = session.prepare(
        // A line of its own: the list may end in a comment.
        &format!(
            "SELECT d.{key} FROM {} AS d ORDER BY {keep}
, d.{key}",
            index.rows_of_relation()
        ),
        &[],
    )?;
    let mut order = Vec::with_capacity(keys.len());
    session.cursor(&plan, &[], Access::Read)?.each(|rows, row| {
        checkpoint();
        order.extend(rows.datum(row, 1).and_then(|key| keys.find(&sorted, key)));
        Ok(())
    })?;
    Ok(order)
}
