//! Attributes of a document besides its content, which its host knows.

use crate::ElementHash;

/// The group of documents within which a document is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Scope(pub u32);

impl Scope {
    /// All documents, without scopes.
    pub const ALL: Self = Self(u32::MAX);

    /// Its number; 0 without scopes.
    pub fn number(self) -> u32 {
        if self == Self::ALL { 0 } else { self.0 }
    }

    /// A band hash that is specific to this scope.
    pub fn salt(self) -> u64 {
        if self == Self::ALL { 0 } else { ElementHash::Xxh3.hash(&self.0.to_ne_bytes()) }
    }
}

/// The number for a document without an origin: all of it counts.
pub const NO_ORIGIN: u32 = u32::MAX;

/// Attributes of a document.
#[derive(Clone, Copy)]
pub struct Attributes<'a> {
    /// The scope.
    pub scope: Scope,
    /// The number of its origin, or [`NO_ORIGIN`]; only used if boilerplate does not count.
    pub origin: u32,
    /// The set that must agree, in any order; only used if sets must agree.
    pub agreeing: &'a [u128],
}

impl Default for Attributes<'_> {
    fn default() -> Self {
        Self { scope: Scope::ALL, origin: NO_ORIGIN, agreeing: &[] }
    }
}
