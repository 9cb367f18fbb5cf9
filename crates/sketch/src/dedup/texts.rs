//! Texts in memory with their keys, as a collection and its host.

use std::rc::Rc;

use super::attributes::Attributes;
use super::form::{Form, Terms, Verify};
use super::groups::{Groups, Judge};
use super::host::{DocumentPass, Host, Process, VisitDocument};
use super::intake::Documents;
use super::judge::{Cluster, FoundPairs, Linkage, Ranks, all_pairs, leader_clusters, single_linkage};
use super::shares::Shares;
use crate::pipeline::Setting;
use crate::spool::NewFile;
use crate::stored::StoredBytes;
use crate::{Banding, Config, DEFAULT_RECALL, Error, Result, memory};

/// Number of comparisons without success that a document makes in a bucket.
const BUCKET_LIMIT: usize = 1000;

/// Bytes for what is made of the texts; more takes more passes.
const MEMORY: usize = 1 << 30;

/// Finds the near-duplicates in a collection of texts.
///
/// It keeps the texts, and compares them again for each question: texts that share a band by their exact Jaccard
/// similarity, each pair once, with all cores. Exact copies cost no more than one. For other sources, such as a file
/// larger than memory, implement the trait `dedup::Host`, which the feature `database` exports.
///
/// ```
/// use minlsh_sketch::{Config, Dedup};
///
/// let mut dedup = Dedup::new(Config::default(), 0.7)?;
/// dedup.add("monday", "The committee will meet on Monday at ten in the large hall of the town house.")?;
/// dedup.add("bread", "Fresh bread, rolls and cakes are baked here every morning from six o'clock on.")?;
/// dedup.add("friday", "The committee will meet on Friday at ten in the large hall of the town house.")?;
/// for pair in dedup.pairs()? {
///     assert_eq!((*pair.a, *pair.b), ("monday", "friday"));
///     assert!(pair.similarity > 0.7);
/// }
/// assert_eq!(dedup.plan()?[0].removed, &"friday");
/// # Ok::<(), minlsh_sketch::Error>(())
/// ```
pub struct Dedup<K> {
    keys: Vec<K>,
    texts: Vec<String>,
    terms: Terms,
}

/// Two similar documents, by their keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KeyPair<'a, K> {
    /// The document that was added first.
    pub a: &'a K,
    /// The other one.
    pub b: &'a K,
    /// The Jaccard similarity of their shingles.
    pub similarity: f64,
}

/// A document that a plan removes, by its key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Removal<'a, K> {
    /// The document.
    pub removed: &'a K,
    /// The one that stays, which was added before.
    pub kept: &'a K,
    /// Their Jaccard similarity.
    pub similarity: f64,
}

impl<K> Dedup<K> {
    /// No texts yet; a pair has at least the similarity `threshold`, above 0 and up to 1. Of pairs at the threshold
    /// 99 % are found, and more of others.
    ///
    /// # Errors
    /// [`Error::Threshold`].
    pub fn new(config: Config, threshold: f64) -> Result<Self> {
        let banding = Banding::for_recall(threshold, config.num_perm() as i64, DEFAULT_RECALL)?;
        let (form, verify) = (Form::Text, Verify::Exact);
        let terms = Terms { form, verify, threshold, config, banding, bucket_limit: BUCKET_LIMIT };
        Ok(Self { keys: Vec::new(), texts: Vec::new(), terms })
    }

    /// Sets the least share of pairs at the threshold that is found, below 1.
    ///
    /// # Errors
    /// [`Error::Recall`].
    pub fn with_recall(mut self, recall: f64) -> Result<Self> {
        let Terms { threshold, config, .. } = &self.terms;
        self.terms.banding = Banding::for_recall(*threshold, config.num_perm() as i64, recall)?;
        Ok(self)
    }

