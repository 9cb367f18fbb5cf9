//! Memory for one long text, in every SQL function: at most a stated multiple of it.
//!
//! A function that is new must get a row: in [`MEASURED`] or in [`WITHOUT_TEXTS`]. docs/guarantees.md has the
//! multiples.

use std::collections::BTreeSet;

use minlsh_integration::{Client, Database, Run, backend, database, own_memory, texts};

/// Words of 32 letters, and the bytes that they make.
const WORDS: usize = 60_000;
const BYTES: usize = 33 * WORDS;

/// Bytes that a function takes beside its texts: `work_mem` and `maintenance_work_mem`, which are low, the code that it
/// loads, and tables of texts that are not long.
const CONSTANT: usize = 24 << 20;

/// Texts that PostgreSQL does not compress: one with its nearly equal copy, one with a period.
const SCENE: &str = "
    CREATE TABLE two (a text, b text, c text, d text);
    ALTER TABLE two ALTER a SET STORAGE external, ALTER b SET STORAGE external, ALTER c SET STORAGE external,
        ALTER d SET STORAGE external;
    INSERT INTO two SELECT a, 'x' || a, repeat(md5('x') || ' ', WORDS), repeat(md5('x') || ' ', WORDS) || 'x'
        FROM (SELECT string_agg(md5(i::text), ' ') AS a FROM generate_series(1, WORDS) AS i) AS made;
    CREATE TABLE docs (id int PRIMARY KEY, body text);
    ALTER TABLE docs ALTER body SET STORAGE external;
    INSERT INTO docs SELECT 1, a FROM two UNION ALL SELECT 2, b FROM two;
    CREATE TABLE indexed (LIKE docs INCLUDING ALL);
    INSERT INTO indexed TABLE docs;
    CREATE INDEX ON indexed USING minlsh (body);
    CREATE TABLE quoted (LIKE docs INCLUDING ALL);
    INSERT INTO quoted TABLE docs;
    CREATE TABLE sided (LIKE docs INCLUDING ALL);
    SELECT minlsh_create_side_table('sided', 'body');
    INSERT INTO sided TABLE docs;
    CREATE TABLE tracked (LIKE docs INCLUDING ALL);
    INSERT INTO tracked TABLE docs;
    CREATE INDEX ON tracked USING minlsh (body);
    SELECT minlsh_track_clusters('tracked_body_idx', 0.8, 'groups');
    CREATE TABLE forms AS SELECT minlsh_document(a) AS document, minlsh_passage(a) AS passage,
        minlsh_passage(c) AS periodic, a::minlsh_key AS key FROM two;
    ALTER TABLE forms ALTER document SET STORAGE external, ALTER passage SET STORAGE external,
        ALTER periodic SET STORAGE external;
    CREATE TABLE labeled AS SELECT 1 AS id, a AS body FROM two UNION ALL SELECT i, b || i
        FROM two, generate_series(2, 3) AS i UNION ALL SELECT i, repeat('x ', i) FROM generate_series(4, 15) AS i;
    CREATE TABLE arrays AS SELECT string_to_array(a, ' ') AS elements, array_fill(1::float8, ARRAY[WORDS]) AS weights,
        string_to_array(b, ' ') AS others FROM two";

