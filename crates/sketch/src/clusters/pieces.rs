//! Overlaps of old clusters and new components, counted document by document.

use super::event::{Block, ClusterId, RankedDocument};
use super::ids::{ClusterIds, Piece};
use crate::{Result, memory};

/// The result of an update, or what it lacks.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Outcome {
    /// The ids.
    Done(ClusterIds),
    /// Documents in blocks of these old clusters have different events, or their keys decide: they must be listed.
    Name(Vec<ClusterId>),
}

/// Counts of the overlaps of old clusters and new components: 32 bytes for each overlap, whatever its size.
#[derive(Debug, Default)]
pub struct Pieces {
    pieces: Vec<Piece>,
    /// Number of pieces at which equal ones are merged.
    room: usize,
    documents: u32,
    blocks: Vec<Block>,
}

/// Number of pieces at which they are merged for the first time.
const GATHERED: usize = 1 << 12;

impl Pieces {
    /// Counts the next document in the order of keys.
    pub fn add(&mut self, document: RankedDocument) -> Result<()> {
        let least = Some(self.documents);
        self.documents += 1;
        let RankedDocument { old, component } = document;
        self.push(Piece { old: old.unwrap_or(0), component, weight: 1, least })
    }

    /// Counts the documents of a block.
    pub fn add_block(&mut self, block: Block) -> Result<()> {
        memory::push(&mut self.blocks, block)?;
        let Block { cluster: old, size: weight, component } = block;
        self.push(Piece { old, component: Some(component), weight, least: None })
    }

    fn push(&mut self, piece: Piece) -> Result<()> {
        if self.pieces.len() >= self.room.max(GATHERED) {
            self.bring_together();
            self.room = 2 * self.pieces.len();
        }
        memory::push(&mut self.pieces, piece)
    }

    fn bring_together(&mut self) {
        // A block comes first, and then the least document is not known.
        self.pieces.sort_unstable_by_key(|piece| (piece.old, piece.component, piece.least));
        self.pieces.dedup_by(|piece, first| {
            let is_same = (piece.old, piece.component) == (first.old, first.component);
            first.weight += if is_same { piece.weight } else { 0 };
            is_same
        });
    }

    /// Assigns ids to components; the first new id is `next`.
    ///
    /// The result does not depend on which unchanged clusters are left out, nor on which documents form a [`Block`].
    pub fn assign(mut self, next: ClusterId) -> Result<Outcome> {
        self.bring_together();
        let ids = ClusterIds::new(self.pieces, next)?;
        let wrong = self.blocks.iter().filter(|block| !ids.may_stand(block));
        let mut unnamed = memory::collect(wrong.map(|block| block.cluster))?;
        unnamed.sort_unstable();
        unnamed.dedup();
        Ok(if unnamed.is_empty() { Outcome::Done(ids) } else { Outcome::Name(unnamed) })
    }
}
