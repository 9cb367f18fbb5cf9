//! Pairs, clusters and bridges of a group.

mod bridges;
mod clusters;
mod pairs;
mod ranks;

pub use bridges::{NamedBridge, bridges};
pub use clusters::{Cluster, Linkage, components_of, leader_clusters, single_linkage};
pub use pairs::{FoundPairs, all_pairs, pairs_once};
pub use ranks::Ranks;