/// Statements, each behind the function that takes the memory and the bytes that it may take for each of the longest
/// text, with what the server takes for the values that it is given and gives.
const MEASURED: &str = "
    normalize_text 6: SELECT length(normalize_text(a)) FROM two
    tokens 6: SELECT cardinality(tokens(a)) FROM two
    shingles 16: SELECT cardinality(shingles(a)) FROM two
    shingle_hashes 28: SELECT cardinality(shingle_hashes(a)) FROM two
    minhash 6: SELECT minhash(a) FROM two
    minhash 6: SELECT minhash(a, 128, 3, 'word') FROM two
    minhash 6: SELECT minhash(elements) FROM arrays
    minhash_weighted 6: SELECT minhash_weighted(elements, weights) FROM arrays
    weighted_jaccard 6: SELECT weighted_jaccard(elements, weights, others, weights) FROM arrays
    minhash_agg 6: SELECT minhash_agg(element) FROM arrays, unnest(elements) AS element
    jaccard 12: SELECT jaccard(a, b) FROM two
    jaccard 12: SELECT jaccard(elements, others) FROM arrays
    jaccard 12: SELECT jaccard(b, document) FROM two, forms
    jaccard 12: SELECT jaccard(document, document) FROM forms
    containment 12: SELECT containment(a, b) FROM two
    containment 6: SELECT containment(elements, others) FROM arrays
    minlsh_similar 12: SELECT b ~= document FROM two, forms
    minlsh_similar 12: SELECT elements ~= minlsh_document(others) FROM arrays
    minlsh_document 6: SELECT length(minlsh_document(a)::text) FROM two
    minlsh_document_in 6: SELECT document::text::minlsh_document IS NULL FROM forms
    minlsh_document_out 6: SELECT length(document::text) FROM forms
    minlsh_document_send 6: SELECT length(minlsh_document_send(document)) FROM forms
    minlsh_passage 6: SELECT length(minlsh_passage(a)::text) FROM two
    minlsh_passage_in 6: SELECT passage::text::minlsh_passage IS NULL FROM forms
    minlsh_passage_out 6: SELECT length(passage::text) FROM forms
    minlsh_passage_send 6: SELECT length(minlsh_passage_send(passage)) FROM forms
    minlsh_contains 16: SELECT b ~> passage FROM two, forms
    minlsh_contains 16: SELECT d ~> periodic FROM two, forms
    minlsh_within 16: SELECT passage <~ b FROM two, forms
    codes 16: SELECT cardinality(codes(a)) FROM two
    passage_hashes 12: SELECT cardinality(passage_hashes(a)) FROM two
    shared_passages 16: SELECT count(*) FROM two, shared_passages(a, b)
    shared_passages 16: SELECT count(*) FROM two, shared_passages(a, b, 16)
    shared_passages 16: SELECT count(*) FROM two, shared_passages(c, d)
    passage_coverage 16: SELECT passage_coverage(a, b) FROM two
    passage_coverage 16: SELECT passage_coverage(a, b, 16) FROM two
    passage_coverage 16: SELECT passage_coverage(c, d) FROM two
    passage_coverage 16: SELECT passage_coverage(a, c) FROM two
    text_profile 6: SELECT count(*) FROM two, text_profile(a)
    text_profile_signature 6: SELECT text_profile_signature(a) FROM two
    minlsh_diff 12: SELECT count(*) FROM two, minlsh_diff(a, b)
    minlsh_marked_diff 12: SELECT length(minlsh_marked_diff(a, b)) FROM two
    minlsh_explain_texts 53400: SELECT jaccard FROM two, minlsh_explain_texts(a, b)
    minlsh_explain 53400: SELECT jaccard FROM minlsh_explain('indexed', 1, 2)
    near_duplicates 16: SELECT count(*) FROM near_duplicates(1, index => 'indexed')
    near_duplicates 16: SELECT count(*) FROM near_duplicates(1, index => 'sided')
    near_duplicates_of 16: SELECT count(*) FROM two, near_duplicates_of(a, index => 'indexed')
    nearest_documents 16: SELECT count(*) FROM nearest_documents(1, index => 'indexed')
    nearest_documents_of 16: SELECT count(*) FROM two, nearest_documents_of(a, index => 'indexed')
    near_duplicate_cluster_of 16: SELECT count(*) FROM near_duplicate_cluster_of(1, index => 'indexed')
    minlsh_recall 28: SELECT recall FROM minlsh_recall('indexed', 0.9)
    minlsh_check 6: SELECT count(*) FROM minlsh_check('indexed_body_idx')
    minlsh_check 6: SELECT count(*) FROM minlsh_check('sided')
    minlsh_create_side_table 6: SELECT minlsh_create_side_table('docs', 'body')
    minlsh_rebuild_side_table 6: SELECT minlsh_rebuild_side_table('sided')
    minlsh_sync 6: INSERT INTO sided SELECT 3, a FROM two
    minlsh_handler 12: CREATE INDEX ON quoted USING minlsh (body)
    minlsh_handler 12: CREATE INDEX ON quoted USING minlsh (body minlsh_passage_ops)
    minlsh_handler 12: INSERT INTO indexed SELECT 3, a FROM two
    minlsh_capture 6: UPDATE tracked SET body = body || id
    minlsh_refresh_clusters 16: SELECT minlsh_refresh_clusters('groups', true)
    near_duplicate_pairs 16: SELECT count(*) FROM near_duplicate_pairs('docs')
    near_duplicate_clusters 16: SELECT count(*) FROM near_duplicate_clusters('docs')
    near_duplicate_bridges 16: SELECT count(*) FROM near_duplicate_bridges('docs')
    near_duplicate_boilerplate 16: SELECT count(*) FROM near_duplicate_boilerplate('docs', '*')
    near_duplicate_plan 16: SELECT count(*) FROM near_duplicate_plan('docs')
    near_duplicates_between 16: SELECT count(*) FROM near_duplicates_between('docs', 'docs')
    near_duplicate_cluster 16: SELECT count(near_duplicate_cluster) FROM (SELECT near_duplicate_cluster(body) OVER () \
        FROM docs) AS clusters
    minlsh_suggest 16: SELECT count(*) FROM minlsh_suggest('docs')
    minlsh_label_pairs 16: SELECT count(*) FROM minlsh_label_pairs('docs')
    minlsh_suggest_from_labels 16: SELECT count(*) FROM minlsh_suggest_from_labels('SELECT * FROM labeled', \
        'SELECT 4, i, i < 7 FROM generate_series(5, 15) AS i')
    common_passages 53400: SELECT count(*) FROM common_passages('docs', 2)
    common_passages 16: SELECT count(*) FROM common_passages('SELECT 1, c FROM two UNION ALL SELECT 2, d FROM two', 2)
    strip_passages 12: SELECT count(*) FROM strip_passages('SELECT 1, c FROM two UNION ALL SELECT 2, d FROM two', 2)
    repeated_passages 12: SELECT count(*) FROM repeated_passages('docs')
    contained_documents 16: SELECT count(*) FROM contained_documents('docs')
    contained_documents 16: SELECT count(*) \
        FROM contained_documents('SELECT 1, c FROM two UNION ALL SELECT 2, d FROM two')
    passages_between 16: SELECT count(*) FROM passages_between('docs', 'docs')
    minlsh_key_in 6: SELECT length(key::text::minlsh_key::text) FROM forms
    minlsh_key_cmp 6: SELECT minlsh_key_cmp(key, key) FROM forms";

