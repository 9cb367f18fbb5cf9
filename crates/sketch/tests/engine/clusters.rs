//! Ids of clusters against an independent model, the log replayed, and updates that leave out what
//! they may.

use std::collections::{BTreeMap, BTreeSet};

use minlsh_sketch::clusters::{Block, ClusterEvent, ClusterId, EventKind, Outcome, Pieces, RankedDocument};
use proptest::prelude::*;

use crate::common::cases;

/// The cluster of each document that has one.
type State = BTreeMap<u32, ClusterId>;

/// The rule as it is written: of every old id its heir, of every component its id, by looking at
/// all pairs of them.
fn model(old: &State, parts: &[BTreeSet<u32>], next: ClusterId) -> (State, ClusterId) {
    let ids: BTreeSet<ClusterId> = old.values().copied().collect();
    let shared = |id: ClusterId, part: &BTreeSet<u32>| -> Vec<u32> {
        part.iter().copied().filter(|document| old.get(document) == Some(&id)).collect()
    };
    let mut heirs: BTreeMap<usize, Vec<(usize, ClusterId)>> = BTreeMap::new();
    for id in ids {
        let mut best: Option<(usize, usize, u32)> = None;
        for (place, part) in parts.iter().enumerate() {
            let common = shared(id, part);
            let Some(&least) = common.first() else { continue };
            let better = best.is_none_or(|(_, most, least_so_far)| {
                common.len() > most || common.len() == most && least < least_so_far
            });
            if better {
                best = Some((place, common.len(), least));
            }
        }
        if let Some((place, common, _)) = best {
            heirs.entry(place).or_default().push((common, id));
        }
    }
    let mut state = State::new();
    let mut next = next;
    let mut by_least: Vec<usize> = (0..parts.len()).collect();
    by_least.sort_by_key(|place| parts[*place].first().copied());
    for place in by_least {
        let most = heirs.get(&place).and_then(|of| of.iter().map(|(common, _)| *common).max());
        let id = match most {
            Some(most) => {
                let largest = heirs[&place].iter().filter(|(common, _)| *common == most);
                largest.map(|(_, id)| *id).min().unwrap()
            }
            None => {
                next += 1;
                next - 1
            }
        };
        state.extend(parts[place].iter().map(|document| (*document, id)));
    }
    (state, next)
}

/// Replays the log from a state; every event must fit.
fn replay(old: &State, events: &[ClusterEvent], created: &mut BTreeSet<ClusterId>) -> State {
    let mut state = old.clone();
    let mut moves_left = 0;
    for &event in events {
        assert_eq!(event.kind == EventKind::Move, moves_left > 0, "{event:?}");
        let ClusterEvent { kind, cluster, other, document, size } = event;
        match (kind, document) {
            (EventKind::Leave, Some(document)) => {
                assert_eq!(state.remove(&document), Some(cluster));
            }
            (EventKind::Create, None) => assert!(created.insert(cluster)),
            (EventKind::Split, None) => {
                moves_left = size.unwrap() + 1;
                created.insert(cluster);
            }
            (EventKind::Move, Some(document)) => {
                assert_eq!(state.insert(document, cluster), other);
            }
            (EventKind::Merge, None) => {
                assert!(state.values().any(|id| Some(*id) == other));
                state.values_mut().filter(|id| Some(**id) == other).for_each(|id| *id = cluster);
            }
            (EventKind::Join, Some(document)) => {
                assert_eq!(state.insert(document, cluster), None);
            }
            (EventKind::Dissolve, None) => assert!(state.values().all(|id| *id != cluster)),
            _ => panic!("{event:?}"),
        }
        moves_left = moves_left.saturating_sub(1);
    }
    assert_eq!(moves_left, 0);
    state
}

fn documents(count: u32, old: &State, parts: &[BTreeSet<u32>], alone: &[u32]) -> Vec<RankedDocument> {
    let component = |document: u32| {
        let place = parts.iter().position(|part| part.contains(&document));
        // Numbers of components are any, and one that is alone is a component of its own.
        place.map(|place| 7 * place as u32 + 3).or_else(|| alone.contains(&document).then_some(1_000_000 + document))
    };
    (0..count)
        .map(|document| RankedDocument { old: old.get(&document).copied(), component: component(document) })
        .collect()
}

/// All that an update says.
#[derive(Debug, Default, PartialEq)]
struct Update {
    events: Vec<ClusterEvent>,
    changed: Vec<(ClusterId, u64)>,
    ended: Vec<ClusterId>,
    next: ClusterId,
}

