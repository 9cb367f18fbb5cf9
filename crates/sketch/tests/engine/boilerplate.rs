//! Parts of documents that count, compared with the definition taken literally.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;

use minlsh_sketch::boilerplate::{
    Boilerplate, CHOSEN, CountedPart, Enough, Frame, Judged, OriginSample, SharedShingles, Shingled, counted,
    distinct_part,
};
use minlsh_sketch::{Config, Normalization};

use crate::common::{cases, mix64};

/// The numbers of shingles that are enough here, where documents are small.
const ENOUGH: Enough = Enough { plenty: 30, few: 12, fewest: 4 };

/// The shingles that more than `percent` of some sets have, and at least five.
fn naive_shared(sets: &[BTreeSet<u64>], percent: usize) -> BTreeSet<u64> {
    let mut counts = BTreeMap::new();
    sets.iter().flatten().for_each(|hash| *counts.entry(*hash).or_insert(0) += 1);
    let is_shared = |count: usize| count >= 5 && 100 * count > percent * sets.len();
    counts.into_iter().filter(|(_, count)| is_shared(*count)).map(|(hash, _)| hash).collect()
}

/// True if three of four sets keep enough without some shingles.
fn naive_keeps(sets: &[BTreeSet<u64>], without: &BTreeSet<u64>) -> bool {
    let keeps = |set: &&BTreeSet<u64>| {
        let wanted = (4 * set.len()).div_ceil(5).clamp(ENOUGH.fewest, ENOUGH.plenty);
        set.difference(without).count() >= wanted.min(set.len())
    };
    4 * sets.iter().filter(keeps).count() >= 3 * sets.len()
}

/// The level of an origin, and what does not count for its documents beside `of_all`.
fn naive_level(sets: &[BTreeSet<u64>], of_all: &BTreeSet<u64>) -> SharedShingles {
    let without = |level: usize| -> BTreeSet<u64> { naive_shared(sets, level).union(of_all).copied().collect() };
    let mut levels = (20..=70).step_by(5);
    let level = levels.find(|level| naive_keeps(sets, &without(*level))).unwrap_or(70);
    SharedShingles { level, hashes: without(level).difference(of_all).copied().collect() }
}

/// The set of what counts of a document, or `None` if it is compared for equality only.
fn naive_counted(hashes: &[u64], shared: &BTreeSet<u64>) -> Option<BTreeSet<u64>> {
    let all: BTreeSet<u64> = hashes.iter().copied().collect();
    let left: BTreeSet<u64> = all.difference(shared).copied().collect();
    let is_little = left.len() < 12 && (left.len() < 4 || 5 * left.len() < 4 * all.len());
    (!is_little || left.len() == all.len()).then_some(left)
}

