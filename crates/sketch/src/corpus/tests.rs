//! Every job against brute force, on random corpora.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;

use proptest::prelude::*;

use super::*;
use crate::{Banding, SlotBits};

const SLOTS: usize = 24;
const BANDS: usize = 6;
/// More than any test's comparisons.
const NO_LIMIT: usize = usize::MAX;

fn threads(count: usize) -> Threads<'static> {
    Threads { count, launch: &|spawn| spawn() }
}

/// Signatures of which many are equal, many similar, and some share a bucket by chance.
fn signatures() -> impl Strategy<Value = Vec<Vec<i32>>> {
    let template = prop::collection::vec(0..3_i32, SLOTS);
    let edits = prop::collection::vec((0..SLOTS, 0..9_i32), 0..5);
    (prop::collection::vec(template, 1..4), prop::collection::vec((0..4_usize, edits), 0..60))
        .prop_map(|(templates, documents)| {
            let mut signatures = Vec::new();
            for (template, edits) in documents {
                let mut signature = templates[template % templates.len()].clone();
                for (slot, value) in edits {
                    signature[slot] = value;
                }
                signatures.push(signature);
            }
            signatures
        })
}

fn records(signatures: &[Vec<i32>]) -> Records {
    let banding = Banding::new(BANDS as i64, (SLOTS / BANDS) as i64).unwrap();
    let mut records = Records::new(Layout::new(SLOTS, BANDS));
    let mut hashes = Vec::new();
    for signature in signatures {
        banding.hashes(signature, &mut hashes).unwrap();
        records.push(signature, &hashes).unwrap();
    }
    records
}

/// All pairs that share a band and are similar enough, found by looking at all pairs.
fn brute_force(signatures: &[Vec<i32>], threshold: f64) -> BTreeMap<(u32, u32), f64> {
    let rows = SLOTS / BANDS;
    let mut pairs = BTreeMap::new();
    for (b, right) in (0..).zip(signatures) {
        for (a, left) in (0..b).zip(signatures) {
            let candidates = left.chunks(rows).zip(right.chunks(rows)).any(|(x, y)| x == y);
            let similarity = crate::estimate_jaccard(left, right).unwrap();
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

/// A corpus whose sorts fit `sort_memory`.
fn corpus<'a>(
    records: &'a Records,
    threshold: f64,
    sort_memory: usize,
    stop: &'a AtomicBool,
) -> InMemory<'a> {
    InMemory::new(records, SlotBits::All, threshold, sort_memory, stop)
}

proptest! {
    #[test]
    fn pairs_are_those_of_brute_force_whatever_memory_and_threads(
        signatures in signatures(), percent in 40..=100, sort_memory in 1..4000_usize,
    ) {
        let (records, stop) = (records(&signatures), AtomicBool::new(false));
        let threshold = f64::from(percent) / 100.0;
        let mut corpus = corpus(&records, threshold, sort_memory, &stop);
        let identical = Identical::group(&mut corpus).unwrap();
        let mut found = Vec::new();
        let left_out = pairs(&mut corpus, &identical, &|_| Side::Both, NO_LIMIT, &mut |_, pair| {
            found.push(pair);
            Ok(())
        }).unwrap();
        prop_assert_eq!(left_out, LeftOut::default());
        let expected = brute_force(&signatures, threshold);
        prop_assert_eq!(&expand(&identical, &found), &expected);
        found.clear();
        pairs_in_threads(corpus, &identical, &|_| Side::Both, NO_LIMIT, threads(3), &mut || (), &mut |load| {
            found.extend_from_slice(load);
        }).unwrap();
        prop_assert_eq!(&expand(&identical, &found), &expected);
    }

    #[test]
    fn two_collections_make_the_pairs_across_them(
        signatures in signatures(), percent in 40..=100,
    ) {
        let (records, stop) = (records(&signatures), AtomicBool::new(false));
        let threshold = f64::from(percent) / 100.0;
        let mut corpus = corpus(&records, threshold, 1 << 20, &stop);
        // Without copies, so that leaders belong to one collection each.
        let nothing_identical = {
            let stop = AtomicBool::new(false);
            Identical::group(&mut self::corpus(&records, 2.0, 1 << 20, &stop)).unwrap()
        };
        let side = |document: u32| if document.is_multiple_of(3) { Side::Left } else { Side::Right };
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
        let (records, stop) = (records(&signatures), AtomicBool::new(false));
        let threshold = f64::from(percent) / 100.0;
        let mut corpus = corpus(&records, threshold, sort_memory, &stop);
        let identical = Identical::group(&mut corpus).unwrap();
        let expected =
            brute_force_components(signatures.len(), &brute_force(&signatures, threshold));
        let threaded = connect_in_threads(corpus, &identical, NO_LIMIT, threads(3), &mut || ()).unwrap();
        stop.store(false, std::sync::atomic::Ordering::Relaxed);
        for mut connected in [connect(&mut corpus, &identical, NO_LIMIT).unwrap(), threaded] {
            let components: Vec<u32> = (0..signatures.len() as u32)
                .map(|document| connected.components.find(identical.leader(document)))
                .collect();
            prop_assert_eq!(&components, &expected);
            prop_assert_eq!(connected.left_out, LeftOut::default());
            prop_assert!(connected.links.iter().all(|link| link.similarity >= threshold));
        }
    }

    #[test]
    fn the_weakest_link_is_where_a_cluster_falls_apart(
        signatures in signatures(), percent in 40..=90,
    ) {
        let (records, stop) = (records(&signatures), AtomicBool::new(false));
        let threshold = f64::from(percent) / 100.0;
        let mut corpus = corpus(&records, threshold, 1 << 20, &stop);
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
        let (records, stop) = (records(&signatures), AtomicBool::new(false));
        let threshold = f64::from(percent) / 100.0;
        let mut corpus = corpus(&records, threshold, 1 << 20, &stop);
        let mut documents: Vec<u32> = (0..signatures.len() as u32).collect();
        documents.sort_by_key(|document| crate::hash::mix::mix64(order ^ u64::from(*document)));
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
        }).unwrap();
        prop_assert_eq!(found, expected);
    }
}