/// The update; the clusters whose documents must be named if there are such.
fn update(documents: &[RankedDocument], blocks: &[Block], next: ClusterId) -> Result<Update, Vec<ClusterId>> {
    let mut pieces = Pieces::default();
    documents.iter().for_each(|document| pieces.add(*document).unwrap());
    blocks.iter().for_each(|block| pieces.add_block(*block).unwrap());
    let ids = match pieces.assign(next).unwrap() {
        Outcome::Done(ids) => ids,
        Outcome::Name(clusters) => return Err(clusters),
    };
    let of_documents = (0..).zip(documents).filter_map(|(rank, of)| ids.event_of(rank, *of));
    let mut events: Vec<ClusterEvent> = ids.events().unwrap().into_iter().chain(of_documents).collect();
    events.sort_by_key(|event| event.place());
    for event in &events {
        assert_eq!(ClusterEvent::at(event.place(), event.size), Some(*event));
    }
    let changed = ids.changed().unwrap();
    Ok(Update { events, changed, ended: ids.ended, next: ids.next })
}

fn done(documents: &[RankedDocument], next: ClusterId) -> Update {
    update(documents, &[], next).expect("all are named")
}

const DOCUMENTS: u32 = 24;

/// For each document the number of its part, 0 for those that are alone, and 1 for those gone.
fn partition() -> impl Strategy<Value = Vec<u8>> {
    let parts = |most: u8| prop::collection::vec(0..most, DOCUMENTS as usize);
    prop_oneof![parts(6), parts(14)]
}

fn parts_of(partition: &[u8]) -> Vec<BTreeSet<u32>> {
    let mut parts: BTreeMap<u8, BTreeSet<u32>> = BTreeMap::new();
    for (document, part) in (0..).zip(partition).filter(|(_, part)| **part > 1) {
        parts.entry(*part).or_default().insert(document);
    }
    parts.into_values().filter(|part| part.len() > 1).collect()
}

fn sizes(state: &State) -> BTreeMap<ClusterId, u64> {
    let mut sizes = BTreeMap::new();
    state.values().for_each(|id| *sizes.entry(*id).or_default() += 1);
    sizes
}

proptest! {
    #![proptest_config(cases(2000))]

    #[test]
    fn a_history_is_that_of_the_model_and_its_log_gives_the_state(
        history in prop::collection::vec(partition(), 1..6),
    ) {
        let (mut state, mut next) = (State::new(), 1);
        let mut created = BTreeSet::new();
        for partition in history {
            let parts = parts_of(&partition);
            let alone: Vec<u32> =
                (0..).zip(&partition).filter(|(_, part)| **part == 0).map(|(d, _)| d).collect();
            let found = done(&documents(DOCUMENTS, &state, &parts, &alone), next);
            let (expected, expected_next) = model(&state, &parts, next);
            prop_assert_eq!(&replay(&state, &found.events, &mut created), &expected);
            prop_assert_eq!(found.next, expected_next);
            prop_assert!((next..found.next).all(|id| created.contains(&id)));
            let (before, after) = (sizes(&state), sizes(&expected));
            let ended: Vec<ClusterId> =
                before.keys().copied().filter(|id| !after.contains_key(id)).collect();
            prop_assert_eq!(found.ended, ended);
            let members = |state: &State, id: ClusterId| -> Vec<u32> {
                state.iter().filter(|(_, of)| **of == id).map(|(document, _)| *document).collect()
            };
            let changed: Vec<(ClusterId, u64)> = after
                .iter()
                .filter(|(id, _)| members(&state, **id) != members(&expected, **id))
                .map(|(id, size)| (*id, *size))
                .collect();
            prop_assert_eq!(found.changed, changed);
            (state, next) = (expected, expected_next);
        }
    }

    /// Clusters are left out or in blocks where all that is not named of them is in one component.
    #[test]
    fn what_is_left_out_or_in_blocks_changes_nothing(
        before in partition(), now in partition(),
        named in prop::collection::vec(any::<bool>(), DOCUMENTS as usize),
        in_one_piece in prop::collection::vec(any::<bool>(), 16),
    ) {
        let (state, next) = model(&State::new(), &parts_of(&before), 1);
        // Some old clusters stay in one piece, so that there are blocks.
        let mut now = now;
        for (id, _) in sizes(&state).into_iter().filter(|(id, _)| in_one_piece[*id as usize % 16]) {
            let members: Vec<u32> =
                state.iter().filter(|(_, of)| **of == id).map(|(document, _)| *document).collect();
            let part = now[members[0] as usize].max(2);
            members.iter().filter(|d| !named[**d as usize]).for_each(|d| now[*d as usize] = part);
        }
        let parts = parts_of(&now);
        let all = documents(DOCUMENTS, &state, &parts, &[]);
        let expected = done(&all, next);
        let mut hidden: BTreeMap<ClusterId, Vec<u32>> = BTreeMap::new();
        for (&document, &id) in state.iter().filter(|(document, _)| !named[**document as usize]) {
            hidden.entry(id).or_default().push(document);
        }
        let component = |document: u32| all[document as usize].component;
        hidden.retain(|_, of| {
            let first = component(of[0]);
            of.len() > 1 && first.is_some() && of.iter().all(|d| component(*d) == first)
        });
        loop {
            // The documents that are named keep their order; their ranks become places.
            let is_hidden = |document: &u32| {
                state.get(document).and_then(|id| hidden.get(id)).is_some_and(|of| of.contains(document))
            };
            let kept: Vec<u32> = (0..DOCUMENTS).filter(|document| !is_hidden(document)).collect();
            let documents: Vec<RankedDocument> =
                kept.iter().map(|document| all[*document as usize]).collect();
            let blocks: Vec<Block> = hidden
                .iter()
                .map(|(cluster, of)| Block {
                    cluster: *cluster,
                    size: of.len() as u64,
                    component: component(of[0]).unwrap(),
                })
                .collect();
            match update(&documents, &blocks, next) {
                Err(clusters) => {
                    prop_assert!(!clusters.is_empty());
                    for cluster in clusters {
                        prop_assert!(hidden.remove(&cluster).is_some());
                    }
                }
                Ok(mut found) => {
                    let rank = |event: &mut ClusterEvent| {
                        event.document = event.document.map(|document| kept[document as usize]);
                    };
                    found.events.iter_mut().for_each(rank);
                    prop_assert_eq!(found, expected);
                    break;
                }
            }
        }
    }
}

