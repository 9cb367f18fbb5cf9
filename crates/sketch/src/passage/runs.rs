//! Finds the common runs of two texts, by a table of anchors of one and a scan of the other.
//!
//! A window of `t` characters has exactly one gram of `k` characters at a multiple of `t - k + 1`. So a table of these
//! grams of `b`, its anchors, has one for every window of `b`, and the grams of `a` are looked up one by one. A hit is
//! compared, and extended on both sides. A gram that is frequent in `b` (a ruler, spaces, a table of numbers) is
//! extended at a few positions only. The windows of `a` that this may miss are looked up afterwards, by the hash of the
//! whole window.

use std::ops::Range;

use super::characters::{Characters, common, common_back};
use super::hashes::{BLOCK, Scratch, each_hash};
use crate::simd::Level;
use crate::{Check, Result, memory};

/// Characters that two texts have in common.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Run {
    /// Position of the first character in one text.
    pub a: usize,
    /// Position of the first character in the other.
    pub b: usize,
    /// Number of characters.
    pub length: usize,
}

impl Run {
    fn end(&self) -> usize {
        self.a + self.length
    }

    /// The parts of the run whose windows of `t` characters of the first text are not in `windows`, which ascend.
    pub fn without(self, windows: &[Range<usize>], t: usize) -> Result<Vec<Self>> {
        let (mut parts, mut from, end) = (Vec::new(), self.a, self.end() - t + 1);
        let near = windows.partition_point(|windows| windows.end <= from);
        let behind = end..end;
        for next in windows[near..].iter().take_while(|next| next.start < end).chain([&behind]) {
            if next.start > from {
                let (b, length) = (self.b + from - self.a, next.start - from + t - 1);
                memory::push(&mut parts, Self { a: from, b, length })?;
            }
            from = next.end;
        }
        Ok(parts)
    }
}

/// Maximum number of hits that are extended for a gram.
const PLACES: usize = 16;

/// Stands for no anchor, and for no class.
const NONE: u32 = u32::MAX;

/// Windows are looked up by the hash of the whole window in batches: a `PART`-th of a text's windows, but at least
/// `LEAST_PART`. A window takes up to 37 bytes during the look-up.
const PART: usize = 4;
const LEAST_PART: usize = 1 << 18;

/// Runs of at least `min_match` characters. Their union in `a` is all of `a` that lies in windows of `b`. They are
/// ordered by position in `a`, and as few as greedy covering needs. An `a` shorter than `min_match` is a single window.
///
/// `check` is called at least every 64 KiB of text.
pub fn shared_runs(a: &Characters, b: &Characters, min_match: usize, check: Check) -> Result<Vec<Run>> {
    runs_of(a.codes(), b.codes(), min_match.min(a.len()), check)
}

/// The runs of windows of `t` characters; `a` is at least that long.
pub(super) fn runs_of(a: &[u32], b: &[u32], t: usize, check: Check) -> Result<Vec<Run>> {
    if t == 0 || b.len() < t {
        return Ok(Vec::new());
    }
    let mut scratch = Scratch::new(Level::best())?;
    let anchors = Anchors::new(b, t, &mut scratch, check)?;
    let mut walk =
        Walk { a, b, t, anchors: &anchors, scratch, found: Vec::new(), many: 1 << 12, hard: Vec::new(), known: 0..0 };
    walk.all(check)?;
    let Walk { hard, mut found, scratch, .. } = walk;
    drop(anchors);
    if !hard.is_empty() {
        found = cover(&mut found, t)?;
        let open = uncovered(&found, &hard, t)?;
        WindowSearch { a, b, t, scratch, found: &mut found }.look_up(&open, check)?;
    }
    cover(&mut found, t)
}

/// Number of characters of `a` in runs.
pub fn covered(runs: &[Run]) -> usize {
    let mut end = 0;
    let mut covered = 0;
    for run in runs {
        covered += run.end().saturating_sub(end.max(run.a));
        end = end.max(run.end());
    }
    covered
}

/// Grams of `b` at multiples of a stride, in chains of equal buckets, each ascending.
struct Anchors {
    k: usize,
    stride: usize,
    filter: Filter,
    heads: Vec<u32>,
    next: Vec<u32>,
}

