//! Whole-corpus jobs against brute force.

use std::collections::BTreeSet;

use proptest::prelude::*;
use sketch::corpus::{Bands, Components, Identical};

/// Documents as few small band hashes: many buckets, many collisions.
fn documents() -> impl Strategy<Value = Vec<Vec<i64>>> {
    prop::collection::vec(prop::collection::vec(0_i64..6, 4), 0..60)
}

fn bands(documents: &[Vec<i64>]) -> Bands {
    let mut bands = Bands::new(4);
    for hashes in documents {
        bands.push(hashes);
    }
    bands
}

fn content(documents: &[Vec<i64>]) -> Vec<u64> {
    let hash = |document: &Vec<i64>| document.iter().fold(7, |h, x| h * 31 + *x as u64);
    documents.iter().map(hash).collect()
}

fn group(documents: &[Vec<i64>]) -> Identical {
    Identical::group(&content(documents), &mut |a, b| {
        documents[a as usize] == documents[b as usize]
    })
}

fn share_a_band(a: &[i64], b: &[i64]) -> bool {
    a.iter().zip(b).any(|(x, y)| x == y)
}

/// Any symmetric relation will do for a verifier.
fn similar(a: u32, b: u32) -> bool {
    !(a + b).is_multiple_of(3)
}

proptest! {
    #[test]
    fn each_pair_of_leaders_that_shares_a_band_is_visited_once(documents in documents()) {
        let identical = group(&documents);
        let mut found = Vec::new();
        bands(&documents).pairs(&identical, &mut || (), &mut |a, b| found.push((a, b)));
        let leaders: Vec<u32> = identical.leaders().collect();
        let mut expected = BTreeSet::new();
        for (i, &a) in leaders.iter().enumerate() {
            for &b in &leaders[i + 1..] {
                if share_a_band(&documents[a as usize], &documents[b as usize]) {
                    expected.insert((a, b));
                }
            }
        }
        prop_assert_eq!(found.len(), expected.len());
        prop_assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), expected);
    }

    #[test]
    fn connecting_gives_the_components_of_all_verified_pairs(documents in documents()) {
        let identical = group(&documents);
        let mut expected = Components::new(identical.documents());
        let mut asked_by_pairs = 0;
        bands(&documents).pairs(&identical, &mut || (), &mut |a, b| {
            asked_by_pairs += 1;
            if similar(a, b) {
                expected.union(a, b);
            }
        });
        let mut found = Components::new(identical.documents());
        let mut asked = BTreeSet::new();
        let mut repeats = 0;
        bands(&documents).connect(&identical, &mut found, &mut || (), &mut |a, b| {
            repeats += usize::from(!asked.insert((a, b)));
            similar(a, b)
        });
        for document in 0..identical.documents() {
            prop_assert_eq!(found.find(document), expected.find(document));
        }
        prop_assert_eq!(repeats, 0);
        prop_assert!(asked.len() <= asked_by_pairs);
    }

    #[test]
    fn every_document_is_a_member_of_exactly_its_leader(documents in documents()) {
        let identical = group(&documents);
        let mut seen = Vec::new();
        for leader in identical.leaders() {
            for member in identical.members(leader) {
                prop_assert_eq!(identical.leader(member), leader);
                prop_assert_eq!(&documents[member as usize], &documents[leader as usize]);
                seen.push(member);
            }
        }
        seen.sort_unstable();
        prop_assert_eq!(seen, (0..identical.documents()).collect::<Vec<_>>());
    }
}

#[test]
fn a_bucket_of_one_template_costs_one_question_for_each_document() {
    let documents: Vec<Vec<i64>> = (0..5000).map(|i| vec![1, i + 10, 1, 1]).collect();
    let identical = group(&documents);
    let mut components = Components::new(5000);
    let mut questions = 0;
    bands(&documents).connect(&identical, &mut components, &mut || (), &mut |_, _| {
        questions += 1;
        true
    });
    assert_eq!(questions, 4999);
    assert_eq!(components.find(4999), 0);
}
