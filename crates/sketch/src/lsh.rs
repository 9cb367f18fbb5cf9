//! An index of texts in memory, which finds the near-duplicates of a text among those that were inserted before.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;

use ahash::RandomState;
use hashbrown::HashTable;

use crate::exact::ShingleSet;
use crate::scheme::Scheme;
use crate::shingle::shingle_hashes;
use crate::signature::{Banding, Sketcher};
use crate::{Config, DEFAULT_RECALL, Error, Result, memory};

/// Texts with their keys, found again by similar texts. If all texts are there, [`Dedup`](crate::Dedup) finds their
/// pairs at a lower cost.
///
/// ```
/// use minlsh_sketch::{Config, Error, Lsh};
///
/// let mut lsh = Lsh::new(Config::default(), 0.8)?;
/// lsh.insert("meeting", "The committee will meet on Monday at ten in the large hall of the town house.")?;
/// lsh.insert("bakery", "Fresh bread, rolls and cakes are baked here every morning from six o'clock on.")?;
/// let found = lsh.query("The committee will meet on Monday at ten in the large hall of the town house!")?;
/// assert_eq!(found, [(&"meeting", 71.0 / 73.0)]);
///
/// // A key has one text.
/// assert_eq!(lsh.insert("bakery", "Rye bread only."), Err(Error::KeyExists));
/// assert!(lsh.remove("bakery") && !lsh.remove("bakery"));
/// lsh.insert("bakery", "Rye bread only.")?;
/// # Ok::<(), minlsh_sketch::Error>(())
/// ```
///
/// You use it like `MinHashLSH` of Python's datasketch. Two things differ. Its bands reach a stated recall at the
/// threshold. Each candidate is compared exactly, so no text below the threshold is found.
///
/// # Memory
///
/// A text takes 8 bytes for each distinct shingle and about 100 bytes for each band. There are 16 bands at a threshold
/// of 0.8, so a text of 1,000 characters takes about 9 kB.
pub struct Lsh<K> {
    config: Config,
    threshold: f64,
    banding: Banding,
    entries: Vec<IndexedText<K>>,
    /// The positions of entries, by the hashes of their keys.
    positions: HashTable<u32>,
    /// The positions of entries, by the hashes of their bands.
    buckets: HashMap<i64, Vec<u32>, RandomState>,
    state: RandomState,
}

struct IndexedText<K> {
    key: K,
    set: ShingleSet,
    bands: Vec<i64>,
}

impl<K: Eq + Hash> Lsh<K> {
    /// An empty index that finds texts with a similarity of at least `threshold`, each with a probability of at least
    /// [`DEFAULT_RECALL`].
    ///
    /// # Errors
    /// As [`Lsh::with_recall`].
    pub fn new(config: Config, threshold: f64) -> Result<Self> {
        Self::with_recall(config, threshold, DEFAULT_RECALL)
    }

    /// An empty index with a recall of its own: the probability that a text is found whose similarity is `threshold`.
    /// More similar texts are found with a higher probability, and equal ones always.
    ///
    /// The signatures stay inside. So they are made by the scheme `fss`, whatever the scheme of `config` is.
    ///
    /// # Errors
    /// [`Error::Threshold`] outside `(0, 1]`; [`Error::Recall`] outside `(0, 1)`; [`Error::RecallUnattainable`] for the
    /// `num_perm` of `config`.
    pub fn with_recall(config: Config, threshold: f64, recall: f64) -> Result<Self> {
        let banding = Banding::for_recall(threshold, config.num_perm() as i64, recall)?;
        Ok(Self {
            config: config.with_scheme(Scheme::Fss),
            threshold,
            banding: banding.trimmed(threshold, recall),
            entries: Vec::new(),
            positions: HashTable::new(),
            buckets: HashMap::default(),
            state: RandomState::new(),
        })
    }