    /// Adds a text. Keys may be repeated.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn add(&mut self, key: K, text: &str) -> Result<()> {
        memory::push(&mut self.texts, memory::owned(text)?)?;
        memory::push(&mut self.keys, key)
    }

    /// All pairs, in the order of adding.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn pairs(&self) -> Result<Vec<KeyPair<'_, K>>> {
        let (found, texts) = self.judge(&|group, emit| all_pairs(group, None, emit))?;
        let mut pairs = Vec::new();
        let mut push = |a: u32, b: u32, similarity| memory::push(&mut pairs, (a.min(b), a.max(b), similarity));
        for found in found {
            match found {
                FoundPairs::Pair(a, b, similarity) => push(a, b, similarity)?,
                FoundPairs::Copies(names) => {
                    for (place, &b) in names.iter().enumerate() {
                        names[..place].iter().try_for_each(|&a| push(a, b, 1.0))?;
                    }
                }
                FoundPairs::Copied(_) => {}
            }
        }
        pairs.sort_unstable_by_key(|(a, b, _)| (*a, *b));
        let key = |name: u32| self.key(&texts, name);
        memory::collect(pairs.into_iter().map(|(a, b, similarity)| KeyPair { a: key(a), b: key(b), similarity }))
    }

    /// The clusters of two or more texts: texts that a chain of pairs connects. Members are in the order of adding, and
    /// clusters in the order of their first members.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn clusters(&self) -> Result<Vec<Vec<&K>>> {
        let (mut found, texts) = self.grouped(single_linkage)?;
        found.sort_unstable_by_key(|cluster| cluster.representative);
        let mut clusters = memory::with_capacity(found.len())?;
        for Cluster { representative, members, .. } in found {
            let others = members.iter().map(|(name, _)| *name);
            let names = std::iter::once(representative).chain(others);
            clusters.push(memory::collect(names.map(|name| self.key(&texts, name)))?);
        }
        Ok(clusters)
    }

    /// The texts to remove so that no near-duplicates remain. In the order of adding, a text stays unless it is similar
    /// to one that stays; it is removed in favour of the first of these.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn plan(&self) -> Result<Vec<Removal<'_, K>>> {
        let (found, texts) = self.grouped(leader_clusters)?;
        let mut removed = Vec::new();
        for Cluster { representative, members, .. } in found {
            for (name, similarity) in members {
                memory::push(&mut removed, (name, representative, similarity))?;
            }
        }
        removed.sort_unstable_by_key(|(removed, ..)| *removed);
        let key = |name: u32| self.key(&texts, name);
        let removal = |(removed, kept, similarity)| Removal { removed: key(removed), kept: key(kept), similarity };
        memory::collect(removed.into_iter().map(removal))
    }

    /// The key of a text by its name; `texts` has the number of each.
    fn key(&self, texts: &[u32], name: u32) -> &K {
        &self.keys[texts[name as usize] as usize]
    }

    fn grouped(&self, linkage: Linkage) -> Result<(Vec<Cluster>, Vec<u32>)> {
        // A name is the position among the texts that are compared.
        let ranks = Ranks::of(&memory::collect(0..self.texts.len() as u32)?)?;
        self.judge(&|group, emit| linkage(group, &ranks, emit))
    }

    /// All that `judge` finds, by name, and the number of each text by its name.
    fn judge<T: Send>(&self, judge: &Judge<T>) -> Result<(Vec<T>, Vec<u32>)> {
        let mut host = HeldTexts { texts: &self.texts, compared: Vec::new(), candidates: Vec::new() };
        let mut documents = Documents::new(self.terms.clone(), Shares::of(MEMORY, false), HeldTexts::process())?;
        let mut without = documents.take_in(|intake| {
            self.texts.iter().try_for_each(|text| {
                intake.add(Attributes::default(), |_, batch| {
                    batch.push_text(StoredBytes::plain(text.as_bytes()))?;
                    Ok::<_, Error>((text.len(), 0.0))
                })
            })
        })?;
        documents.compare_each_pair();
        without.reverse();
        let all = 0..self.texts.len() as u32;
        host.compared = memory::collect(all.filter(|text| without.pop_if(|empty| *empty == *text).is_none()))?;
        let mut groups = Groups::gather(documents, &mut host, u32::MAX)?;
        let mut found = Vec::new();
        groups.each(&host, judge, &mut |more| memory::push(&mut found, more))?;
        Ok((found, host.candidates))
    }
}

/// Texts as a host.
struct HeldTexts<'a> {
    texts: &'a [String],
    /// The number of each text with shingles.
    compared: Vec<u32>,
    /// The number of each text that shares a bucket.
    candidates: Vec<u32>,
}

impl HeldTexts<'_> {
    fn process() -> Process {
        let threads = std::thread::available_parallelism().map_or(0, |cores| cores.get() - 1);
        let setting =
            |memory| Setting { around_spawn: |spawn| spawn(), at_start: || (), check_interrupts: || (), memory };
        Process { threads, setting, new_file: NewFile::in_memory(), progress: Rc::new(|_| ()) }
    }

    fn read(&self, document: u32, visit: &mut VisitDocument<Error>) -> Result<()> {
        let text = &self.texts[self.compared[document as usize] as usize];
        visit(document, &mut |_, take| take(StoredBytes::plain(text.as_bytes())))
    }
}

impl Host for HeldTexts<'_> {
    type Error = Error;

    fn each(
        &mut self,
        pass: DocumentPass,
        wanted: &mut dyn Iterator<Item = u32>,
        visit: &mut VisitDocument<Error>,
    ) -> Result<()> {
        for document in wanted.take_while(|document| (*document as usize) < self.compared.len()) {
            if pass == DocumentPass::Candidates {
                memory::push(&mut self.candidates, self.compared[document as usize])?;
            }
            self.read(document, visit)?;
        }
        Ok(())
    }

    fn can_fetch(&self) -> bool {
        true
    }

    fn fetch(&self, wanted: &mut dyn Iterator<Item = u32>, visit: &mut VisitDocument<Error>) -> Result<()> {
        Iterator::try_for_each(&mut { wanted }, |document| self.read(document, visit))
    }
}