/// Functions that are given no text but names, options, hashes and signatures, and functions inside of others, each
/// with the reason.
const WITHOUT_TEXTS: &str = "
    of numbers: minhash_error lsh_probability lsh_threshold lsh_params
    of signatures: minhash_jaccard minhash_union minhash_union_agg minhash_cardinality minhash_containment \
        minhash_pack minlsh_signature minhash_to_lean minhash_from_lean band_hashes
    of hashes: minhash_hashes minhash_with
    of indexes and sessions: minlsh_version minlsh_versions minlsh_self_test minlsh_running_jobs minlsh_options \
        minlsh_describe minlsh_warn_reindex minlsh_drop_side_table minlsh_track_clusters minlsh_untrack_clusters
    as PostgreSQL's of a text: minlsh_key_out minlsh_key_recv minlsh_key_send minlsh_key_hash minlsh_key_hash_extended \
        minlsh_key_eq minlsh_key_ne minlsh_key_lt minlsh_key_le minlsh_key_gt minlsh_key_ge minlsh_key_larger \
        minlsh_key_smaller max min
    inside of minhash_agg: minlsh_set_add minlsh_set_add_signature minlsh_set_combine minlsh_set_serialize \
        minlsh_set_deserialize minlsh_set_signature
    inside of the planner: minlsh_similar_sel minlsh_similar_joinsel
    as their kin of texts: minlsh_document_recv minlsh_passage_recv
    as PostgreSQL's of a bytea: minlsh_document_eq minlsh_document_ne minlsh_document_lt minlsh_document_le \
        minlsh_document_gt minlsh_document_ge minlsh_document_cmp minlsh_document_hash minlsh_document_hash_extended \
        minlsh_passage_eq minlsh_passage_ne minlsh_passage_lt minlsh_passage_le minlsh_passage_gt minlsh_passage_ge \
        minlsh_passage_cmp minlsh_passage_hash minlsh_passage_hash_extended";

