//! Every job against brute force, on random corpora.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::signatures::{BANDS, SLOTS, Signatures};
use minlsh_sketch::corpus::{
    Corpus, Hashes, Identical, LeftOut, Pair, PairSide, connect, groups, leaders, pairs, split, weakest_link,
};
use minlsh_sketch::pipeline::{Crew, Setting};
use minlsh_sketch::{Error, estimate_jaccard};
use proptest::prelude::*;

/// More than any test's comparisons.
const NO_LIMIT: usize = usize::MAX;

/// Signatures: many are equal, many similar, and some share a bucket by chance.
fn signatures() -> impl Strategy<Value = Vec<Vec<i32>>> {
    let template = prop::collection::vec(0..3_i32, SLOTS);
    let edits = prop::collection::vec((0..SLOTS, 0..9_i32), 0..5);
    (prop::collection::vec(template, 1..4), prop::collection::vec((0..4_usize, edits), 0..60)).prop_map(
        |(templates, documents)| {
            let mut signatures = Vec::new();
            for (template, edits) in documents {
                let mut signature = templates[template % templates.len()].clone();
                for (slot, value) in edits {
                    signature[slot] = value;
                }
                signatures.push(signature);
            }
            signatures
        },
    )
}

/// All pairs that share a band and are similar enough, found by looking at all pairs.
fn brute_force(signatures: &[Vec<i32>], threshold: f64) -> BTreeMap<(u32, u32), f64> {
    let rows = SLOTS / BANDS;
    let mut pairs = BTreeMap::new();
    for (b, right) in (0..).zip(signatures) {
        for (a, left) in (0..b).zip(signatures) {
            let candidates = left.chunks(rows).zip(right.chunks(rows)).any(|(x, y)| x == y);
            let similarity = estimate_jaccard(left, right).unwrap();
            if candidates && similarity >= threshold {
                pairs.insert((a, b), similarity);
            }
        }
    }
    pairs
}

/// The components of those pairs, as the least document of each document's component.
fn brute_force_components(documents: usize, pairs: &BTreeMap<(u32, u32), f64>) -> Vec<u32> {
    let mut least: Vec<u32> = (0..documents as u32).collect();
    for _ in 0..documents {
        for &(a, b) in pairs.keys() {
            let both = least[a as usize].min(least[b as usize]);
            least[a as usize] = both;
            least[b as usize] = both;
        }
    }
    least
}

/// The pairs that `pairs` gives, its leaders expanded to their copies.
fn expand(identical: &Identical, found: &[Pair]) -> BTreeMap<(u32, u32), f64> {
    let mut expanded = BTreeMap::new();
    let mut insert = |a: u32, b: u32, similarity| {
        assert!(expanded.insert((a.min(b), a.max(b)), similarity).is_none(), "a pair came twice");
    };
    for (leader, copies) in identical.groups() {
        let members: Vec<u32> = std::iter::once(leader).chain(copies).collect();
        for (i, &b) in members.iter().enumerate() {
            members[..i].iter().for_each(|&a| insert(a, b, 1.0));
        }
    }
    for pair in found {
        for a in identical.members(pair.a) {
            identical.members(pair.b).for_each(|b| insert(a, b, pair.similarity));
        }
    }
    expanded
}

/// Documents that have one signature all: their sets, each in several texts.
struct Alike {
    /// Of each document its set, the text, and a hash of the set, which others may have as well.
    documents: Vec<(u8, u32, u64)>,
}

impl Hashes for Alike {
    fn documents(&self) -> u32 {
        self.documents.len() as u32
    }

    fn probes(&self) -> usize {
        1
    }

    fn sort_memory(&self) -> usize {
        1 << 20
    }

    fn hashes(&mut self, _column: usize, visit: &mut dyn FnMut(u32, u64)) -> Result<(), Error> {
        (0..self.documents()).for_each(|document| visit(document, 7));
        Ok(())
    }

    fn check_interrupts(&mut self) {}
}

impl Corpus for Alike {
    fn bands(&mut self, _document: u32) -> Result<Vec<u64>, Error> {
        Ok(vec![7])
    }

    fn same_as(&self, document: u32) -> u32 {
        self.documents[document as usize].1
    }

    fn set_hash(&mut self, document: u32) -> Result<u64, Error> {
        Ok(self.documents[document as usize].2)
    }

    fn share_band(&mut self, _bands: usize, _a: u32, _b: u32) -> Result<bool, Error> {
        Ok(true)
    }

    fn similarity(&mut self, a: u32, b: u32) -> Result<Option<f64>, Error> {
        let set = |document: u32| self.documents[document as usize].0;
        Ok(Some(if set(a) == set(b) { 1.0 } else { 0.99 }))
    }
}

