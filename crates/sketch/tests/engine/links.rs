//! The bridges of a cluster and its least similar pair, against brute force.

use minlsh_sketch::Error;
use minlsh_sketch::corpus::{Bridge, ClusterLinks, Components, Pair, least_similar};
use proptest::prelude::*;

use crate::common::{cases, mix64};

#[test]
fn the_least_document_names_its_component_in_any_order_of_unions() {
    for pairs in [[(3, 5), (5, 1), (4, 6)], [(5, 1), (4, 6), (5, 3)]] {
        let mut components = Components::new(7).unwrap();
        for (a, b) in pairs {
            components.union(a, b);
        }
        let roots: Vec<u32> = (0..7).map(|document| components.find(document)).collect();
        assert_eq!(roots, [0, 1, 2, 1, 4, 1, 4]);
    }
}

fn pair((a, b): (u32, u32)) -> Pair {
    Pair { a: a.min(b), b: a.max(b), similarity: 0.9 }
}

fn bridges_of(documents: u32, pairs: &[Pair]) -> Vec<Bridge> {
    let mut links = ClusterLinks::new(documents).unwrap();
    pairs.iter().for_each(|link| links.push(*link).unwrap());
    links.bridges(&|document| u64::from(document) + 1).unwrap().0
}

/// The document that stands for those connected with `document`.
fn part(links: &[Pair], document: u32) -> Vec<u32> {
    let mut components = Components::new(20).unwrap();
    links.iter().for_each(|link| components.union(link.a, link.b));
    let root = components.find(document);
    (0..20).filter(|other| components.find(*other) == root).collect()
}

proptest! {
    #![proptest_config(cases(2000))]

    #[test]
    fn a_bridge_is_what_splits_a_cluster(
        links in prop::collection::btree_set((0_u32..20, 0_u32..20), 0..60),
        order in any::<u64>(),
    ) {
        let mut links: Vec<Pair> = links.into_iter().filter(|(a, b)| a < b).map(pair).collect();
        let expected: Vec<Bridge> = (0..links.len())
            .filter_map(|i| {
                let mut others = links.clone();
                let link = others.remove(i);
                let parts = [part(&others, link.a), part(&others, link.b)];
                let size = |part: &Vec<u32>| part.iter().map(|i| u64::from(*i) + 1).sum();
                (parts[0] != parts[1]).then(|| Bridge { link, sizes: [size(&parts[0]), size(&parts[1])] })
            })
            .collect();
        links.sort_by_key(|link| mix64(order ^ u64::from(link.a * 20 + link.b)));
        prop_assert_eq!(bridges_of(20, &links), expected);
    }
}

#[test]
fn a_long_chain_is_all_bridges() {
    let mut links: Vec<Pair> = (0..200_000).map(|i| pair((i, i + 1))).collect();
    let found = bridges_of(200_001, &links);
    assert!(found.iter().map(|bridge| bridge.link).eq(links.iter().copied()));
    // A link from end to end makes a ring, which has none.
    links.push(pair((0, 200_000)));
    assert_eq!(bridges_of(200_001, &links), []);
}

/// Documents on a line: similarity falls with the distance.
fn chain(a: u32, b: u32) -> Result<f64, Error> {
    Ok(1.0 / f64::from(1 + a.abs_diff(b)))
}

proptest! {
    #[test]
    fn it_is_that_of_brute_force(
        values in prop::collection::vec(0_u32..1000, 0..25), most in 0_u64..400,
    ) {
        let documents: Vec<u32> = (0..values.len() as u32).map(|i| 3 * i + 1).collect();
        let similarity = |a: u32, b: u32| {
            let value = |document: u32| values[(document / 3) as usize];
            Ok::<f64, Error>(f64::from((value(a) * 7 + value(b) * 13) % 101) / 100.0)
        };
        let pairs = || documents.iter().flat_map(|a| documents.iter().map(move |b| (*a, *b)));
        let all = pairs().filter(|(a, b)| a < b).map(|(a, b)| similarity(a, b).unwrap());
        let (count, expected) = (all.clone().count() as u64, all.min_by(f64::total_cmp));
        let found = least_similar(&documents, most, similarity).unwrap();
        prop_assert_eq!(found.is_some(), count > 0);
        if let Some(found) = found {
            prop_assert_eq!(found.is_exact, count <= most);
            prop_assert!(found.compared <= count.min(most).max(1));
            prop_assert_eq!(similarity(found.pair.a, found.pair.b).unwrap(), found.pair.similarity);
            prop_assert!(!found.is_exact || Some(found.pair.similarity) == expected);
            prop_assert!(Some(found.pair.similarity) >= expected);
        }
    }
}

#[test]
fn the_ends_of_a_chain_are_found_without_comparing_all_pairs() {
    // As scattered as documents are in a table.
    let documents: Vec<u32> = (0..1466).map(|i| i * 1009 % 1466).collect();
    let found = least_similar(&documents, 10_000, chain).unwrap().unwrap();
    assert_eq!((found.pair.a, found.pair.b), (0, 1465));
    assert!(!found.is_exact && found.compared == 10_000);
}
