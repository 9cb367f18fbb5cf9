//! Ids by the rule as it is written, and the log replayed.

use std::collections::{BTreeMap, BTreeSet};

use postgres::Row;

/// The cluster of each key that has one.
pub type State = BTreeMap<i64, i64>;

/// The new state, of the old one and the new components alone; and the next new id.
pub fn ids(old: &State, parts: &[Vec<i64>], next: i64) -> (State, i64) {
    // How many members of an old cluster a part has, and the least of them.
    let mut shared: BTreeMap<(i64, usize), (i64, i64)> = BTreeMap::new();
    for (place, part) in parts.iter().enumerate() {
        for key in part {
            if let Some(id) = old.get(key) {
                let entry = shared.entry((*id, place)).or_insert((0, *key));
                *entry = (entry.0 + 1, entry.1.min(*key));
            }
        }
    }
    let mut heirs: BTreeMap<i64, (i64, i64, usize)> = BTreeMap::new();
    for (&(id, place), &(count, least)) in &shared {
        let candidate = (-count, least, place);
        let heir = heirs.entry(id).or_insert(candidate);
        *heir = (*heir).min(candidate);
    }
    let mut names: BTreeMap<usize, (i64, i64)> = BTreeMap::new();
    for (&id, &(count, _, place)) in &heirs {
        let name = names.entry(place).or_insert((count, id));
        *name = (*name).min((count, id));
    }
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by_key(|place| parts[*place].iter().min().copied());
    let (mut state, mut next) = (State::new(), next);
    for place in order {
        let id = names.get(&place).map_or_else(
            || {
                next += 1;
                next - 1
            },
            |(_, id)| *id,
        );
        state.extend(parts[place].iter().map(|key| (*key, id)));
    }
    (state, next)
}

/// A row of the log.
#[derive(Debug)]
pub struct Log {
    event: String,
    cluster: i64,
    other: Option<i64>,
    key: Option<i64>,
    size: Option<i64>,
}

impl Log {
    /// Event, cluster, other, key and size, behind the number.
    pub fn of(row: &Row) -> Self {
        Self { event: row.get(1), cluster: row.get(2), other: row.get(3), key: row.get(4), size: row.get(5) }
    }
}

/// Replays the log from a state; every event must fit.
pub fn replay(state: &State, log: &[Log]) -> State {
    let mut state = state.clone();
    let mut members: BTreeMap<i64, BTreeSet<i64>> = BTreeMap::new();
    for (key, id) in &state {
        members.entry(*id).or_default().insert(*key);
    }
    let mut moves = 0;
    for event in log {
        let (cluster, other) = (event.cluster, event.other.unwrap_or_default());
        let key = event.key.unwrap_or(i64::MIN);
        match event.event.as_str() {
            "leave" => {
                assert_eq!(state.remove(&key), Some(cluster), "{event:?}");
                members.entry(cluster).or_default().remove(&key);
            }
            "create" => assert!(members.get(&cluster).is_none_or(BTreeSet::is_empty), "{event:?}"),
            "split" => {
                assert_eq!(moves, 0, "{event:?}");
                moves = event.size.unwrap_or_default();
            }
            "move" => {
                moves -= 1;
                assert_eq!(state.insert(key, cluster), Some(other), "{event:?}");
                members.entry(other).or_default().remove(&key);
                members.entry(cluster).or_default().insert(key);
            }
            "merge" => {
                for key in members.remove(&other).unwrap_or_default() {
                    state.insert(key, cluster);
                    members.entry(cluster).or_default().insert(key);
                }
            }
            "join" => {
                assert_eq!(state.insert(key, cluster), None, "{event:?}");
                members.entry(cluster).or_default().insert(key);
            }
            "dissolve" => {
                assert!(members.remove(&cluster).is_none_or(|left| left.is_empty()), "{event:?}");
            }
            _ => panic!("{event:?}"),
        }
    }
    assert_eq!(moves, 0);
    state
}
