//! Every allocation that may be refused is refused once: the answer is the right one or
//! [`Error::OutOfMemory`], and the process lives.
//!
//! Allocations of less than [`GRANTED`] bytes are never refused: they do not grow with the input
//! (see the documentation of `memory`), or have grown only little.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, RefCell};
use std::sync::Arc;

use minlsh_engine_tests::signatures::{SLOTS, Signatures};
use minlsh_sketch::boilerplate::{Boilerplate, Enough, Frame, Judged, OriginSample, Shingled, counted};
use minlsh_sketch::corpus::{
    ClusterLinks, Components, Identical, NumberedSets, Pair, PairSide, connect, leaders, pairs, weakest_link,
};
use minlsh_sketch::{
    Banding, Comparison, Config, Error, Lsh, Normalization, Overlap, PreparedSet, ShingleSet, Sketcher, StopWords,
    WeightedSet, codes, for_each_shingle, memory, normalize_text, shingle_hashes, text_profile, text_profile_signature,
    tokens,
};

/// The least size that is refused.
const GRANTED: usize = 1024;

/// The system's allocator, which refuses allocations beyond [`LEFT`].
struct Refusing;

thread_local! {
    /// The number of allocations that this thread is still granted; `None` means all of them.
    static LEFT: Cell<Option<usize>> = const { Cell::new(None) };
    /// True if one was refused.
    static REFUSED: Cell<bool> = const { Cell::new(false) };
    /// The bytes of the largest allocation.
    static LARGEST: Cell<usize> = const { Cell::new(0) };
}

fn granted(size: usize) -> bool {
    LARGEST.set(LARGEST.get().max(size));
    if size < GRANTED {
        return true;
    }
    match LEFT.get() {
        None => true,
        // From then on all are refused, until the end of the call.
        Some(0) => {
            REFUSED.set(true);
            false
        }
        Some(left) => {
            LEFT.set(Some(left - 1));
            true
        }
    }
}

// SAFETY: the system's allocator, or null, which says that there is no memory.
unsafe impl GlobalAlloc for Refusing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the layout is what `GlobalAlloc` asks of it, and goes to the system's allocator as it is.
        if granted(layout.size()) { unsafe { System.alloc(layout) } } else { std::ptr::null_mut() }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: what is not null came from the system's allocator, with that layout.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if size > layout.size() && !granted(size) {
            return std::ptr::null_mut();
        }
        // SAFETY: what is not null came from the system's allocator, with that layout.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Refusing = Refusing;

/// Does `work` with every allocation but the first n refused, for n = 0, 1, ... until none is.
/// Returns how many allocations there are to refuse.
fn survives<T: PartialEq + std::fmt::Debug>(what: &str, mut work: impl FnMut() -> Result<T, Error>) -> usize {
    let expected = work().expect("memory enough");
    for n in 0.. {
        LEFT.set(Some(n));
        REFUSED.set(false);
        let found = work();
        LEFT.set(None);
        match found {
            Err(Error::OutOfMemory { bytes }) => {
                assert!(REFUSED.get() && bytes > 0, "{what}, allocation {n}");
            }
            Err(other) => panic!("{what}, allocation {n}: {other}"),
            Ok(found) => assert_eq!(found, expected, "{what}, allocation {n}"),
        }
        if !REFUSED.get() {
            return n;
        }
    }
    unreachable!("it ends by itself")
}

/// The same of a sketcher, which owns scratch memory that does not grow.
fn survives_sketching(what: &str, config: &Config, text: &str) -> usize {
    let sketcher = RefCell::new(Sketcher::new(config.clone()));
    let work = || {
        let mut sketcher = sketcher.borrow_mut();
        sketcher.sketch(text, &mut || ()).map(|found| found.map(<[i32]>::to_vec))
    };
    let expected = Sketcher::new(config.clone()).sketch(text, &mut || ()).map(|found| found.map(<[i32]>::to_vec));
    assert_eq!(work(), expected);
    survives(what, work)
}

/// Sentences with capitals, accents, marks in disorder, ligatures and zero-width characters.
fn text() -> String {
    let sentence = "The Na\u{ef}ve o\u{301}\u{323} \u{fb01}nds 12.5 \u{20ac}, the\u{200b} \
                    \u{6f22}\u{5b57}\u{3002}\tDon't  Stra\u{df}e \u{1100}\u{1161}! ";
    (0..60).map(|i| format!("{sentence}{i} ")).collect()
}

fn configurations() -> Vec<Config> {
    let mut all = Vec::new();
    for scheme in ["fss", "permutations", "datasketch_affine32", "datasketch_legacy_xxh32"] {
        for unit in ["char", "word", "anchored"] {
            for steps in ["none", "plain", "aggressive", "nfc diacritics min_length=2"] {
                let config = Config::new(scheme, 64, unit, 3, 1).unwrap();
                all.push(config.with_normalization(steps.parse().unwrap()).unwrap());
            }
        }
    }
    all
}

