//! `cargo run --release -p minlsh-bench-engine -- --bench`: sketches per scheme, level and length, band
//! hashes, and the estimate.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use sketch::corpus::NumberedSets;
use sketch::{
    Banding, Config, Level, Normalization, PreparedSet, ShingleSet, Sketcher, estimate_jaccard, shingle_hashes,
};

/// Words of two to nine letters from a vocabulary of 4096.
fn text(bytes: usize, seed: u64) -> String {
    let mut state = seed;
    let mut next = move || {
        // Knuth's linear congruential generator; its upper bits are good.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(seed | 1);
        state >> 33
    };
    let mut text = String::new();
    while text.len() < bytes {
        let mut word = next() % 4096 + 1;
        for _ in 0..2 + word % 8 {
            word = word * 31 % 65_521;
            text.push(char::from(b'a' + (word % 26) as u8));
        }
        text.push(' ');
    }
    text.truncate(bytes);
    text
}

fn config(scheme: &str, unit: &str) -> Config {
    Config::new(scheme, 128, unit, 5, 0).expect("valid")
}

fn sketches(c: &mut Criterion) {
    for scheme in ["fss", "permutations"] {
        let mut group = c.benchmark_group(scheme);
        for bytes in [100, 1000, 5000, 100_000] {
            group.throughput(Throughput::Bytes(bytes as u64));
            let texts: Vec<String> = (0..64).map(|seed| text(bytes, seed)).collect();
            for level in Level::available() {
                let mut sketcher = Sketcher::with_level(config(scheme, "char"), level);
                let mut texts = texts.iter().cycle();
                group.bench_function(BenchmarkId::new(level.to_string(), bytes), |b| {
                    b.iter(|| {
                        let text = texts.next().map_or("", String::as_str);
                        black_box(sketcher.sketch(text, &mut || ()).expect("memory"));
                    });
                });
            }
        }
        group.finish();
    }
}

/// Sentences of 4 to 15 words with capitals, commas, numbers and lines.
fn prose(bytes: usize, seed: u64) -> String {
    let mut prose = String::new();
    let mut left = 0;
    for (i, word) in text(bytes, seed).split(' ').enumerate() {
        if left == 0 {
            left = 4 + i % 12;
            prose.push_str(&word[..word.len().min(1)].to_uppercase());
            prose.push_str(word.get(1..).unwrap_or(""));
        } else {
            prose.push_str(if i % 29 == 0 { "1,984" } else { word });
        }
        left -= 1;
        prose.push_str(match (left, i % 9) {
            (0, 0) => ".\n\n",
            (0, _) => ". ",
            (_, 0) => ", ",
            (_, 5) if i % 10 == 0 => " the ",
            _ => " ",
        });
    }
    prose.truncate(bytes);
    prose
}

/// The time that each option adds to hashing the shingles of a kilobyte.
fn options(c: &mut Criterion) {
    let ascii = prose(1000, 1);
    let mut accented = ascii.replace(['a', 'e'], "\u{e9}");
    accented.truncate(accented.floor_char_boundary(1000));
    let mut decomposed = ascii.replace(['a', 'e'], "e\u{301}");
    decomposed.truncate(decomposed.floor_char_boundary(1000));
    let mut cyrillic: String = ascii
        .chars()
        .map(|c| match c {
            'a'..='z' => char::from_u32(c as u32 - 'a' as u32 + 0x430).unwrap_or(c),
            'A'..='Z' => char::from_u32(c as u32 - 'A' as u32 + 0x410).unwrap_or(c),
            _ => c,
        })
        .collect();
    cyrillic.truncate(cyrillic.floor_char_boundary(1000));
    let texts = [("ascii", ascii), ("accented", accented), ("decomposed", decomposed), ("cyrillic", cyrillic)];
    let normalizations = "none nfc nfkc casefold diacritics punctuation punctuation_space \
                          digits whitespace split_whitespace min_length=3 stop_words plain aggressive classic";
    for (name, text) in &texts {
        let mut group = c.benchmark_group(format!("options, 1 kB, {name}"));
        for steps in normalizations.split(' ') {
            let steps: Normalization = steps.parse().expect("valid");
            group.bench_function(BenchmarkId::new("normalize", &steps), |b| {
                b.iter(|| black_box(steps.normalize(black_box(text), &mut || ()).expect("memory")).len());
            });
            for unit in ["char", "word", "anchored"] {
                for bag in [false, true] {
                    let Ok(config) = config("fss", unit).with_normalization(steps.clone()) else {
                        continue;
                    };
                    let config = config.with_bag(bag);
                    let mut hashes = Vec::new();
                    let unit = if bag { format!("{unit} bag") } else { unit.to_owned() };
                    group.bench_function(BenchmarkId::new(&unit, &steps), |b| {
                        b.iter(|| {
                            hashes.clear();
                            shingle_hashes(&config, black_box(text), &mut hashes, &mut || ()).expect("memory");
                        });
                    });
                    let mut sketcher = Sketcher::new(config);
                    group.bench_function(BenchmarkId::new(format!("sketch {unit}"), &steps), |b| {
                        b.iter(|| black_box(sketcher.sketch(black_box(text), &mut || ()).expect("memory")).is_some());
                    });
                }
            }
        }
        group.finish();
    }
}

