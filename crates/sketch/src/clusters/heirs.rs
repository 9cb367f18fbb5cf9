//! Finds the component that inherits each id.

use super::event::{Block, ClusterId, RankedDocument};
use crate::{Result, memory};

/// The part of an old cluster that a component has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub(super) old: ClusterId,
    pub(super) component: u32,
    pub(super) weight: u64,
    /// The least document; that of a block is not known.
    least: Option<u32>,
}

/// A component of two or more documents.
#[derive(Clone, Copy, Debug)]
pub(super) struct Component {
    pub(super) number: u32,
    pub(super) size: u64,
    /// The least document that is named.
    least: u32,
    /// Its id; 0 before it has one.
    pub(super) id: ClusterId,
    pub(super) is_new: bool,
}

/// The components of two or more documents, ascending by number, without ids.
pub(super) fn components(documents: &[RankedDocument], blocks: &[Block]) -> Result<Vec<Component>> {
    let named = (0..).zip(documents).filter_map(|(document, RankedDocument { component, .. })| {
        component.map(|component| (component, document, 1))
    });
    let of_blocks = blocks.iter().map(|block| (block.component, u32::MAX, block.size));
    let mut parts = memory::collect(named.chain(of_blocks))?;
    parts.sort_unstable();
    let mut found = Vec::new();
    for part in parts.chunk_by(|a, b| a.0 == b.0) {
        let (number, least, _) = part[0];
        let size = part.iter().map(|(_, _, weight)| weight).sum();
        if size > 1 {
            memory::push(&mut found, Component { number, size, least, id: 0, is_new: false })?;
        }
    }
    Ok(found)
}

/// The pieces of old clusters in components of two or more documents, by old id and component.
pub(super) fn pieces(
    documents: &[RankedDocument],
    blocks: &[Block],
    components: &[Component],
) -> Result<Vec<Piece>> {
    let exists = |number: u32| components.binary_search_by_key(&number, |c| c.number).is_ok();
    let named =
        (0..).zip(documents).filter_map(|(document, &RankedDocument { old, component })| {
            let (old, component) = (old?, component?);
            exists(component).then_some(Piece { old, component, weight: 1, least: Some(document) })
        });
    let of_blocks = blocks.iter().map(|block| Piece {
        old: block.cluster,
        component: block.component,
        weight: block.size,
        least: None,
    });
    let mut parts = memory::collect(named.chain(of_blocks))?;
    parts.sort_unstable_by_key(|piece| (piece.old, piece.component, piece.least));
    let mut pieces: Vec<Piece> = Vec::new();
    for part in parts.chunk_by(|a, b| (a.old, a.component) == (b.old, b.component)) {
        let weight = part.iter().map(|piece| piece.weight).sum();
        // Sorted, a block comes first: its least document is not known then.
        memory::push(&mut pieces, Piece { weight, ..part[0] })?;
    }
    Ok(pieces)
}

/// Gives each component its id, new ones from `next` on. Returns the next new one.
pub(super) fn inherit(
    components: &mut [Component],
    pieces: &[Piece],
    next: ClusterId,
) -> Result<ClusterId> {
    let order = |piece: &Piece| (std::cmp::Reverse(piece.weight), piece.least);
    let heirs =
        pieces.chunk_by(|a, b| a.old == b.old).filter_map(|of| of.iter().min_by_key(|p| order(p)));
    let mut heirs = memory::collect(heirs.copied())?;
    heirs.sort_unstable_by_key(|p| (p.component, std::cmp::Reverse(p.weight), p.old));
    for of_component in heirs.chunk_by(|a, b| a.component == b.component) {
        let heir = of_component[0];
        let place = components.binary_search_by_key(&heir.component, |c| c.number);
        if let Ok(place) = place {
            components[place].id = heir.old;
        }
    }
    let mut new = memory::collect(components.iter_mut().filter(|component| component.id == 0))?;
    new.sort_unstable_by_key(|component| component.least);
    let mut next = next;
    for component in new {
        (component.id, component.is_new) = (next, true);
        next += 1;
    }
    Ok(next)
}

/// True if the least document decides to which component the id of an old cluster goes, and is not known.
pub(super) fn is_tie(of_one: &[Piece]) -> bool {
    let most = of_one.iter().map(|piece| piece.weight).max();
    let mut largest = of_one.iter().filter(|piece| Some(piece.weight) == most);
    largest.clone().count() > 1 && largest.any(|piece| piece.least.is_none())
}