#[test]
fn texts() {
    let mut refused = 0;
    let text = text();
    for config in configurations() {
        for config in [config.clone(), config.with_bag(true)] {
            let name = config.to_string();
            refused += survives_sketching(&name, &config, &text);
            refused += survives(&name, || {
                let mut hashes = Vec::new();
                shingle_hashes(&config, &text, &mut hashes, &mut || ()).map(|()| hashes)
            });
            refused += survives(&name, || {
                let mut all = Vec::new();
                let mut push = |shingle: &str| memory::push(&mut all, memory::owned(shingle)?);
                for_each_shingle(&config, &text, &mut || (), &mut push).map(|()| all)
            });
            refused += survives(&name, || {
                let mut all = Vec::new();
                let mut push = |token: &str| memory::push(&mut all, memory::owned(token)?);
                tokens(&config, &text, &mut || (), &mut push).map(|()| all)
            });
            refused += survives(&name, || ShingleSet::from_text(&config, &text, &mut || ()));
            refused += survives(&name, || {
                let other = &text[text.len() / 3..];
                let other = &other[other.find(' ').unwrap_or(0)..];
                Comparison::new(&config, &text, other, 1000, &mut || ())
            });
        }
    }
    assert!(refused > 200, "{refused}");
}

#[test]
fn long_texts_of_one_kind() {
    let mut refused = 0;
    let none = Config::new("fss", 16, "word", 2, 0).unwrap();
    let plain = none.clone().with_normalization(Normalization::plain()).unwrap();
    let aggressive = none.clone().with_normalization("aggressive".parse().unwrap()).unwrap();
    for unit in ["a", "a ", "A", "\u{301}", "\u{323}\u{301}", "\u{200b}", "\u{fdfa}", "\u{e9}", "."] {
        let text = unit.repeat(20_000 / unit.len());
        for config in [&none, &plain, &aggressive] {
            let allocates = normalize_text(config, &text, &mut || ()).unwrap() != text;
            let name = format!("{unit:?}, {config}");
            if allocates {
                refused += survives(&name, || normalize_text(config, &text, &mut || ()).map(|text| text.into_owned()));
            }
            refused += survives_sketching(&name, config, &text);
        }
    }
    assert!(refused > 200, "{refused}");
}

#[test]
fn lists_profiles_and_weights() {
    let text = text();
    let list: String = (0..400).map(|i| format!("W\u{f6}rd{i} ")).collect();
    let list = StopWords::named(&list).unwrap();
    let profiled: String = (0..400).map(|i| format!("word{i} ")).collect();
    survives("text_profile", || {
        let mut all = String::new();
        text_profile(&profiled, 2, 0.01, &mut || (), &mut |token, _| memory::push_str(&mut all, token))?;
        Ok(all)
    });
    survives("codes", || {
        let mut all = String::new();
        codes(&profiled, 1, &mut || (), &mut |code| memory::push_str(&mut all, code))?;
        Ok(all)
    });
    survives("signature", || text_profile_signature(&profiled, 2, 0.01, &mut || ()));
    survives("bands", || {
        let mut hashes = Vec::new();
        Banding::new(64, 2)?.hashes(&[7; 128], &mut hashes).map(|()| hashes.len())?;
        let mut pushed = Vec::new();
        (0..1000).try_for_each(|i| memory::push(&mut pushed, i)).map(|()| pushed)
    });
    survives("weights", || {
        let weights = memory::collect((0..1000).map(|i| (i * i, 1.0 + i as f64)))?;
        let set = WeightedSet::new(weights, &mut || ())?;
        Ok((set.jaccard(&set), set.signature(16, 0, &mut || ())?))
    });
    // All of a list is bounded: it may only be refused what grows with a text.
    let config = Config::default().with_stop_words(list).unwrap();
    survives_sketching("a list", &config, &text);
}

#[test]
fn an_index_of_texts() {
    let texts: Vec<String> = (0..=20).map(|left_out| text().chars().skip(left_out).collect()).collect();
    let lsh = RefCell::new(Lsh::new(Config::default(), 0.5).unwrap());
    (0..20).for_each(|key| lsh.borrow_mut().insert(key, &texts[key]).unwrap());
    let refused = survives("lsh", || {
        let mut lsh = lsh.borrow_mut();
        // What was refused has left no key.
        lsh.remove(&20);
        assert_eq!(lsh.len(), 20);
        lsh.insert(20, &texts[20])?;
        memory::collect(lsh.query(&texts[0])?.into_iter().map(|(key, similarity)| (*key, similarity)))
    });
    assert!(refused > 5, "{refused}");
}

/// Documents in groups of near-duplicates, some of them copies.
fn documents() -> Signatures {
    let signature = |document: i32| {
        let mut signature = vec![document / 40; SLOTS];
        signature[document as usize % SLOTS] += document % 7;
        signature
    };
    Signatures::new(&(0..600).map(signature).collect::<Vec<_>>(), 0.8)
}

