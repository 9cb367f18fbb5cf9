//! Judges the pairs of a group. With two sources, a pair has a document of each.

use super::ranks::Ranks;
use crate::corpus::{Hashes, Identical, LeftOut, PairSide, pairs};
use crate::dedup::{Emit, Group};
use crate::{Result, memory};

/// Pairs that are found in a group, by name.
pub enum FoundPairs {
    /// A pair and its similarity.
    Pair(u32, u32, f64),
    /// All pairs among the copies of a document.
    Copies(Vec<u32>),
    /// Number of additional pairs because documents have copies.
    Copied(u64),
}

/// The side of a document by name; `second` is the second source's first document.
fn side(name: u32, second: Option<u32>) -> PairSide {
    match second {
        None => PairSide::Both,
        Some(second) if name < second => PairSide::Left,
        Some(_) => PairSide::Right,
    }
}

/// For each leader, the side of its copies and itself.
fn sides(group: &Group, identical: &Identical, second: Option<u32>) -> Result<Vec<PairSide>> {
    let all = 0..identical.documents();
    let mut sides = memory::collect(all.map(|document| side(group.name(document), second)))?;
    for (leader, mut copies) in identical.groups() {
        let own = &mut sides[leader as usize];
        if copies.any(|copy| side(group.name(copy), second) != *own) {
            *own = PairSide::Both;
        }
    }
    Ok(sides)
}

/// All pairs of a group. `second` is the first document of the second source, if there are two.
///
/// # Errors
/// An error of `emit`, of a file, or [`Error::OutOfMemory`](crate::Error::OutOfMemory).
pub fn all_pairs(group: &mut Group, second: Option<u32>, emit: &mut Emit<FoundPairs>) -> Result<LeftOut> {
    let identical = Identical::group(group)?;
    let sides = sides(group, &identical, second)?;
    let is_left = |name: u32| second.is_none_or(|second| name < second);
    // Number of documents that equal a leader, in each source.
    let counts = |group: &Group, leader: u32| {
        let all = identical.members(leader).count() as u64;
        let left = identical.members(leader).filter(|copy| is_left(group.name(*copy))).count();
        (left as u64, all - left as u64)
    };
    let pair = |emit: &mut Emit<FoundPairs>, a: u32, b: u32, similarity: f64| {
        let is_wanted = second.is_none() || is_left(a) != is_left(b);
        if is_wanted { emit(FoundPairs::Pair(a, b, similarity)) } else { Ok(()) }
    };
    for (leader, _) in identical.groups() {
        group.check_interrupts();
        let mut rest = identical.members(leader);
        if second.is_none() {
            emit(FoundPairs::Copies(memory::collect(rest.map(|copy| group.name(copy)))?))?;
            continue;
        }
        let (left, right) = counts(group, leader);
        emit(FoundPairs::Copied((left * right).saturating_sub(1)))?;
        while let Some(a) = rest.next() {
            group.check_interrupts();
            rest.clone().try_for_each(|b| pair(emit, group.name(a), group.name(b), 1.0))?;
        }
    }
    let limit = group.limit();
    pairs(group, &identical, &|leader| sides[leader as usize], limit, &mut |group, found| {
        let [(left, right), (other_left, other_right)] = [found.a, found.b].map(|leader| counts(group, leader));
        let count = if second.is_none() { left * other_left } else { left * other_right + right * other_left };
        if count > 1 {
            emit(FoundPairs::Copied(count - 1))?;
        }
        for a in identical.members(found.a) {
            group.check_interrupts();
            for b in identical.members(found.b) {
                pair(emit, group.name(a), group.name(b), found.similarity)?;
            }
        }
        Ok(())
    })
}

/// The most similar document of the other source, the first of them in the order of keys: its name and similarity.
type Best = Option<(u32, f64)>;

/// The pairs of a group among the first copies of each document, and one pair for each further copy: within one source
/// with its first copy, and between two with the most similar document of the other source.
///
/// # Errors
/// As [`all_pairs`].
pub fn pairs_once(
    group: &mut Group,
    second: Option<u32>,
    ranks: &Ranks,
    emit: &mut Emit<FoundPairs>,
) -> Result<LeftOut> {
    let identical = Identical::group(group)?;
    let sides = sides(group, &identical, second)?;
    let of = |name: u32| usize::from(second.is_some_and(|second| name >= second));
    // For each leader: the first copy in each source, and its best partner in the other one.
    let documents = identical.documents() as usize;
    let mut firsts: Vec<[Option<u32>; 2]> = memory::filled([None; 2], documents)?;
    let mut best: Vec<[Best; 2]> = memory::filled([None; 2], documents)?;
    for document in 0..identical.documents() {
        group.check_interrupts();
        let name = group.name(document);
        let first = &mut firsts[identical.leader(document) as usize][of(name)];
        *first = Some(first.map_or(name, |first| ranks.first(first, name)));
    }
    let better = |best: &mut Best, name: u32, similarity: f64| {
        let is_better = best
            .is_none_or(|(own, least)| similarity > least || (similarity == least && ranks.first(own, name) == name));
        if is_better {
            *best = Some((name, similarity));
        }
    };
    for (firsts, best) in firsts.iter().zip(&mut best) {
        if let [Some(a), Some(b)] = *firsts {
            emit(FoundPairs::Pair(a, b, 1.0))?;
            (best[0], best[1]) = (Some((b, 1.0)), Some((a, 1.0)));
        } else if second.is_none() {
            best[0] = firsts[0].map(|first| (first, 1.0));
        }
    }
    let limit = group.limit();
    let left_out = pairs(group, &identical, &|leader| sides[leader as usize], limit, &mut |_, found| {
        let [a, b] = [found.a, found.b].map(|leader| leader as usize);
        let (of_a, of_b) = (firsts[a], firsts[b]);
        if second.is_none() {
            let [Some(a), Some(b)] = [of_a[0], of_b[0]] else { return Ok(()) };
            return emit(FoundPairs::Pair(a, b, found.similarity));
        }
        for (side, other) in [(0, 1), (1, 0)] {
            if let (Some(first), Some(partner)) = (of_a[side], of_b[other]) {
                emit(FoundPairs::Pair(first, partner, found.similarity))?;
                better(&mut best[a][side], partner, found.similarity);
                better(&mut best[b][other], first, found.similarity);
            }
        }
        Ok(())
    })?;
    for document in 0..identical.documents() {
        group.check_interrupts();
        let (name, leader) = (group.name(document), identical.leader(document) as usize);
        let is_first = firsts[leader][of(name)] == Some(name);
        if let (false, Some((partner, similarity))) = (is_first, best[leader][of(name)]) {
            emit(FoundPairs::Pair(name, partner, similarity))?;
        }
    }
    Ok(left_out)
}
