//! The truth: every document compared with every other, by the engine's naive path.

use std::collections::{BTreeMap, BTreeSet};

use sketch::Banding;

use crate::boilerplate::Judging;
use crate::documents::{Drawn, Value};

/// Two rows, the lesser place first, and how similar they are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    pub a: usize,
    pub b: usize,
    pub similarity: f64,
}

/// Documents, each with the scope that it is in: `None` if it is in no scope that equals another.
pub struct Documents {
    drawn: Vec<Option<Drawn>>,
    scopes: Vec<Option<Vec<Option<usize>>>>,
    /// The threshold of its own of each.
    thresholds: Vec<f64>,
}

impl Documents {
    /// Rows, each with a threshold of its own; those without a value are not documents.
    pub fn new(
        values: &[Option<Value>],
        thresholds: Vec<f64>,
        scopes: Vec<Option<Vec<Option<usize>>>>,
        config: &sketch::Config,
    ) -> Self {
        let draw = |value: &Option<Value>| value.as_ref().and_then(|v| Drawn::of(v, config));
        Self { drawn: values.iter().map(draw).collect(), scopes, thresholds }
    }

    /// The same documents, whose boilerplate does not count; `None` is no origin.
    pub fn without_boilerplate(self, origins: &[Option<usize>], config: &sketch::Config, are_sets: bool) -> Self {
        let Self { drawn, scopes, .. } = &self;
        // A row without a scope is not read as a document.
        let judge = |row: usize| Some((origins[row]?, drawn[row].as_ref()?));
        let judging = (0..origins.len()).filter(|row| scopes[*row].is_some()).filter_map(judge);
        let judging = Judging::new(judging, config, are_sets);
        let frames = judging.frames();
        let of = |row: usize| {
            let own = drawn[row].as_ref()?;
            let Some(frame) = origins[row].and_then(|origin| frames.get(&origin)) else {
                return Some(own.clone());
            };
            Some(own.of_which(judging.counted(own, frame), config))
        };
        Self { drawn: (0..origins.len()).map(of).collect(), ..self }
    }

    /// True if a row is a document.
    pub fn is_document(&self, row: usize) -> bool {
        self.drawn[row].is_some()
    }

    /// All pairs from the threshold on, which also reach the thresholds of both documents.
    pub fn pairs(&self, threshold: f64) -> Vec<Pair> {
        let mut pairs = Vec::new();
        for a in 0..self.drawn.len() {
            for b in a + 1..self.drawn.len() {
                let (Some(x), Some(y)) = (&self.drawn[a], &self.drawn[b]) else { continue };
                let similarity = x.similarity(y);
                let one_scope = self.scopes[a].is_some() && self.scopes[a] == self.scopes[b];
                let least = threshold.max(self.thresholds[a]).max(self.thresholds[b]);
                if one_scope && similarity >= least {
                    pairs.push(Pair { a, b, similarity });
                }
            }
        }
        pairs
    }

    /// The pairs that share a band. `banding` returns the bands that are read at a threshold. A document is searched
    /// for at its own threshold if that is greater than `threshold`, so any search of two reads at least the bands for
    /// the greater one.
    pub fn sharing(&self, pairs: &[Pair], threshold: f64, banding: impl Fn(f64) -> Banding) -> Vec<Pair> {
        let bands = |row: usize, banding| self.drawn[row].as_ref().map(|drawn| drawn.bands(banding));
        let shares = |pair: &&Pair| {
            let banding = banding(threshold.max(self.thresholds[pair.a]).max(self.thresholds[pair.b]));
            let (a, b) = (bands(pair.a, banding), bands(pair.b, banding));
            a.into_iter().flatten().zip(b.into_iter().flatten()).any(|(x, y)| x == y)
        };
        pairs.iter().filter(shares).copied().collect()
    }
}