#[test]
fn corpora() {
    survives("components", || Components::new(1000).map(|mut components| components.find(999)));
    let mut corpus = documents();
    survives("identical", || {
        let identical = Identical::group(&mut corpus)?;
        Ok(identical.leaders().count())
    });
    let identical = Identical::group(&mut corpus).unwrap();
    let both = |_: u32| PairSide::Both;
    survives("pairs", || {
        let mut found = Vec::new();
        pairs(&mut corpus, &identical, &both, 1000, &mut |_, pair| memory::push(&mut found, (pair.a, pair.b)))?;
        found.sort_unstable();
        Ok(found)
    });
    survives("connect", || {
        let mut connected = connect(&mut corpus, &identical, 1000)?;
        Ok((connected.links.len(), connected.components.find(599)))
    });
    survives("leaders", || {
        let documents: Vec<u32> = memory::collect(0..600)?;
        let mut assigned = 0;
        leaders(&mut corpus, &documents, 1000, &mut |_, _, _| {
            assigned += 1;
            Ok(())
        })?;
        Ok(assigned)
    });
    survives("weakest_link", || {
        let documents: Vec<u32> = memory::collect(0..600)?;
        weakest_link(&mut corpus, &documents)
    });
}

#[test]
fn exact_similarities() {
    let text = text();
    let other = text.replacen("12.5", "12.6", 20);
    for config in configurations() {
        for config in [config.clone(), config.with_bag(true)] {
            survives(&config.to_string(), || {
                let mut prepared = PreparedSet::from_text(&config, &text, &mut || ())?;
                prepared.similarity(&config, &other, 0.1, &mut || ())
            });
        }
    }
    let sets: Vec<Vec<u64>> = (0..10).map(|i| (i * 20..i * 20 + 1000).collect()).collect();
    // With the least memory the others are forgotten for each that is added.
    for limit in [4 << 20, 100_000, 40_000] {
        survives("group", || {
            let mut group = NumberedSets::new(limit);
            for (document, hashes) in (0..).zip(&sets) {
                group.add(document, hashes)?;
            }
            Ok(group.similarity(7, 9, 0.5))
        });
    }
    survives("overlap", || {
        let numbers = |from: u64| memory::collect((from..from + 10_000).rev());
        Ok(Overlap::count(numbers(0)?, numbers(500)?, Ord::cmp, &mut || ()))
    });
    survives("bridges", || {
        let mut links = ClusterLinks::new(1003)?;
        for i in 0..1000 {
            links.push(Pair { a: i, b: i + 1 + i % 3, similarity: 0.9 })?;
        }
        links.bridges(&|_| 1).map(|(bridges, _)| bridges)
    });
}

#[test]
fn boilerplate() {
    let texts: Vec<String> = (0..30).map(|i| format!("{} and a page of its own, {i}", text())).collect();
    let config = Config::default();
    survives("boilerplate", || {
        let mut chosen = OriginSample::default();
        for (number, text) in (0..).zip(&texts) {
            let fingerprint = Shingled::Text(&config, text).fingerprint(&mut || ())?;
            chosen.offer(3, fingerprint.unwrap_or(0), number)?;
        }
        let documents = memory::collect(chosen.into_origins().flatten())?;
        let mut hashes = |place: usize, out: &mut Vec<u64>, _: &mut dyn FnMut()| {
            Shingled::Text(&config, &texts[documents[place] as usize]).hashes(out, &mut || ())
        };
        let judged =
            Judged { documents: documents.len(), shingles: 30 * texts[0].len(), memory: 1 << 16, hashes: &mut hashes };
        let enough = Enough::CHARACTERS;
        let shared = judged.shared(enough, None, &mut || ())?;
        let of_origin = Some(Arc::new(Boilerplate::new(&shared.hashes)?));
        let frame = Frame { of_origin, of_all: None };
        let mut left = Vec::new();
        let content = Shingled::Text(&config, &texts[7]);
        counted(&frame, enough, content, &mut left, &mut || ())?;
        Ok(left)
    });
}

#[test]
fn audits() {
    let set = |start: u64| {
        let hashes = memory::collect((start..start + 300).map(|i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)))?;
        Ok(ShingleSet::from_hashes(hashes, &mut || ()))
    };
    survives("sets", || Ok(set(10)?.jaccard_at_least(&set(500)?, 0.5)));
}

#[test]
fn tables_keep_to_their_room() {
    // One document in four has each hash, so all of them are counted by themselves.
    let hash = |number: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let documents: Vec<Vec<u64>> = (0..4).map(|first| (first..5000).step_by(4).map(hash).collect()).collect();
    let mut hashes =
        |document: usize, out: &mut Vec<u64>, _: &mut dyn FnMut()| memory::extend(out, &documents[document % 4]);
    // A table of 4096 places has room in half of it, and one of 8192, which all of them take, has not.
    for (memory, largest) in [(250_000, 125_000), (500_000, 250_000)] {
        LARGEST.set(0);
        let judged = Judged { documents: 200, shingles: 250_000, memory, hashes: &mut hashes };
        let shared = judged.common(&mut || ()).unwrap();
        assert_eq!(shared.len(), 5000);
        assert!(LARGEST.get() <= largest, "{} of {memory}", LARGEST.get());
    }
}
