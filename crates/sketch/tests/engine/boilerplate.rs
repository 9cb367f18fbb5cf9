//! Parts of documents that count, compared with the definition taken literally.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use sketch::boilerplate::{Boilerplate, CHOSEN, OriginSample, Shingled, counted, shared_by_many};
use sketch::{Config, Normalization};

use crate::common::{cases, mix64};

/// The shingles that more than a fifth of some sets have, and at least five.
fn naive_shared(sets: &[BTreeSet<u64>]) -> Vec<u64> {
    let mut counts = BTreeMap::new();
    sets.iter().flatten().for_each(|hash| *counts.entry(*hash).or_insert(0) += 1);
    let is_shared = |count: usize| count >= 5 && 5 * count > sets.len();
    counts.into_iter().filter(|(_, count)| is_shared(*count)).map(|(hash, _)| hash).collect()
}

/// The set of what counts of a document.
fn naive_counted(hashes: &[u64], shared: &[u64]) -> BTreeSet<u64> {
    let all: BTreeSet<u64> = hashes.iter().copied().collect();
    let left: BTreeSet<u64> = all.iter().copied().filter(|hash| !shared.contains(hash)).collect();
    if left.len() < 20 && (left.len() as f64) < 0.05 * all.len() as f64 {
        return Shingled::Elements(hashes).fingerprint(&mut || ()).unwrap().into_iter().collect();
    }
    left
}

/// Documents of a template and of their own, with repeats.
fn documents() -> impl Strategy<Value = Vec<Vec<u64>>> {
    let template = prop::collection::vec(0_u64..60, 0..150);
    let own = prop::collection::vec(60_u64..6000, 0..40);
    let document = (template, own).prop_map(|(mut ids, own)| {
        ids.extend(own);
        // mix64(0) is 0: also the hash 0 is a hash.
        ids.into_iter().map(mix64).collect::<Vec<u64>>()
    });
    prop::collection::vec(document, 0..40)
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn what_counts_is_what_the_definition_says(
        documents in documents(),
        memory in prop_oneof![0..9000_usize, 9000..90_000_usize, Just(1 << 20)],
    ) {
        let sets: Vec<BTreeSet<u64>> =
            documents.iter().map(|document| document.iter().copied().collect()).collect();
        let shingles = documents.iter().map(Vec::len).sum();
        let mut hashes = |document: usize, out: &mut Vec<u64>, _: &mut dyn FnMut()| {
            out.extend(&documents[document]);
            Ok(())
        };
        let shared =
            shared_by_many(documents.len(), shingles, memory, &mut hashes, &mut || ()).unwrap();
        prop_assert_eq!(&shared, &naive_shared(&sets));
        let boilerplate = Boilerplate::new(&shared).unwrap();
        let mut left = Vec::new();
        for document in &documents {
            let content = Shingled::Elements(document);
            counted(Some(&boilerplate), content, &mut left, &mut || ()).unwrap();
            let found: BTreeSet<u64> = left.iter().copied().collect();
            prop_assert_eq!(found, naive_counted(document, &shared));
            prop_assert_eq!(left.is_empty(), document.is_empty());
        }
    }

    #[test]
    fn the_least_fingerprints_are_chosen_in_any_order(
        offered in prop::collection::vec((0_u32..3, 0_u64..400), 0..1500),
    ) {
        let mut chosen = OriginSample::default();
        for (document, &(origin, fingerprint)) in (0..).zip(&offered) {
            chosen.offer(origin, fingerprint, document).unwrap();
        }
        for (origin, found) in (0..).zip(chosen.into_origins()) {
            let own = offered.iter().filter(|(other, _)| *other == origin);
            let own: BTreeSet<u64> = own.map(|(_, fingerprint)| *fingerprint).collect();
            let found: Vec<u64> = found.map(|document| offered[document as usize].1).collect();
            prop_assert_eq!(found, own.into_iter().take(CHOSEN).collect::<Vec<_>>());
        }
    }
}

#[test]
fn shingles_that_do_not_fit_are_counted_in_parts() {
    // All of them are in all documents, so that each is counted by itself.
    let all: Vec<u64> = (0..50_000).map(mix64).collect();
    let mut calls = 0;
    let mut hashes = |_: usize, out: &mut Vec<u64>, _: &mut dyn FnMut()| {
        calls += 1;
        out.extend(&all);
        Ok(())
    };
    let shared = shared_by_many(6, 300_000, 300_000, &mut hashes, &mut || ()).unwrap();
    assert_eq!(shared.len(), all.len());
    // Two readings of a part, and more than one part.
    assert!(calls > 24, "{calls}");
}

#[test]
fn fingerprints_are_those_of_normalised_texts_and_of_sets() {
    let config = Config::default().with_normalization(Normalization::plain()).unwrap();
    let text = |text| Shingled::Text(&config, text).fingerprint(&mut || ()).unwrap();
    assert_eq!(text("Read  more"), text("read more"));
    assert_ne!(text("read more"), text("read less"));
    assert_eq!(text(" "), None);
    let set = |hashes: &[u64]| Shingled::Elements(hashes).fingerprint(&mut || ()).unwrap();
    assert_eq!(set(&[3, 1, 3]), set(&[1, 3]));
    assert_ne!(set(&[3, 1]), set(&[1]));
    assert_eq!(set(&[]), None);
}
