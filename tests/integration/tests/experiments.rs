//! The experiments of `bench/experiments`, in a small size: they run on every version, and what
//! bench/EXPERIMENTS.md says about them holds. `make experiments` runs them in full.

use minlsh_integration::{Client, Run, database, texts};

const POSTS: &str = include_str!("../../../bench/experiments/posts.sql");
const ACCURACY: &str = include_str!("../../../bench/experiments/accuracy.sql");
const TIME: &str = include_str!("../../../bench/experiments/time.sql");
const BANDS: &str = include_str!("../../../bench/experiments/bands.sql");

fn run(client: &mut Client, script: &str) {
    // VACUUM cannot be sent together with other statements.
    let script = script.replace("VACUUM (FULL, ANALYZE)", "ANALYZE");
    client.run(&script);
}

fn all_true(client: &mut Client, query: &str) {
    for row in texts(client, query) {
        assert_eq!(row, "t", "{query}");
    }
}

#[test]
fn the_experiments_in_a_small_size() {
    let mut client = database().connect();
    client.run(
        "SET experiment.posts = 60; SET experiment.copies = 7; \
         SET experiment.seeds = 2; SET experiment.rounds = 1",
    );
    run(&mut client, POSTS);
    assert_eq!(texts(&mut client, "SELECT count(*) FROM posts"), ["480"]);
    // The generator does not depend on version or machine.
    let digest = "SELECT md5(string_agg(body, '' ORDER BY id)) FROM posts";
    assert_eq!(texts(&mut client, digest), ["fc3b385f3cba8543bcabfebda4677333"]);
    // Near-copies are near, and strangers are strangers.
    all_true(
        &mut client,
        "SELECT (a.post = b.post) = (jaccard(a.numbers, b.numbers) > 0.8) FROM posts a JOIN posts b ON a.id < b.id",
    );

    run(&mut client, ACCURACY);
    // Errors keep to theory; errors of fss stay below.
    all_true(
        &mut client,
        "SELECT m.rmse < t.rmse * CASE m.scheme WHEN 'fss' THEN 1 ELSE 1.25 END \
         FROM accuracy m JOIN accuracy t USING (num_perm) \
         WHERE m.scheme <> 'normal approximation' AND t.scheme = 'normal approximation'",
    );
    all_true(
        &mut client,
        "SELECT abs(normal_tails(1.959964) - 0.05) < 1e-6 AND abs(normal_tails(4) / 6.334248e-5 - 1) < 1e-5",
    );

    run(&mut client, TIME);
    assert_eq!(texts(&mut client, "SELECT count(*) FROM times"), ["15"]);

    run(&mut client, BANDS);
    // The S-curve predicts how many copies become candidates; bands chosen from a recall reach it.
    all_true(
        &mut client,
        "SELECT abs(candidates - predicted_candidates) < 0.5 AND candidates > 7 * coalesce(recall, 0) - 0.05 \
         FROM bands",
    );
    // What is verified exactly is right, and complete but for the recall.
    all_true(&mut client, "SELECT false_positives = 0 AND found > 0.99 * \"true\" FROM indexed WHERE verify = 'exact'");
    all_true(&mut client, "SELECT found >= 6.9 FROM queries");
}
