//! The ids of components, and the events of documents and clusters.

use std::cmp::Reverse;

use super::event::{Block, ClusterEvent, ClusterId, EventKind, RankedDocument};
use crate::{Result, memory};

/// The documents of an old cluster that are in the same component.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Piece {
    /// 0 for documents that had no cluster.
    pub(super) old: ClusterId,
    /// `None` for deleted documents, and later for documents that are alone.
    pub(super) component: Option<u32>,
    pub(super) weight: u64,
    /// The least document; `None` for a block, whose documents are not known.
    pub(super) least: Option<u32>,
}

/// A component of two or more documents.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Component {
    number: u32,
    size: u64,
    /// The least listed document.
    least: u32,
    /// Its id; 0 until it has one.
    id: ClusterId,
    is_new: bool,
}

/// The ids of components.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ClusterIds {
    /// Ascending by number.
    components: Vec<Component>,
    /// By old cluster, which may be 0, and component.
    pieces: Vec<Piece>,
    /// The ended ids, ascending.
    pub ended: Vec<ClusterId>,
    /// The next new id.
    pub next: ClusterId,
}

impl ClusterIds {
    /// Assigns an id to each component of `pieces`, which are sorted. New ids start with `next`.
    pub(super) fn new(mut pieces: Vec<Piece>, next: ClusterId) -> Result<Self> {
        let components = components(&pieces)?;
        let place = |number: u32| components.binary_search_by_key(&number, |c| c.number);
        for piece in &mut pieces {
            piece.component = piece.component.filter(|number| place(*number).is_ok());
        }
        let mut ids = Self { components, pieces, ended: Vec::new(), next };
        ids.inherit()?;
        ids.ended = ids.ended()?;
        Ok(ids)
    }

    fn inherit(&mut self) -> Result<()> {
        let order = |piece: &&Piece| (Reverse(piece.weight), piece.least);
        let heirs = self.pieces.chunk_by(|a, b| a.old == b.old).filter(|of| of[0].old > 0);
        let heirs = heirs.filter_map(|of| living(of).min_by_key(order));
        let mut heirs = memory::collect(heirs.copied())?;
        heirs.sort_unstable_by_key(|piece| (piece.component, Reverse(piece.weight), piece.old));
        for of_component in heirs.chunk_by(|a, b| a.component == b.component) {
            let Piece { old, component, .. } = of_component[0];
            if let Some(place) = component.and_then(|number| self.place(number)) {
                self.components[place].id = old;
            }
        }
        let without = self.components.iter_mut().filter(|component| component.id == 0);
        let mut new = memory::collect(without)?;
        new.sort_unstable_by_key(|component| component.least);
        for component in new {
            (component.id, component.is_new) = (self.next, true);
            self.next += 1;
        }
        Ok(())
    }

    fn place(&self, number: u32) -> Option<usize> {
        self.components.binary_search_by_key(&number, |component| component.number).ok()
    }

    fn component(&self, number: u32) -> Option<&Component> {
        self.place(number).map(|place| &self.components[place])
    }

    fn id(&self, component: Option<u32>) -> Option<ClusterId> {
        Some(self.component(component?)?.id)
    }

    /// The pieces of an old cluster that are in components.
    fn left_of(&self, old: ClusterId) -> impl Iterator<Item = &Piece> + Clone {
        let start = self.pieces.partition_point(|piece| piece.old < old);
        let rest = &self.pieces[start..];
        living(&rest[..rest.partition_point(|piece| piece.old == old)])
    }

    /// The component with all remaining documents of an old cluster, if its id is a different one.
    fn merged_into(&self, old: ClusterId) -> Option<&Component> {
        let mut left = self.left_of(old);
        let component = self.component(left.next()?.component?)?;
        (left.next().is_none() && component.id != old).then_some(component)
    }

    /// True if all documents of a block have the same event, whatever their keys are.
    pub(super) fn may_stand(&self, block: &Block) -> bool {
        let left = self.left_of(block.cluster);
        let most = left.clone().map(|piece| piece.weight).max();
        let mut largest = left.clone().filter(|piece| Some(piece.weight) == most);
        // The least document decides which component gets the id, and is not known.
        let is_tie = largest.clone().count() > 1 && largest.any(|piece| piece.least.is_none());
        let stays = self.id(Some(block.component)) == Some(block.cluster);
        !is_tie && (stays || left.count() < 2)
    }

