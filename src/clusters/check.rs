//! The check of tracked clusters by `minlsh_check()`. It reports what a refresh of all documents would change although
//! nothing was written since the last one, wrong sizes and similarities in the list, and members that contradict the
//! log.

use sketch::clusters::EventKind;

use crate::clusters::refresh::Refresh;
use crate::clusters::tracked::Tracked;
use crate::clusters::write::{LoggedEvent, listed};
use crate::pg::trigger::Trigger;
use crate::pg::value_type::Output;
use crate::prelude::*;

/// Finds contradictions to the list and the log. `$1` is the number of the log's last row.
///
/// The owner may delete old rows of the log, so its tail starts from an unknown state. A document that the tail names
/// must be in the cluster of its last event, and no other document may be in a cluster that has ended. An id is never
/// used again, so a document that was put into a cluster is now where that cluster's merges lead. A cycle of merges,
/// which someone may have written, leads nowhere.
const AUDIT: &str = "
    WITH RECURSIVE sized AS (
        SELECT cluster_id, count(*) AS members FROM {members} GROUP BY cluster_id
    ), ended AS (
        SELECT DISTINCT ON (cluster_id) cluster_id, heir
        FROM (SELECT other_id, cluster_id, seq FROM {log} WHERE event = 'merge' AND other_id IS NOT NULL
            UNION ALL SELECT cluster_id, NULL, seq FROM {log} WHERE event = 'dissolve') AS e (cluster_id, heir, seq)
        ORDER BY cluster_id, seq DESC
    ), led AS (
        SELECT cluster_id, heir FROM ended
        UNION SELECT l.cluster_id, e.heir FROM led AS l JOIN ended AS e ON e.cluster_id = l.heir
    ), heirs AS (
        SELECT e.cluster_id, l.heir FROM ended AS e LEFT JOIN
            (SELECT cluster_id, heir FROM led WHERE heir NOT IN (SELECT cluster_id FROM ended)) AS l USING (cluster_id)
    ), named AS (
        SELECT DISTINCT ON (doc_id) doc_id, CASE WHEN event <> 'leave' THEN cluster_id END AS cluster_id
        FROM {log} WHERE doc_id IS NOT NULL AND event IN ('join', 'move', 'leave')
        ORDER BY doc_id, seq DESC
    ), placed AS (
        SELECT doc_id, max(stored) AS stored, max(logged) AS logged, bool_or(is_named) AS is_named
        FROM (SELECT doc_id, cluster_id, NULL, false FROM {members}
            UNION ALL SELECT n.doc_id, NULL, CASE WHEN h.cluster_id IS NULL THEN n.cluster_id ELSE h.heir END, true
            FROM named AS n LEFT JOIN heirs AS h USING (cluster_id)) AS p (doc_id, stored, logged, is_named)
        GROUP BY doc_id
    ), whole AS (
        SELECT coalesce(min(seq), $1 + 1) = 1 AS is_whole FROM {log}
    ), problems AS (
        SELECT 4 AS step, 0::int8 AS number, doc_id, CASE
            WHEN NOT (is_named OR is_whole) THEN format('in cluster %s, which has ended by the log', stored)
            WHEN logged IS NULL THEN 'in no cluster by the log'
            ELSE format('in cluster %s by the log', logged) END AS problem
        FROM placed, whole WHERE CASE WHEN is_named OR is_whole THEN stored IS DISTINCT FROM logged
            ELSE EXISTS (SELECT FROM ended WHERE ended.cluster_id = stored) END
        UNION ALL SELECT 1, cluster_id, NULL,
            format('the listed size of cluster %s differs from the number of its members', cluster_id)
        FROM sized FULL JOIN {list} AS l USING (cluster_id) WHERE l.size IS DISTINCT FROM members
        UNION ALL SELECT 2, seq, NULL, format('the log has no row behind %s', seq)
        FROM (SELECT seq, lead(seq) OVER (ORDER BY seq) AS next FROM {log}) AS s WHERE next - 1 <> seq
        UNION ALL SELECT 3, 0, NULL, format('the log ends with row %s instead of %s', max(seq), $1)
        FROM {log} HAVING max(seq) <> $1
    )
    SELECT doc_id, problem FROM problems ORDER BY step, number, doc_id";

/// Finds clusters in the ids `$1` whose listed `least_similar` differs from the similarity in `$2`.
const LEAST: &str = "
    SELECT format('the listed least_similar of cluster %s differs from that of its members', cluster_id)
    FROM unnest($1, $2) AS n (cluster_id, least_similar) JOIN {list} AS l USING (cluster_id)
    WHERE l.least_similar <> n.least_similar ORDER BY cluster_id";

/// Checks the tracked clusters whose table of members is `name`; false if it is not such a table.
pub fn check(name: Oid, result: &ResultRows) -> Result<bool> {
    if !Tracked::is_one(name) {
        return Ok(false);
    }
    let tracked = Tracked::find(name, Lock::Read)?;
    let tables = tracked.open_tables(Lock::Read)?;
    let key = tables.key.base_type;
    let _sees_all = LocalSettings::of(&[(c"row_security", c"off")]);
    let output = Output::of(key);
    let report = |key: Option<TypedValue>, problem: &str| {
        result.push(&[key.map(|key| output.text(key)), Some(text::write(problem))]);
    };
    let refresh = Refresh::begin(&tracked, &tables)?;
    refresh.stamp.faults.iter().for_each(|fault| report(None, fault));
    // A refresh sees a table that has lost its rows without this trigger, so its fault alone is no reason to check.
    let documents = Open::relation(tracked.documents.oid, Lock::Held);
    let mut noting = documents.iter().flat_map(|table| tracked.noting(table));
    let truncate = noting.find(Trigger::is_truncate);
    if let Some(fault) = truncate.and_then(|of| of.fault(&tracked.documents.name, true)) {
        report(None, &fault);
    }
    if refresh.is_behind()? {
        report(None, "rows were written since the last refresh; refresh before you check");
        return Ok(true);
    }
    refresh.full()?.each_event(&mut |LoggedEvent { event, key, .. }| {
        let Some(event) = event else { return Ok(()) };
        let (cluster, other) = (event.cluster, event.other.unwrap_or_default());
        let problem = match event.kind {
            EventKind::Leave => {
                format!("in cluster {cluster}, but has no near-duplicate or no longer exists")
            }
            EventKind::Join => "missing from its cluster".to_owned(),
            EventKind::Move => format!("in another cluster than {cluster}"),
            EventKind::Merge => format!("clusters {cluster} and {other} belong together"),
            EventKind::Create | EventKind::Split | EventKind::Dissolve => return Ok(()),
        };
        report(key, &problem);
        Ok(())
    })?;
    let listed = listed(&tables)?;
    refresh.corpus().each_least_similar(&listed, |least| {
        tables.each(LEAST, least, |row| {
            report(None, row.text(1)?.unwrap_or_default());
            Ok(Continue::Yes)
        })
    })?;
    tables.each(AUDIT, &[Parameter::int8(refresh.state.last_seq)], |row| {
        let problem = row.text(2)?.unwrap_or_default();
        report(row.typed(1, key)?, problem);
        Ok(Continue::Yes)
    })?;
    Ok(true)
}
