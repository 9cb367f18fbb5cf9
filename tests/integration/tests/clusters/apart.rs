//! Pairs that a user decided are not copies: all other pairs make the clusters, by brute force.

use minlsh_integration::{Client, Random, Run, database, texts};

use crate::model::{State, ids};
use crate::traps::{PLAIN, tracked};

/// Number of keys that are written. Some pairs of them are kept apart.
const KEYS: usize = 40;

/// A text of one of a few families, in which neighbours are similar, those further away are not, and many are equal.
fn body(random: &mut Random) -> String {
    let (family, first) = (random.below(3), random.below(8));
    format!("(SELECT string_agg(md5('{family} ' || w), ' ' ORDER BY w) FROM generate_series({first}, {first} + 30) w)")
}

fn key(random: &mut Random) -> usize {
    1 + random.below(KEYS)
}

/// Writes a few rows, and now and then a pair. Returns true if pairs were written.
fn write(client: &mut Client, random: &mut Random) -> bool {
    for _ in 0..=random.below(4) {
        let (key, body) = (key(random), body(random));
        let sql = match random.below(3) {
            0 => format!("DELETE FROM docs WHERE id = {key}"),
            _ => format!("INSERT INTO docs VALUES ({key}, {body}) ON CONFLICT (id) DO UPDATE SET body = excluded.body"),
        };
        client.run(&sql);
    }
    let (a, b) = (key(random), key(random));
    let sql = match random.below(8) {
        0 | 1 => {
            format!("INSERT INTO docs_clusters_apart VALUES ({a}, {b}) ON CONFLICT DO NOTHING")
        }
        2 => format!("DELETE FROM docs_clusters_apart WHERE a = {a} OR b = {a}"),
        _ => return false,
    };
    client.execute(&sql, &[]).expect("a pair") > 0
}

/// The components of all pairs but those that are kept apart.
fn components(client: &mut Client) -> Vec<Vec<i64>> {
    let pairs = client
        .query(
            "SELECT p.a, p.b FROM (SELECT doc_a::bigint, doc_b::bigint FROM near_duplicate_pairs('docs_near')) p (a, b)
             WHERE NOT EXISTS (SELECT FROM docs_clusters_apart d
                 WHERE (d.a, d.b) IN ((p.a, p.b), (p.b, p.a)))",
            &[],
        )
        .expect("pairs");
    let mut parts: Vec<Vec<i64>> = Vec::new();
    for pair in pairs {
        let (a, b): (i64, i64) = (pair.get(0), pair.get(1));
        let (mut joined, others): (Vec<_>, Vec<_>) =
            parts.into_iter().partition(|part| part.contains(&a) || part.contains(&b));
        joined.push(vec![a, b]);
        parts = others;
        let mut joined = joined.concat();
        joined.sort_unstable();
        joined.dedup();
        parts.push(joined);
    }
    parts
}

#[test]
fn pairs_that_are_no_copies_agree_with_brute_force() {
    let database = database();
    let mut client = tracked(&database, PLAIN);
    client.run(
        "INSERT INTO docs SELECT i, (SELECT string_agg(md5(i || ' ' || w), ' ')
             FROM generate_series(1, 10) w) FROM generate_series(1000, 1299) i;
             SELECT minlsh_refresh_clusters('docs_clusters')",
    );
    let mut random = Random::by_the_clock();
    println!("seed {}", random.seed());
    let (mut state, mut next, mut of_changes) = (State::new(), 1, 0);
    for round in 0..150 {
        let has_decided = write(&mut client, &mut random);
        let refresh = "SELECT was_full FROM minlsh_refresh_clusters('docs_clusters')";
        let was_full: bool = client.query_one(refresh, &[]).expect("a refresh").get(0);
        assert!(was_full || !has_decided, "round {round}");
        of_changes += u32::from(!was_full);
        let stored = client.query("SELECT doc_id, cluster_id FROM docs_clusters", &[]);
        let stored: State = stored.expect("members").iter().map(|row| (row.get(0), row.get(1))).collect();
        let expected = ids(&state, &components(&mut client), next);
        assert_eq!(stored, expected.0, "round {round}, full: {was_full}");
        (state, next) = expected;
    }
    assert!(of_changes > 20, "refreshes that looked at changes alone: {of_changes}");
    let problems = texts(&mut client, "SELECT problem FROM minlsh_check('docs_clusters')");
    assert_eq!(problems, Vec::<String>::new());
}