impl Anchors {
    fn new(b: &[u32], t: usize, scratch: &mut Scratch, check: Check) -> Result<Self> {
        let k = (t * 3 / 4).clamp(1, 64);
        let stride = t - k + 1;
        let count = (b.len() - k) / stride + 1;
        let size = (count * 2).next_power_of_two();
        let mut anchors = Self {
            k,
            stride,
            filter: Filter::new(size * 8)?,
            heads: memory::filled(NONE, size)?,
            next: memory::filled(NONE, count)?,
        };
        let grams = b.len() - k + 1;
        // Hashing all grams of a block is faster than hashing every `stride`-th alone.
        for start in (0..grams).step_by(BLOCK).rev() {
            check();
            let end = grams.min(start + BLOCK);
            let hashes = scratch.hashes(b, start, end - start, k);
            for n in (start.div_ceil(stride)..end.div_ceil(stride)).rev() {
                let h = hashes[n * stride - start];
                anchors.filter.insert(h);
                let bucket = anchors.bucket(h);
                anchors.next[n] = std::mem::replace(&mut anchors.heads[bucket], n as u32);
            }
        }
        Ok(anchors)
    }

    fn bucket(&self, hash: u64) -> usize {
        (hash >> 32) as usize & (self.heads.len() - 1)
    }

    /// The positions in `b` where a gram with this hash may be.
    fn places(&self, hash: u64) -> impl Iterator<Item = usize> {
        let mut at = self.heads[self.bucket(hash)];
        std::iter::from_fn(move || {
            (at != NONE).then(|| {
                let n = at as usize;
                at = self.next[n];
                n * self.stride
            })
        })
    }
}

/// A filter of hashes with one bit for each; few bits are set, but hashes that were not added may pass too.
pub struct Filter(Vec<u64>);

impl Filter {
    /// An empty filter with `bits` bits, a power of two.
    pub fn new(bits: usize) -> Result<Self> {
        Ok(Self(memory::filled(0, bits.div_ceil(64))?))
    }

    /// Adds a hash.
    #[inline(always)]
    pub fn insert(&mut self, hash: u64) {
        let place = self.place(hash);
        self.0[place] |= 1 << (hash % 64);
    }

    /// True if a hash passes.
    #[inline(always)]
    pub fn has(&self, hash: u64) -> bool {
        self.0[self.place(hash)] >> (hash % 64) & 1 == 1
    }

    #[inline(always)]
    fn place(&self, hash: u64) -> usize {
        (hash / 64) as usize & (self.0.len() - 1)
    }
}

struct Walk<'a> {
    a: &'a [u32],
    b: &'a [u32],
    t: usize,
    anchors: &'a Anchors,
    scratch: Scratch,
    found: Vec<Run>,
    /// Number of runs from which unnecessary ones are dropped.
    many: usize,
    /// Windows of `a` that were searched for at some of their positions only.
    hard: Vec<Range<usize>>,
    /// Consecutive windows of `a` that runs cover.
    known: Range<usize>,
}