/// The rows of a list, one a line.
fn rows(list: &str) -> impl Iterator<Item = (&str, &str)> {
    list.trim().lines().map(|row| row.trim().split_once(": ").expect("a name"))
}

#[test]
fn one_long_text_takes_a_multiple_of_its_size() {
    let database = database();
    let mut client = database.connect();
    client.run(&SCENE.replace("WORDS", &WORDS.to_string()));
    let mut wrong = missing(&mut client);
    let wanted = std::env::var("MINLSH_FUNCTION").unwrap_or_default();
    for (row, statement) in rows(MEASURED).filter(|(row, _)| row.contains(&wanted)) {
        let (name, limit) = row.split_once(' ').expect("a limit");
        let (state, bytes) = measure(&database, statement);
        let multiple = bytes.saturating_sub(CONSTANT) as f64 / BYTES as f64;
        println!("{multiple:>6.1} {:>6} {row}: {statement}", bytes >> 20);
        let is_refused = state.as_deref() == Some("53400") && bytes <= CONSTANT + 16 * BYTES;
        match limit.parse::<usize>().expect("a number") {
            53400 if is_refused => (),
            limit if state.is_none() && bytes <= CONSTANT + limit * BYTES => (),
            _ => wrong.push(format!("{name}: {state:?}, {multiple:.1} times: {statement}")),
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Runs a statement in a session of its own, with little memory set. Returns its SQLSTATE if it fails, and the bytes by
/// which the session has grown.
fn measure(database: &Database, statement: &str) -> (Option<String>, usize) {
    let mut client = database.connect();
    client.run("SET jit = off; SET work_mem = '1MB'; SET maintenance_work_mem = '4MB'; SELECT minhash('x')");
    let pid = backend(&mut client);
    let before = own_memory(pid);
    let error = client.batch_execute(statement).err();
    let state = error.map(|error| error.code().map_or("lost".into(), |code| code.code().into()));
    (state, 1024 * own_memory(pid).saturating_sub(before) as usize)
}

/// The functions without a row, and the rows without a function.
fn missing(client: &mut Client) -> Vec<String> {
    let all = texts(
        client,
        "SELECT DISTINCT p.proname::text FROM pg_proc AS p JOIN pg_depend AS d ON d.classid = 'pg_proc'::regclass \
         AND d.objid = p.oid AND d.deptype = 'e' JOIN pg_extension AS e ON d.refobjid = e.oid AND e.extname = 'minlsh'",
    );
    let all: BTreeSet<&str> = all.iter().map(String::as_str).collect();
    let measured = rows(MEASURED).filter_map(|(row, _)| row.split(' ').next());
    let others = rows(WITHOUT_TEXTS).flat_map(|(_, names)| names.split_whitespace());
    let listed: BTreeSet<&str> = measured.chain(others).collect();
    let differences = all.symmetric_difference(&listed);
    differences.map(|name| format!("{name} is in one of catalog and lists only")).collect()
}
