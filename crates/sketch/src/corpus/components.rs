//! Union-find: clusters as connected components.

use crate::error::Error;
use crate::memory;

/// A partition of documents 0..n into components; at first each is alone.
///
/// Union by the least number with path halving: the root of a component is its least document,
/// whatever the order of the unions (Tarjan, van Leeuwen 1984).
pub struct Components {
    parents: Vec<u32>,
}

impl Components {
    /// `documents` components of one document each.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn new(documents: u32) -> Result<Self, Error> {
        Ok(Self { parents: memory::collect(0..documents)? })
    }

    /// The least document of the component of `document`.
    pub fn find(&mut self, document: u32) -> u32 {
        let mut current = document as usize;
        while self.parents[current] as usize != current {
            let grandparent = self.parents[self.parents[current] as usize];
            self.parents[current] = grandparent;
            current = grandparent as usize;
        }
        current as u32
    }

    /// Joins the components of `a` and `b`.
    pub fn union(&mut self, a: u32, b: u32) {
        let (a, b) = (self.find(a), self.find(b));
        self.parents[a.max(b) as usize] = a.min(b);
    }
}

#[cfg(test)]
mod tests {
    use super::Components;

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
}