proptest! {
    #[test]
    fn equal_sets_of_one_signature_are_one_whatever_their_texts(
        documents in prop::collection::vec((0..5_u8, 0..3_u32), 0..40), hashes in 1..8_u64,
    ) {
        let documents = documents.into_iter().map(|(set, text)| {
            (set, u32::from(set) * 3 + text, u64::from(set) % hashes)
        });
        let mut corpus = Alike { documents: documents.collect() };
        let identical = Identical::group(&mut corpus).unwrap();
        for (document, (set, ..)) in (0..).zip(&corpus.documents) {
            let first = corpus.documents.iter().position(|(other, ..)| other == set);
            prop_assert_eq!(Some(identical.leader(document) as usize), first);
        }
    }

    #[test]
    fn pairs_are_those_of_brute_force_whatever_memory(
        signatures in signatures(), percent in 40..=100, sort_memory in 1..4000_usize,
    ) {
        let threshold = f64::from(percent) / 100.0;
        let mut corpus = Signatures::new(&signatures, threshold);
        corpus.sort_memory = sort_memory;
        let identical = Identical::group(&mut corpus).unwrap();
        let mut found = Vec::new();
        let left_out = pairs(&mut corpus, &identical, &|_| PairSide::Both, NO_LIMIT, &mut |_, pair| {
            found.push(pair);
            Ok(())
        }).unwrap();
        prop_assert_eq!(left_out, LeftOut::default());
        let expected = brute_force(&signatures, threshold);
        prop_assert_eq!(&expand(&identical, &found), &expected);
    }

    #[test]
    fn groups_are_what_shares_a_bucket_whatever_memory(
        signatures in signatures(), sort_memory in 1..4000_usize,
    ) {
        let mut corpus = Signatures::new(&signatures, 0.0);
        corpus.sort_memory = sort_memory;
        let mut components = groups(&mut corpus, &mut Crew::Alone(&mut || ())).unwrap();
        let found: Vec<u32> = (0..signatures.len() as u32).map(|document| components.find(document)).collect();
        let expected = brute_force_components(signatures.len(), &brute_force(&signatures, 0.0));
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn two_collections_make_the_pairs_across_them(
        signatures in signatures(), percent in 40..=100,
    ) {
        let threshold = f64::from(percent) / 100.0;
        let mut corpus = Signatures::new(&signatures, threshold);
        // Without copies, so that leaders belong to one collection each.
        let nothing_identical = Identical::group(&mut Signatures::new(&signatures, 2.0)).unwrap();
        let side = |document: u32| if document.is_multiple_of(3) { PairSide::Left } else { PairSide::Right };
        let mut found = BTreeSet::new();
        pairs(&mut corpus, &nothing_identical, &side, NO_LIMIT, &mut |_, pair| {
            assert!(found.insert((pair.a, pair.b)), "a pair came twice");
            Ok(())
        }).unwrap();
        let across = |(a, b): &(u32, u32)| side(*a) != side(*b);
        let expected: BTreeSet<(u32, u32)> =
            brute_force(&signatures, threshold).into_keys().filter(across).collect();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn clusters_are_the_components_of_the_pairs(
        signatures in signatures(), percent in 40..=100, sort_memory in 1..4000_usize,
    ) {
        let threshold = f64::from(percent) / 100.0;
        let mut corpus = Signatures::new(&signatures, threshold);
        corpus.sort_memory = sort_memory;
        let identical = Identical::group(&mut corpus).unwrap();
        let expected =
            brute_force_components(signatures.len(), &brute_force(&signatures, threshold));
        let mut connected = connect(&mut corpus, &identical, NO_LIMIT).unwrap();
        let components: Vec<u32> = (0..signatures.len() as u32)
            .map(|document| connected.components.find(identical.leader(document)))
            .collect();
        prop_assert_eq!(&components, &expected);
        prop_assert_eq!(connected.left_out, LeftOut::default());
        prop_assert!(connected.links.iter().all(|link| link.similarity >= threshold));
    }

    #[test]
    fn the_weakest_link_is_where_a_cluster_falls_apart(
        signatures in signatures(), percent in 40..=90,
    ) {
        let threshold = f64::from(percent) / 100.0;
        let mut corpus = Signatures::new(&signatures, threshold);
        let all = brute_force(&signatures, threshold);
        let components = brute_force_components(signatures.len(), &all);
        for root in components.iter().copied().collect::<BTreeSet<_>>() {
            let members: Vec<u32> =
                (0..).zip(&components).filter(|(_, c)| **c == root).map(|(d, _)| d).collect();
            let weakest = weakest_link(&mut corpus, &members).unwrap();
            let holds_at = |threshold: f64| {
                let pairs = all.clone().into_iter().filter(|(_, s)| *s >= threshold).collect();
                let parts = brute_force_components(signatures.len(), &pairs);
                members.iter().all(|member| parts[*member as usize] == parts[members[0] as usize])
            };
            prop_assert!(holds_at(weakest));
            prop_assert!(members.len() == 1 || !holds_at(weakest + 1e-9));
        }
    }

    #[test]
    fn leaders_are_those_of_the_first_come_first_served_definition(
        signatures in signatures(), percent in 40..=100, order in any::<u64>(),
    ) {
        let threshold = f64::from(percent) / 100.0;
        let mut corpus = Signatures::new(&signatures, threshold);
        let mut documents: Vec<u32> = (0..signatures.len() as u32).collect();
        documents.sort_by_key(|document| crate::common::mix64(order ^ u64::from(*document)));
        let similar = brute_force(&signatures, threshold);
        let mut kept: Vec<u32> = Vec::new();
        let mut expected = BTreeMap::new();
        for &document in &documents {
            let pair = |leader: u32| (leader.min(document), leader.max(document));
            match kept.iter().find(|leader| similar.contains_key(&pair(**leader))) {
                Some(&leader) => drop(expected.insert(document, (leader, similar[&pair(leader)]))),
                None => kept.push(document),
            }
        }
        let mut found = BTreeMap::new();
        leaders(&mut corpus, &documents, NO_LIMIT, &mut |leader, member, similarity| {
            found.insert(member, (leader, similarity));
            Ok(())
        }).unwrap();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn the_parts_of_a_split_group_give_its_answers_whatever_the_limit(
        signatures in signatures(), percent in 40..=100, limit in prop_oneof![0..60_usize, Just(NO_LIMIT)],
        noise in 1..8_u32,
    ) {
        let threshold = f64::from(percent) / 100.0;
        let mut corpus = Signatures::new(&signatures, threshold);
        // Wrong at times, but not about what is similar.
        let similar = |a: u32, b: u32| {
            (a + b) % noise == 1
                || estimate_jaccard(&signatures[a as usize], &signatures[b as usize]).unwrap() >= threshold
        };
        let mut components = split(&mut corpus, limit, &similar).unwrap();
        let mut parts: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for document in 0..signatures.len() as u32 {
            parts.entry(components.find(document)).or_default().push(document);
        }
        let whole: Vec<u32> = (0..signatures.len() as u32).collect();
        let expected = answers(&signatures, threshold, limit, [&whole]);
        prop_assert_eq!(answers(&signatures, threshold, limit, parts.values()), expected);
    }
}

/// The answers of all jobs to some parts of a corpus: pairs, links, who belongs to which leader; and what the limit has
/// left out of each.
fn answers<'a>(
    signatures: &[Vec<i32>],
    threshold: f64,
    limit: usize,
    parts: impl IntoIterator<Item = &'a Vec<u32>>,
) -> ([BTreeSet<(u32, u32)>; 3], [LeftOut; 3]) {
    let (mut found, mut left_out): ([BTreeSet<(u32, u32)>; 3], [LeftOut; 3]) = Default::default();
    for part in parts {
        let own: Vec<Vec<i32>> = part.iter().map(|d| signatures[*d as usize].clone()).collect();
        let of = |a: u32, b: u32| (part[a as usize], part[b as usize]);
        let mut corpus = Signatures::new(&own, threshold);
        let identical = Identical::group(&mut corpus).unwrap();
        left_out[0] += pairs(&mut corpus, &identical, &|_| PairSide::Both, limit, &mut |_, pair| {
            found[0].insert(of(pair.a, pair.b));
            Ok(())
        })
        .unwrap();
        let connected = connect(&mut corpus, &identical, limit).unwrap();
        found[1].extend(connected.links.iter().map(|link| of(link.a, link.b)));
        left_out[1] += connected.left_out;
        let documents: Vec<u32> = identical.leaders().collect();
        left_out[2] += leaders(&mut corpus, &documents, limit, &mut |leader, member, _| {
            found[2].insert(of(leader, member));
            Ok(())
        })
        .unwrap();
    }
    (found, left_out)
}

#[test]
fn groups_of_many_documents_are_found() {
    // So many that their hashes are brought together by some bits. Every third one is alike the one before it, and
    // there is a template that a hundred have.
    let signature = |document: i32| {
        let own = if document % 3 == 1 { document - 1 } else { document };
        (0..SLOTS as i32).map(|s| if s < 4 && document % 90 == 2 { 7 } else { own * 100 + s }).collect()
    };
    let signatures: Vec<Vec<i32>> = (0..36_000).map(signature).collect();
    let setting = Setting { around_spawn: |spawn| spawn(), at_start: || (), check_interrupts: || (), memory: 1 << 20 };
    for (sort_memory, threads) in [(usize::MAX, 0), (50_000, 0), (usize::MAX, 3), (50_000, 3)] {
        let mut corpus = Signatures::new(&signatures, 0.9);
        corpus.sort_memory = sort_memory;
        let check = &mut || ();
        let mut crew = if threads == 0 { Crew::Alone(check) } else { Crew::With(setting, threads) };
        let mut components = groups(&mut corpus, &mut crew).unwrap();
        for document in 0..36_000 {
            let expected = match (document % 90, document % 3) {
                (2, _) => 2,
                (_, 1) => document - 1,
                _ => document,
            };
            assert_eq!(components.find(document), expected);
        }
    }
}

/// `count` documents that share their first band, and nothing else.
fn one_bucket(count: i32) -> Vec<Vec<i32>> {
    (0..count).map(|document| (0..SLOTS as i32).map(|s| if s < 4 { 7 } else { document * 100 + s }).collect()).collect()
}

#[test]
fn what_a_limit_leaves_out_is_counted() {
    let mut corpus = Signatures::new(&one_bucket(100), 0.9);
    let identical = Identical::group(&mut corpus).unwrap();
    let all = 100 * 99 / 2;
    let done = |limit: u64| (0..100).map(|others| limit.min(others)).sum::<u64>();
    let none = &mut |_: &mut Signatures, _: Pair| panic!("nothing is similar");
    let left_out = pairs(&mut corpus, &identical, &|_| PairSide::Both, 10, none).unwrap();
    // Ten comparisons, and one with a random one of the rest, which is none for the twelfth document.
    let expected = LeftOut { comparisons: all - done(11), documents: 88, ..LeftOut::default() };
    assert_eq!(left_out, expected);
    let connected = connect(&mut corpus, &identical, 10).unwrap();
    assert_eq!(connected.left_out, expected);
    let documents: Vec<u32> = (0..100).collect();
    let left_out = leaders(&mut corpus, &documents, 10, &mut |_, _, _| panic!()).unwrap();
    assert_eq!(left_out, expected);
}

#[test]
fn random_pairs_show_how_many_similar_ones_a_limit_leaves_out() {
    // Documents of even numbers are similar to each other: all share the first band, and no two are the same.
    let signature = |document: i32| {
        let own = if document % 2 == 0 { 7 } else { document * 100 };
        let slot = |s| if s < 4 { 7 } else { own + s };
        (0..SLOTS as i32 - 1).map(slot).chain([document]).collect()
    };
    let signatures: Vec<Vec<i32>> = (0..400).map(signature).collect();
    let mut corpus = Signatures::new(&signatures, 0.9);
    let identical = Identical::group(&mut corpus).unwrap();
    let mut found = 0_u64;
    let left_out = pairs(&mut corpus, &identical, &|_| PairSide::Both, 10, &mut |_, _| {
        found += 1;
        Ok(())
    })
    .unwrap();
    let missing = 200 * 199 / 2 - found;
    assert!(left_out.similar > 50, "{left_out:?}");
    let about = missing * 3 / 4..missing * 4 / 3;
    assert!(about.contains(&left_out.missing), "{left_out:?}, {missing}");
    let left_out = connect(&mut corpus, &identical, 10).unwrap().left_out;
    assert!(left_out.similar > 0 && left_out.missing > 0, "{left_out:?}");
}

#[test]
fn similar_documents_of_one_bucket_are_no_cost_to_the_limit() {
    let signatures: Vec<Vec<i32>> =
        (0..100).map(|document| (0..SLOTS).map(|s| if s == SLOTS - 1 { document } else { 7 }).collect()).collect();
    let mut corpus = Signatures::new(&signatures, 0.9);
    let identical = Identical::group(&mut corpus).unwrap();
    let mut count = 0;
    let left_out = pairs(&mut corpus, &identical, &|_| PairSide::Both, 1, &mut |_, _| {
        count += 1;
        Ok(())
    });
    assert_eq!(left_out.unwrap(), LeftOut::default());
    assert_eq!(count, 100 * 99 / 2);
    let mut connected = connect(&mut corpus, &identical, 1).unwrap();
    assert_eq!(connected.links.len(), 99);
    assert_eq!(connected.components.find(99), 0);
}
