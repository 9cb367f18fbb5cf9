//! The signatures of a whole corpus, within maintenance_work_mem and a temporary file.

use crate::error::{Result, engine};
use crate::pg::guc::maintenance_work_mem;
use crate::pg::temp_file::TempFile;

/// Signatures read from the file that are kept at hand: the members of a bucket are compared
/// with each other, one after the other. A power of two.
const CACHED: usize = 4096;

/// Signatures by document number, all of one length.
pub struct Signatures {
    num_perm: usize,
    /// The first documents, as many as memory holds.
    memory: Vec<i32>,
    /// How many values `memory` may hold.
    limit: usize,
    /// The rest.
    file: Option<TempFile>,
    /// Which document each cached signature is of, and the signatures.
    cached: Vec<u32>,
    cache: Vec<i32>,
    left: Vec<i32>,
}

impl Signatures {
    /// None yet, of `num_perm` values each.
    pub fn new(num_perm: usize) -> Self {
        let limit = maintenance_work_mem() as usize * 1024 / size_of::<i32>();
        Self {
            num_perm,
            memory: Vec::new(),
            limit,
            file: None,
            cached: Vec::new(),
            cache: Vec::new(),
            left: vec![0; num_perm],
        }
    }

    /// Adds the next document's signature.
    pub fn push(&mut self, signature: &[i32]) {
        if self.file.is_none() && self.memory.len() + signature.len() <= self.limit {
            self.memory.extend_from_slice(signature);
            return;
        }
        let num_perm = self.num_perm;
        self.file.get_or_insert_with(|| TempFile::create(num_perm)).append(signature);
    }

    /// The similarity of two documents that their signatures estimate.
    pub fn estimate(&mut self, a: u32, b: u32) -> Result<f64> {
        let mut left = std::mem::take(&mut self.left);
        left.copy_from_slice(self.get(a)?);
        let estimate = sketch::estimate_jaccard(&left, self.get(b)?).map_err(engine);
        self.left = left;
        estimate
    }

    fn get(&mut self, document: u32) -> Result<&[i32]> {
        let (size, number) = (self.num_perm, document as usize);
        let in_memory = self.memory.len() / size;
        if number < in_memory {
            return Ok(&self.memory[number * size..][..size]);
        }
        if self.cached.is_empty() {
            self.cached = vec![u32::MAX; CACHED];
            self.cache = vec![0; CACHED * size];
        }
        let slot = number % CACHED;
        let range = slot * size..(slot + 1) * size;
        if self.cached[slot] != document {
            self.cached[slot] = u32::MAX;
            if let Some(file) = &mut self.file {
                file.read((number - in_memory) as u64, &mut self.cache[range.clone()])?;
            }
            self.cached[slot] = document;
        }
        Ok(&self.cache[range])
    }
}