impl Walk<'_> {
    fn all(&mut self, check: Check) -> Result<()> {
        let (t, k, grams) = (self.t, self.anchors.k, self.a.len() - self.anchors.k + 1);
        let windows = self.a.len() - t + 1;
        let mut here = memory::with_capacity(PLACES)?;
        // Hashed grams; fewer of them after a jump, because another jump may follow.
        let mut block = 0..0;
        let mut hashes: [u64; BLOCK] = [0; BLOCK];
        let mut i = 0;
        while i < grams {
            // The windows for which the gram at `i` decides: those that have it where the same windows of `b` have an
            // anchor.
            let duty = i.saturating_sub(t - k)..(i + 1).min(windows);
            if self.known.start <= duty.start && self.known.end >= duty.end {
                i = self.known.end.max(i + 1);
                continue;
            }
            if !block.contains(&i) {
                check();
                let most = if block.end == i { BLOCK } else { BLOCK.min(4 * t) };
                let n = most.min(grams - i);
                hashes[..n].copy_from_slice(self.scratch.hashes(self.a, i, n, k));
                block = i..i + n;
            }
            let h = hashes[i - block.start];
            if self.anchors.filter.has(h) {
                self.extend(i, h, duty, &mut here)?;
                self.keep(&mut here)?;
            }
            i += 1;
        }
        Ok(())
    }

    /// Finds the runs through the gram at `i` of `a`.
    fn extend(&mut self, i: usize, hash: u64, duty: Range<usize>, here: &mut Vec<Run>) -> Result<()> {
        let (a, b, t, anchors) = (self.a, self.b, self.t, self.anchors);
        let k = anchors.k;
        // Beyond the known windows, later grams decide.
        let reach = match i < self.known.end {
            true => self.known.start.max(duty.start) + t - i,
            false => usize::MAX,
        };
        let end = a.len().min(i.saturating_add(reach)).max(i + k);
        let mut tried = 0;
        here.clear();
        for q in anchors.places(hash) {
            if b[q..q + k] != a[i..i + k] {
                continue;
            }
            if tried == PLACES {
                match self.hard.last_mut() {
                    Some(last) if last.end >= duty.start => last.end = duty.end,
                    _ => memory::push(&mut self.hard, duty)?,
                }
                return Ok(());
            }
            tried += 1;
            let back = common_back(&a[..i], &b[..q], t - k);
            let length = back + k + common(&a[i + k..end], &b[q + k..]);
            if length >= t {
                here.push(Run { a: i - back, b: q - back, length });
            }
        }
        Ok(())
    }

    /// Keeps the necessary runs through a gram.
    fn keep(&mut self, here: &mut [Run]) -> Result<()> {
        if here.is_empty() {
            return Ok(());
        }
        for run in cover(here, self.t)? {
            let new = run.a..run.end() - self.t + 1;
            let known = &mut self.known;
            if new.start > known.end {
                *known = new;
            } else if new.end > known.end {
                *known = known.start.min(new.start)..new.end;
            }
            memory::push(&mut self.found, run)?;
        }
        if self.found.len() > self.many {
            self.found = cover(&mut self.found, self.t)?;
            self.many = 2 * self.found.len().max(1 << 11);
        }
        Ok(())
    }
}

/// A search, by the hash of the whole window, for windows of `a` with too many positions to try.
struct WindowSearch<'a> {
    a: &'a [u32],
    b: &'a [u32],
    t: usize,
    scratch: Scratch,
    found: &'a mut Vec<Run>,
}

impl WindowSearch<'_> {
    /// Adds runs for the windows in `open`, as far as there are any.
    fn look_up(&mut self, open: &[Range<usize>], check: Check) -> Result<()> {
        let most = (self.a.len() / PART).max(LEAST_PART);
        let (mut part, mut count) = (Vec::new(), 0);
        for windows in open {
            let mut from = windows.start;
            while from < windows.end {
                let end = windows.end.min(from + most - count);
                memory::push(&mut part, from..end)?;
                count += end - from;
                from = end;
                if count == most {
                    from = from.max(self.look_up_part(&part, check)?);
                    part.clear();
                    count = 0;
                }
            }
        }
        if count > 0 {
            self.look_up_part(&part, check)?;
        }
        Ok(())
    }

    /// Adds runs for some of the windows in `open`. Returns the window to continue with.
    fn look_up_part(&mut self, open: &[Range<usize>], check: Check) -> Result<usize> {
        let Self { a, b, t, ref mut scratch, ref mut found } = *self;
        let count: usize = open.iter().map(Range::len).sum();
        let mut classes = Classes::new(count)?;
        let mut class = memory::with_capacity(count)?;
        for range in open {
            each_hash(a, t, range.clone(), scratch, check, |i, h| {
                class.push(classes.add(h, i, |first| a[first..first + t] == a[i..i + t]));
                Ok(())
            })?;
        }
        // The first positions of each class in `b`, in chains.
        let mut heads = memory::filled(NONE, classes.first.len())?;
        let mut counts = memory::filled(0_u8, classes.first.len())?;
        let mut places: Vec<(u32, u32)> = Vec::new();
        each_hash(b, t, 0..b.len() - t + 1, scratch, check, |j, h| {
            let at = |first: usize| a[first..first + t] == b[j..j + t];
            if let Some(class) = classes.find(h, at)
                && usize::from(counts[class]) < PLACES
            {
                counts[class] += 1;
                let before = std::mem::replace(&mut heads[class], places.len() as u32);
                memory::push(&mut places, (j as u32, before))?;
            }
            Ok(())
        })?;
        let (mut base, mut done) = (0, 0);
        for range in open {
            let mut i = range.start;
            while i < range.end {
                let mut best: Option<Run> = None;
                let mut at = heads[class[base + i - range.start] as usize];
                while at != NONE {
                    let (j, before) = places[at as usize];
                    let j = j as usize;
                    let length = t + common(&a[i + t..], &b[j + t..]);
                    if best.is_none_or(|best| length >= best.length) {
                        best = Some(Run { a: i, b: j, length });
                    }
                    at = before;
                }
                check();
                i += match best {
                    Some(run) => {
                        memory::push(found, run)?;
                        run.length - t + 1
                    }
                    None => 1,
                };
            }
            done = i;
            base += range.len();
        }
        Ok(done)
    }
}