/// The cluster of each of `count` rows, named by its least row by `rank`; rows that are in no pair are alone.
pub fn clusters(count: usize, pairs: &[Pair], rank: &[usize]) -> Vec<usize> {
    let mut of: Vec<usize> = (0..count).collect();
    for pair in pairs {
        let (from, to) = (of[pair.a], of[pair.b]);
        of.iter_mut().filter(|c| **c == from).for_each(|c| *c = to);
    }
    let mut least = BTreeMap::new();
    for row in 0..count {
        let name = least.entry(of[row]).or_insert(row);
        if rank[row] < rank[*name] {
            *name = row;
        }
    }
    of.iter().map(|cluster| least[cluster]).collect()
}

/// The first of the copies of each of `count` rows by `rank`; rows that are `listed` as apart have no copies.
pub fn first_copies(count: usize, pairs: &[Pair], listed: &[usize], rank: &[usize]) -> Vec<usize> {
    let is_copy = |pair: &&Pair| pair.similarity == 1.0 && !listed.contains(&pair.a) && !listed.contains(&pair.b);
    let copies: Vec<Pair> = pairs.iter().filter(is_copy).copied().collect();
    clusters(count, &copies, rank)
}

/// The rows that a plan removes: in the order of `rank`, each that is similar to one that was kept.
pub fn removed(count: usize, pairs: &[Pair], rank: &[usize]) -> BTreeSet<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_key(|row| rank[*row]);
    let mut kept = BTreeSet::new();
    let mut removed = BTreeSet::new();
    for row in order {
        let meets =
            |pair: &Pair| (pair.a == row && kept.contains(&pair.b)) || (pair.b == row && kept.contains(&pair.a));
        if pairs.iter().any(meets) {
            removed.insert(row);
        } else {
            kept.insert(row);
        }
    }
    removed
}

/// A pair without which its cluster would fall in two, and how many rows are on the side of each.
#[derive(Debug, PartialEq)]
pub struct Bridge {
    pub cluster: usize,
    pub pair: Pair,
    pub sizes: [usize; 2],
}

/// All bridges; copies count as one document, shown by the first copy by `rank`.
pub fn bridges(count: usize, pairs: &[Pair], rank: &[usize]) -> Vec<Bridge> {
    let copies: Vec<Pair> = pairs.iter().filter(|pair| pair.similarity == 1.0).copied().collect();
    let leader = clusters(count, &copies, rank);
    let names = clusters(count, pairs, rank);
    let mut links: Vec<Pair> = Vec::new();
    for pair in pairs.iter().filter(|pair| pair.similarity < 1.0) {
        let link = Pair { a: leader[pair.a], b: leader[pair.b], ..*pair };
        let known = |l: &Pair| (l.a, l.b) == (link.a, link.b) || (l.b, l.a) == (link.a, link.b);
        if !links.iter().any(known) {
            links.push(link);
        }
    }
    let side = |skipped: usize, start: usize| {
        let mut reached = BTreeSet::from([start]);
        loop {
            let before = reached.len();
            for (at, link) in links.iter().enumerate() {
                if at != skipped && (reached.contains(&link.a) || reached.contains(&link.b)) {
                    reached.extend([link.a, link.b]);
                }
            }
            if reached.len() == before {
                return reached;
            }
        }
    };
    let size = |side: &BTreeSet<usize>| (0..count).filter(|row| side.contains(&leader[*row])).count();
    let mut bridges = Vec::new();
    for (at, link) in links.iter().enumerate() {
        let (a, b) = (side(at, link.a), side(at, link.b));
        if a.contains(&link.b) {
            continue;
        }
        let (x, y) = ((link.a, size(&a)), (link.b, size(&b)));
        let (first, second) = if rank[x.0] <= rank[y.0] { (x, y) } else { (y, x) };
        bridges.push(Bridge {
            cluster: names[link.a],
            pair: Pair { a: first.0, b: second.0, similarity: link.similarity },
            sizes: [first.1, second.1],
        });
    }
    bridges
}