fn signatures(c: &mut Criterion) {
    let mut sketcher = Sketcher::new(Config::default());
    let mut signature = |seed| {
        let text = text(1000, seed);
        sketcher.sketch(&text, &mut || ()).expect("memory").map(<[i32]>::to_vec).unwrap_or_default()
    };
    let (a, b) = (signature(1), signature(2));
    c.bench_function("estimate_jaccard/128", |bench| {
        bench.iter(|| estimate_jaccard(black_box(&a), black_box(&b)));
    });
    let banding = Banding::new(21, 6).expect("valid");
    let mut hashes = Vec::new();
    c.bench_function("band hashes/21x6", |bench| {
        bench.iter(|| banding.hashes(black_box(&a), &mut hashes));
    });
}

fn exact(c: &mut Criterion) {
    let set = |seed| ShingleSet::from_text(&Config::default(), &text(1000, seed), &mut || ()).expect("memory");
    let (a, b) = (set(1), set(2));
    c.bench_function("exact jaccard/1000", |bench| {
        bench.iter(|| black_box(&a).jaccard(black_box(&b)));
    });
    c.bench_function("ShingleSet::from_text/1000", |bench| bench.iter(|| set(black_box(3))));
}

/// A candidate of 1 kB of a query of 1 kB: a near-duplicate, and one that is not.
fn prepared(c: &mut Criterion) {
    let query = prose(1000, 1);
    let near = query.replacen("the", "one", 1) + " And so on.";
    let other = prose(1000, 77);
    for steps in [Normalization::none(), Normalization::plain()] {
        let config = Config::default().with_normalization(steps.clone()).expect("valid");
        let mut prepared = PreparedSet::from_text(&config, &query, &mut || ()).expect("memory");
        for (name, text) in [("near", &near), ("other", &other)] {
            c.bench_function(&format!("prepared, {steps}/{name}"), |bench| {
                bench.iter(|| prepared.similarity(&config, black_box(text), 0.8, &mut || ()));
            });
        }
    }
}

/// Pairs of pages of one template: all pages share 7,500 of 8,000 shingles, and a few pages share others.
fn groups(c: &mut Criterion) {
    let number = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    let set = |document: u64| {
        let template = (0..7500).filter(|i| (i * 31 + document) % 97 > 3);
        let few = (0..400).map(|i| 10_000 + (document / 5) * 400 + i);
        let own = (0..300).map(|i| (document + 1) << 32 | i);
        template.chain(few).chain(own).map(number).collect()
    };
    let sets: Vec<Vec<u64>> = (0..100).map(set).collect();
    let mut group = NumberedSets::new(1 << 26);
    let mut fill = || {
        group.forget();
        for (document, hashes) in (0..).zip(black_box(&sets)) {
            group.add(document, hashes).expect("memory");
        }
    };
    c.bench_function("group of 100/number", |bench| bench.iter(&mut fill));
    fill();
    let mut pairs = (0..100).flat_map(|b| (0..b).map(move |a| (a, b))).cycle();
    c.bench_function("group of 100/pair", |bench| {
        bench.iter(|| {
            let (a, b) = pairs.next().unwrap_or_default();
            group.similarity(a, b, black_box(0.8))
        });
    });
}

criterion_group!(benches, sketches, options, signatures, exact, prepared, groups);
criterion_main!(benches);