#[test]
fn documents_that_are_counted_together_keep_their_number() {
    let documents: Vec<RankedDocument> = (0..100_000_u32)
        .map(|rank| RankedDocument {
            old: (rank % 3 > 0).then_some(1 + ClusterId::from(rank % 3)),
            component: (rank % 7 > 0).then_some(rank % 2),
        })
        .collect();
    let update = done(&documents, 4);
    let size = |number: u32| documents.iter().filter(|of| of.component == Some(number)).count();
    let sizes: Vec<u64> = update.changed.iter().map(|(_, size)| *size).collect();
    assert_eq!(sizes.iter().sum::<u64>(), (size(0) + size(1)) as u64);
    let count = |name: &str| update.events.iter().filter(|event| event.name() == name).count();
    let gone = documents.iter().filter(|of| of.old.is_some() && of.component.is_none()).count();
    assert_eq!(count("leave"), gone);
    assert_eq!(update.next, 4);
}

#[test]
fn a_log_reads_like_this() {
    let some = |old: ClusterId, component: u32| RankedDocument {
        old: (old > 0).then_some(old),
        component: (component > 0).then_some(component),
    };
    // 1 has lost most of its documents to a part that becomes 3; 2 merges into what is left of 1.
    let documents = [
        some(1, 1),
        some(1, 1),
        some(1, 2),
        some(1, 2),
        some(1, 2),
        some(0, 2),
        some(1, 0),
        some(2, 1),
        some(0, 3),
        some(0, 3),
    ];
    let found = done(&documents, 3);
    let events = found.events.iter().map(|of| (of.name(), of.cluster, of.other, of.document, of.size));
    assert_eq!(
        events.collect::<Vec<_>>(),
        [
            ("leave", 1, None, Some(6), None),
            ("create", 3, None, None, Some(2)),
            ("split", 2, Some(1), None, Some(2)),
            ("move", 2, Some(1), Some(0), None),
            ("move", 2, Some(1), Some(1), None),
            ("join", 1, None, Some(5), None),
            ("join", 3, None, Some(8), None),
            ("join", 3, None, Some(9), None),
        ]
    );
    assert_eq!(found.changed, [(1, 4), (2, 3), (3, 2)]);
    assert_eq!((found.ended.len(), found.next), (0, 4));
    // An update without a change is empty.
    let same = done(&[some(1, 9), some(1, 9), some(0, 0)], 2);
    assert_eq!(same, Update { next: 2, ..Update::default() });
}