/// `count` documents that share their first band, and nothing else.
fn one_bucket(count: i32) -> Vec<Vec<i32>> {
    (0..count)
        .map(|document| {
            (0..SLOTS as i32).map(|s| if s < 4 { 7 } else { document * 100 + s }).collect()
        })
        .collect()
}

#[test]
fn what_a_limit_leaves_out_is_counted() {
    let (records, stop) = (records(&one_bucket(100)), AtomicBool::new(false));
    let mut corpus = corpus(&records, 0.9, 1 << 20, &stop);
    let identical = Identical::group(&mut corpus).unwrap();
    let all = 100 * 99 / 2;
    let done = |limit: u64| (0..100).map(|others| limit.min(others)).sum::<u64>();
    let none = &mut |_: &mut InMemory, _: Pair| panic!("nothing is similar");
    let left_out = pairs(&mut corpus, &identical, &|_| Side::Both, 10, none).unwrap();
    assert_eq!(left_out, LeftOut { comparisons: all - done(10), documents: 89 });
    let connected = connect(&mut corpus, &identical, 10).unwrap();
    assert_eq!(connected.left_out.comparisons, all - done(10));
    let documents: Vec<u32> = (0..100).collect();
    let left_out = leaders(&mut corpus, &documents, 10, &mut |_, _, _| panic!()).unwrap();
    assert_eq!(left_out, LeftOut { comparisons: all - done(10), documents: 89 });
}

#[test]
fn similar_documents_of_one_bucket_are_no_cost_to_the_limit() {
    let signatures: Vec<Vec<i32>> = (0..100)
        .map(|document| (0..SLOTS).map(|s| if s == SLOTS - 1 { document } else { 7 }).collect())
        .collect();
    let (records, stop) = (records(&signatures), AtomicBool::new(false));
    let mut corpus = corpus(&records, 0.9, 1 << 20, &stop);
    let identical = Identical::group(&mut corpus).unwrap();
    let mut count = 0;
    let left_out = pairs(&mut corpus, &identical, &|_| Side::Both, 1, &mut |_, _| {
        count += 1;
        Ok(())
    });
    assert_eq!(left_out.unwrap(), LeftOut::default());
    assert_eq!(count, 100 * 99 / 2);
    let mut connected = connect(&mut corpus, &identical, 1).unwrap();
    assert_eq!(connected.links.len(), 99);
    assert_eq!(connected.components.find(99), 0);
}

#[test]
fn threads_end_when_the_caller_unwinds() {
    let (records, stop) = (records(&one_bucket(3000)), AtomicBool::new(false));
    let corpus = corpus(&records, 0.1, 1 << 20, &stop);
    let identical = Identical::group(&mut corpus.clone()).unwrap();
    let cancelled = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        pairs_in_threads(
            corpus,
            &identical,
            &|_| Side::Both,
            NO_LIMIT,
            threads(2),
            &mut || (),
            &mut |_| std::panic::panic_any("cancelled"),
        )
    }));
    assert!(cancelled.is_err());
    assert!(stop.load(std::sync::atomic::Ordering::Relaxed));
}