/// Documents of a template and of their own, with repeats. Each has a part of the template.
fn documents() -> impl Strategy<Value = Vec<Vec<u64>>> {
    let template = (0_u64..60, prop::collection::vec(0_u64..60, 0..150));
    let own = prop::collection::vec(60_u64..6000, 0..60);
    let document = (template, own).prop_map(|((least, mut ids), own)| {
        ids.retain(|id| *id >= least);
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
        common in prop::collection::btree_set(0_u64..120, 0..20),
        memory in prop_oneof![0..9000_usize, 9000..90_000_usize, Just(1 << 20)],
    ) {
        let sets: Vec<BTreeSet<u64>> =
            documents.iter().map(|document| document.iter().copied().collect()).collect();
        let hashes = || {
            |document: usize, out: &mut Vec<u64>, _: &mut dyn FnMut()| {
                out.extend(&documents[document]);
                Ok(())
            }
        };
        let (count, shingles) = (documents.len(), documents.iter().map(Vec::len).sum());
        let (mut once, mut again) = (hashes(), hashes());
        let judged = Judged { documents: count, shingles, memory, hashes: &mut once };
        let found = judged.common(&mut || ()).unwrap();
        prop_assert_eq!(found, naive_shared(&sets, 20).into_iter().collect::<Vec<_>>());
        let common: BTreeSet<u64> = common.into_iter().map(mix64).collect();
        let list: Vec<u64> = common.iter().copied().collect();
        let of_all = Arc::new(Boilerplate::new(&list).unwrap());
        let judged = Judged { documents: count, shingles, memory, hashes: &mut again };
        let shared = judged.shared(ENOUGH, Some(&*of_all), &mut || ()).unwrap();
        prop_assert_eq!(&shared, &naive_level(&sets, &common));
        let of_origin = Some(Arc::new(Boilerplate::new(&shared.hashes).unwrap()));
        let frame = Frame { of_origin, of_all: Some(of_all) };
        let without: BTreeSet<u64> = shared.hashes.iter().copied().chain(common).collect();
        let mut left = Vec::new();
        for (document, set) in documents.iter().zip(&sets) {
            let content = Shingled::Elements(document);
            let part = counted(&frame, ENOUGH, content, &mut left, &mut || ()).unwrap();
            let distinct = distinct_part(&frame, ENOUGH, content, &mut || ()).unwrap();
            let found: BTreeSet<u64> = left.iter().copied().collect();
            let wanted = naive_counted(document, &without);
            prop_assert_eq!(part.by_equality, wanted.is_none());
            prop_assert_eq!(part.hashes(), left.len());
            let kept = set.difference(&without).count();
            let expected =
                CountedPart { shingles: set.len(), counted: kept, by_equality: part.by_equality };
            prop_assert_eq!(distinct, expected);
            match wanted {
                Some(wanted) => prop_assert_eq!(found, wanted),
                None => prop_assert!(left.len() == 1 && !set.contains(&left[0])),
            }
        }
    }

    #[test]
    fn all_origins_stand_for_all_alike(
        sizes in prop::collection::vec(0_usize..300, 0..60),
        seed in 0_u64..1000,
    ) {
        let mut sample = OriginSample::default();
        let mut origins: Vec<BTreeSet<(u64, u32)>> = vec![BTreeSet::new(); sizes.len()];
        let mut document = 0;
        for (origin, size) in sizes.iter().enumerate() {
            for _ in 0..*size {
                let fingerprint = mix64(seed + u64::from(document));
                sample.offer(origin as u32, fingerprint, document).unwrap();
                origins[origin].insert((fingerprint, document));
                document += 1;
            }
        }
        // The number of documents of each origin, the most in all, and the least of several.
        let having = |each: usize| {
            origins.iter().filter(|own| own.len() >= each.max(5)).count().min(200 / each)
        };
        let possible = (1..=40).filter(|each| having(*each) >= 5);
        let each = possible.max_by_key(|each| (each * having(*each), std::cmp::Reverse(*each)));
        let mut expected: Vec<u32> = Vec::new();
        if let Some(each) = each {
            let taking = having(each);
            origins.retain(|own| own.len() >= each.max(5));
            origins.sort();
            let chosen = origins.iter().take(taking).flat_map(|own| own.iter().take(each));
            expected.extend(chosen.map(|(_, document)| *document));
        }
        prop_assert_eq!(sample.of_all().unwrap(), expected);
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
    let judged = Judged { documents: 6, shingles: 300_000, memory: 300_000, hashes: &mut hashes };
    let shared = judged.common(&mut || ()).unwrap();
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

#[test]
fn a_text_that_is_compared_for_equality_equals_no_shingle() {
    // A word of its own is its fingerprint, too.
    let config = Config::new("fss", 128, "word", 1, 0).unwrap();
    let mut hashes = Vec::new();
    let red = Shingled::Text(&config, "red");
    red.hashes(&mut hashes, &mut || ()).unwrap();
    let of_origin = Some(Arc::new(Boilerplate::new(&hashes).unwrap()));
    let frame = Frame { of_origin, of_all: None };
    let mut left = Vec::new();
    let part = counted(&frame, Enough::of(&config), red, &mut left, &mut || ()).unwrap();
    assert_eq!(part, CountedPart { shingles: 1, counted: 0, by_equality: true });
    assert_eq!(left.len(), 1);
    assert_ne!(left, hashes);
    assert_ne!(Some(left[0]), red.fingerprint(&mut || ()).unwrap());
}