    /// Number of texts, including those without shingles.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True if there are no texts.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// True if there is a text with this key.
    pub fn contains_key<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        let is_it = |position: &u32| self.entries[*position as usize].key.borrow() == key;
        self.positions.find(self.state.hash_one(key), is_it).is_some()
    }

    /// Adds a text. A text without shingles, such as an empty one, is never found. After an error, the index is as it
    /// was before.
    ///
    /// # Errors
    /// [`Error::KeyExists`], as datasketch raises an error too. To replace a text, which rensa does silently,
    /// [remove](Self::remove) its key first.
    pub fn insert(&mut self, key: K, text: &str) -> Result<()> {
        if self.contains_key(&key) {
            return Err(Error::KeyExists);
        }
        let (set, bands) = self.set_and_bands(text)?;
        // A copy, because it was made with room for a shingle at each byte of the text.
        let set = ShingleSet::from_hashes(memory::copied(&set.into_hashes())?, &mut || ());
        let Self { entries, positions, buckets, state, .. } = self;
        let refused = memory::refused::<IndexedText<K>>(entries.len() + 1);
        let Ok(position) = u32::try_from(entries.len()) else { return Err(refused) };
        // All memory is allocated before anything is added.
        memory::reserve(entries, 1)?;
        let hash_at = |position: &u32| state.hash_one(&entries[*position as usize].key);
        positions.try_reserve(1, hash_at).or(Err(refused.clone()))?;
        for band in &bands {
            buckets.try_reserve(1).or(Err(refused.clone()))?;
            memory::reserve(buckets.entry(*band).or_default(), 1)?;
        }
        positions.insert_unique(state.hash_one(&key), position, hash_at);
        bands.iter().for_each(|band| buckets.entry(*band).or_default().push(position));
        entries.push(IndexedText { key, set, bands });
        Ok(())
    }

    /// The keys of texts that are at least as similar to `text` as the threshold, with their exact Jaccard
    /// similarities; the most similar first.
    ///
    /// # Complexity
    ///
    /// Linear in the shingles of `text`, and of the texts that share a band with it.
    pub fn query(&self, text: &str) -> Result<Vec<(&K, f64)>> {
        let (set, bands) = self.set_and_bands(text)?;
        let mut candidates = Vec::new();
        for bucket in bands.iter().filter_map(|band| self.buckets.get(band)) {
            memory::extend(&mut candidates, bucket)?;
        }
        candidates.sort_unstable();
        candidates.dedup();
        let mut found = Vec::new();
        for candidate in candidates {
            let entry = &self.entries[candidate as usize];
            if let Some(similarity) = entry.set.jaccard_at_least(&set, self.threshold) {
                memory::push(&mut found, (&entry.key, similarity))?;
            }
        }
        found.sort_unstable_by(|(_, a), (_, b)| b.total_cmp(a));
        Ok(found)
    }

    /// Removes the text with this key. Returns false if no text has it.
    ///
    /// # Complexity
    ///
    /// Linear in the number of texts that share a band with it, or with the text that was inserted last.
    pub fn remove<Q: Eq + Hash + ?Sized>(&mut self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        let Self { entries, positions, buckets, state, .. } = self;
        let is_it = |position: &u32| entries[*position as usize].key.borrow() == key;
        let Ok(found) = positions.find_entry(state.hash_one(key), is_it) else { return false };
        let position = found.remove().0;
        for band in entries.swap_remove(position as usize).bands {
            let bucket = buckets.entry(band).or_default();
            bucket.retain(|other| *other != position);
            if bucket.is_empty() {
                buckets.remove(&band);
            }
        }
        // The last entry has taken its position.
        if let Some(IndexedText { key, bands, .. }) = entries.get(position as usize) {
            let last = entries.len() as u32;
            let moved = positions.find_mut(state.hash_one(key), |other| *other == last).into_iter();
            moved.for_each(|other| *other = position);
            for band in bands {
                let others = buckets.entry(*band).or_default().iter_mut();
                others.filter(|other| **other == last).for_each(|other| *other = position);
            }
        }
        true
    }

    /// The shingles of a text and the hashes of its bands. A text without shingles has no bands.
    fn set_and_bands(&self, text: &str) -> Result<(ShingleSet, Vec<i64>)> {
        let (mut hashes, mut bands) = (Vec::new(), Vec::new());
        shingle_hashes(&self.config, text, &mut hashes, &mut || ())?;
        let mut sketcher = Sketcher::new(self.config.clone());
        if let Some(signature) = sketcher.sketch_hashes(&hashes, &mut || ())? {
            self.banding.hashes(signature, &mut bands)?;
        }
        Ok((ShingleSet::from_hashes(hashes, &mut || ()), bands))
    }
}