    /// The event of the document that was [added](super::Pieces::add) with rank `document`. A document that comes to
    /// another cluster with all that remains of its own has no event.
    pub fn event_of(&self, document: u32, ranked: RankedDocument) -> Option<ClusterEvent> {
        let (kind, cluster, other) = match (ranked.old, self.id(ranked.component)) {
            (Some(cluster), None) => (EventKind::Leave, cluster, None),
            (None, Some(cluster)) => (EventKind::Join, cluster, None),
            (Some(old), Some(cluster)) if old != cluster && self.merged_into(old).is_none() => {
                (EventKind::Move, cluster, Some(old))
            }
            _ => return None,
        };
        Some(ClusterEvent { kind, cluster, other, document: Some(document), size: None })
    }

    /// The events of clusters, in the order of the log.
    pub fn events(&self) -> Result<Vec<ClusterEvent>> {
        let event =
            |kind, cluster, other, size| ClusterEvent { kind, cluster, other, document: None, size: Some(size) };
        let mut events = Vec::new();
        for &Piece { old, component, weight, .. } in self.pieces.iter().filter(|of| of.old > 0) {
            if let Some(cluster) = self.id(component).filter(|cluster| *cluster != old)
                && self.merged_into(old).is_none()
            {
                memory::push(&mut events, event(EventKind::Split, cluster, Some(old), weight))?;
            }
        }
        let mut split_to = memory::collect(events.iter().map(|event| event.cluster))?;
        split_to.sort_unstable();
        for component in self.components.iter().filter(|component| component.is_new) {
            let (cluster, size) = (component.id, component.size);
            if split_to.binary_search(&cluster).is_err() {
                memory::push(&mut events, event(EventKind::Create, cluster, None, size))?;
            }
        }
        for &old in &self.ended {
            let event = match self.merged_into(old) {
                Some(into) => event(EventKind::Merge, into.id, Some(old), into.size),
                None => event(EventKind::Dissolve, old, None, 0),
            };
            memory::push(&mut events, event)?;
        }
        events.sort_unstable_by_key(|event| event.place());
        Ok(events)
    }

    fn ended(&self) -> Result<Vec<ClusterId>> {
        let mut ids = memory::collect(self.components.iter().map(|component| component.id))?;
        ids.sort_unstable();
        let old = self.pieces.iter().map(|piece| piece.old).filter(|old| *old > 0);
        let mut ended = memory::collect(old.filter(|old| ids.binary_search(old).is_err()))?;
        ended.dedup();
        Ok(ended)
    }

    /// The existing clusters with any change, ascending, with their current number of documents.
    pub fn changed(&self) -> Result<Vec<(ClusterId, u64)>> {
        let mut touched = Vec::new();
        for piece in &self.pieces {
            let now = self.id(piece.component).unwrap_or(0);
            if now != piece.old {
                memory::push(&mut touched, now)?;
                memory::push(&mut touched, piece.old)?;
            }
        }
        touched.sort_unstable();
        touched.dedup();
        let sizes = self.components.iter().map(|component| (component.id, component.size));
        let mut changed = memory::collect(sizes.filter(|(id, _)| touched.binary_search(id).is_ok()))?;
        changed.sort_unstable();
        Ok(changed)
    }
}

/// The components of two or more documents, ascending by number, without ids.
fn components(pieces: &[Piece]) -> Result<Vec<Component>> {
    let of_component = |piece: &Piece| {
        let (size, least) = (piece.weight, piece.least.unwrap_or(u32::MAX));
        Some(Component { number: piece.component?, size, least, id: 0, is_new: false })
    };
    let mut found = memory::collect(pieces.iter().filter_map(of_component))?;
    found.sort_unstable_by_key(|component| (component.number, component.least));
    found.dedup_by(|piece, first| {
        let is_same = piece.number == first.number;
        first.size += if is_same { piece.size } else { 0 };
        is_same
    });
    found.retain(|component| component.size > 1);
    Ok(found)
}

/// The pieces of an old cluster that are in components.
fn living(of_one: &[Piece]) -> impl Iterator<Item = &Piece> + Clone {
    of_one.iter().filter(|piece| piece.component.is_some())
}