/// The windows of `hard` that no run covers.
fn uncovered(found: &[Run], hard: &[Range<usize>], t: usize) -> Result<Vec<Range<usize>>> {
    let mut open: Vec<Range<usize>> = Vec::new();
    let mut next = 0;
    for hard in hard {
        let mut at = hard.start.max(open.last().map_or(0, |last| last.end));
        while at < hard.end {
            while next < found.len() && found[next].end() < at + t {
                next += 1;
            }
            let Some(run) = found.get(next).filter(|run| run.a < hard.end) else {
                memory::push(&mut open, at..hard.end)?;
                break;
            };
            if run.a > at {
                memory::push(&mut open, at..run.a)?;
            }
            at = run.end() - t + 1;
        }
    }
    Ok(open)
}

/// Classes of equal windows of a text, found by their hash.
pub(super) struct Classes {
    slots: Vec<u32>,
    pub(super) first: Vec<u32>,
}

impl Classes {
    pub(super) fn new(count: usize) -> Result<Self> {
        let slots = memory::filled(NONE, (2 * count).next_power_of_two())?;
        Ok(Self { slots, first: memory::with_capacity(count)? })
    }

    /// The class of the window at `place`; `equal` compares it with another window.
    pub(super) fn add(&mut self, hash: u64, place: usize, equal: impl Fn(usize) -> bool) -> u32 {
        let slot = match self.slot(hash, equal) {
            Ok(class) => return class,
            Err(slot) => slot,
        };
        let class = self.first.len() as u32;
        self.slots[slot] = class;
        self.first.push(place as u32);
        class
    }

    /// The class with this hash whose first window is `equal`.
    pub(super) fn find(&self, hash: u64, equal: impl Fn(usize) -> bool) -> Option<usize> {
        self.slot(hash, equal).ok().map(|class| class as usize)
    }

    /// The class, or else the slot for it.
    fn slot(&self, hash: u64, equal: impl Fn(usize) -> bool) -> Result<u32, usize> {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            match self.slots[at] {
                NONE => return Err(at),
                class if equal(self.first[class as usize] as usize) => return Ok(class),
                _ => at = (at + 1) & mask,
            }
        }
    }
}

/// Selects as few runs as cover the windows of `found`, in order.
fn cover(found: &mut [Run], t: usize) -> Result<Vec<Run>> {
    found.sort_unstable_by_key(|run| (run.a, std::cmp::Reverse(run.length), run.b));
    let mut kept: Vec<Run> = Vec::new();
    let mut rest = found.iter().peekable();
    let mut done = 0; // windows below are decided
    while let Some(first) = rest.peek() {
        done = done.max(first.a);
        let mut best = **first;
        while let Some(run) = rest.next_if(|run| run.a <= done) {
            if run.end() > best.end() {
                best = *run;
            }
        }
        if best.end() < done + t {
            continue;
        }
        done = best.end() - t + 1;
        match kept.last_mut() {
            // The same run, found in two parts.
            Some(last) if last.a + best.b == best.a + last.b && best.a <= last.end() => {
                last.length = best.end() - last.a;
            }
            _ => memory::push(&mut kept, best)?,
        }
    }
    Ok(kept)
}
