//! From an old state and new components to the new state.

use super::event::{Block, ClusterEvent, ClusterId, RankedDocument};
use super::heirs::{Component, Piece, components, inherit, is_tie, pieces};
use crate::{Result, memory};

/// The changes.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Update {
    /// The events, in the order of the log.
    pub events: Vec<ClusterEvent>,
    /// The clusters to which something happened, ascending, with the documents that they have now.
    pub changed: Vec<(ClusterId, u64)>,
    /// The ids that have ended, ascending.
    pub ended: Vec<ClusterId>,
    /// The next new id.
    pub next: ClusterId,
}

/// An update, or what it takes to make one.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Outcome {
    /// The update.
    Done(Update),
    /// Documents of these old clusters' blocks move one by one, or decide by their keys: they must be named.
    Name(Vec<ClusterId>),
}

/// Finds the ids of components, the first new one of which is `next`, and what happened.
///
/// The result does not depend on which unchanged clusters are left out, nor on what is a [`Block`].
pub fn update(documents: &[RankedDocument], blocks: &[Block], next: ClusterId) -> Result<Outcome> {
    let mut components = components(documents, blocks)?;
    let pieces = pieces(documents, blocks, &components)?;
    let next = inherit(&mut components, &pieces, next)?;
    let state = State { documents, blocks, components, pieces };
    let unnamed = state.unnamed()?;
    if !unnamed.is_empty() {
        return Ok(Outcome::Name(unnamed));
    }
    state.update(next).map(Outcome::Done)
}

struct State<'a> {
    documents: &'a [RankedDocument],
    blocks: &'a [Block],
    components: Vec<Component>,
    pieces: Vec<Piece>,
}

impl State<'_> {
    fn component(&self, number: u32) -> Option<&Component> {
        let place = self.components.binary_search_by_key(&number, |component| component.number);
        place.ok().map(|place| &self.components[place])
    }

    fn id(&self, component: Option<u32>) -> Option<ClusterId> {
        self.component(component?).map(|component| component.id)
    }

    fn pieces_of(&self, old: ClusterId) -> &[Piece] {
        let start = self.pieces.partition_point(|piece| piece.old < old);
        let rest = &self.pieces[start..];
        &rest[..rest.partition_point(|piece| piece.old == old)]
    }

    /// True if an old cluster has ended, but all that is left of it is in one component.
    fn is_merged(&self, old: ClusterId) -> bool {
        matches!(self.pieces_of(old), [piece] if self.id(Some(piece.component)) != Some(old))
    }

    /// Clusters whose blocks do not do.
    fn unnamed(&self) -> Result<Vec<ClusterId>> {
        let wrong = |block: &&Block| {
            let pieces = self.pieces_of(block.cluster);
            let stays = self.id(Some(block.component)) == Some(block.cluster);
            is_tie(pieces) || !stays && pieces.len() > 1
        };
        let mut unnamed = memory::collect(self.blocks.iter().filter(wrong).map(|b| b.cluster))?;
        unnamed.sort_unstable();
        unnamed.dedup();
        Ok(unnamed)
    }

    fn update(self, next: ClusterId) -> Result<Update> {
        let mut events = Vec::new();
        let splits = self.moves(&mut events)?;
        for component in self.components.iter().filter(|component| component.is_new) {
            if splits.binary_search(&component.id).is_err() {
                let Component { id: cluster, size, .. } = *component;
                memory::push(&mut events, ClusterEvent::Create { cluster, size })?;
            }
        }
        let ended = self.ended()?;
        for &old in &ended {
            let event = match self.pieces_of(old) {
                [piece] => self.component(piece.component).map(|component| ClusterEvent::Merge {
                    cluster: component.id,
                    other: old,
                    size: component.size,
                }),
                _ => Some(ClusterEvent::Dissolve { cluster: old }),
            };
            event.map_or(Ok(()), |event| memory::push(&mut events, event))?;
        }
        events.sort_unstable_by_key(|event| event.place());
        let changed = self.changed(&events)?;
        Ok(Update { events, changed, ended, next })
    }

    /// Adds what happens to single documents, and the splits that they make. Returns the clusters that
    /// something was split to, ascending.
    fn moves(&self, events: &mut Vec<ClusterEvent>) -> Result<Vec<ClusterId>> {
        let mut splits: Vec<(ClusterId, ClusterId)> = Vec::new();
        for (document, &RankedDocument { old, component }) in (0..).zip(self.documents) {
            let event = match (old, self.id(component)) {
                (Some(cluster), None) => ClusterEvent::Leave { cluster, document },
                (None, Some(cluster)) => ClusterEvent::Join { cluster, document },
                (Some(other), Some(cluster)) if other != cluster && !self.is_merged(other) => {
                    memory::push(&mut splits, (cluster, other))?;
                    ClusterEvent::Move { cluster, other, document }
                }
                _ => continue,
            };
            memory::push(events, event)?;
        }
        splits.sort_unstable();
        for split in splits.chunk_by(|a, b| a == b) {
            let ((cluster, other), size) = (split[0], split.len() as u64);
            memory::push(events, ClusterEvent::Split { cluster, other, size })?;
        }
        let mut to = memory::collect(splits.iter().map(|(cluster, _)| *cluster))?;
        to.dedup();
        Ok(to)
    }

    /// The old ids that no component has.
    fn ended(&self) -> Result<Vec<ClusterId>> {
        let ids = self.components.iter().map(|component| component.id);
        let mut ids = memory::collect(ids)?;
        ids.sort_unstable();
        let named = self.documents.iter().filter_map(|document| document.old);
        let old = named.chain(self.blocks.iter().map(|block| block.cluster));
        let mut ended = memory::collect(old.filter(|old| ids.binary_search(old).is_err()))?;
        ended.sort_unstable();
        ended.dedup();
        Ok(ended)
    }

    /// The clusters that there are of those to which something happened.
    fn changed(&self, events: &[ClusterEvent]) -> Result<Vec<(ClusterId, u64)>> {
        let touched = events.iter().flat_map(|event| [Some(event.cluster()), event.other()]);
        let mut touched = memory::collect(touched.flatten())?;
        touched.sort_unstable();
        touched.dedup();
        let sizes = self.components.iter().map(|component| (component.id, component.size));
        let mut changed =
            memory::collect(sizes.filter(|(id, _)| touched.binary_search(id).is_ok()))?;
        changed.sort_unstable();
        Ok(changed)
    }
}
