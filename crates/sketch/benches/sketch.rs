//! `cargo bench -p minlsh-sketch`: sketches per scheme, level and length, band
//! hashes, and the estimate.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use sketch::{Banding, Config, Level, ShingleSet, Sketcher, estimate_jaccard, shingle_hashes};

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
                        black_box(sketcher.sketch(text, &mut || ()));
                    });
                });
            }
        }
        group.finish();
    }
}

fn units(c: &mut Criterion) {
    let ascii = text(1000, 1);
    let mixed = ascii.replace(" a", " \u{2014} ");
    let accented = ascii.replace(['a', 'e'], "\u{e9}");
    let mut group = c.benchmark_group("shingle_hashes of 1000 characters");
    for unit in ["char", "word"] {
        for (name, text) in [("ascii", &ascii), ("mixed", &mixed), ("accented", &accented)] {
            let config = config("fss", unit);
            let mut hashes = Vec::new();
            group.bench_function(BenchmarkId::new(unit, name), |b| {
                b.iter(|| {
                    hashes.clear();
                    shingle_hashes(&config, black_box(text), &mut hashes, &mut || ());
                });
            });
        }
    }
    group.finish();
}

fn signatures(c: &mut Criterion) {
    let mut sketcher = Sketcher::new(Config::default());
    let mut signature = |seed| {
        let text = text(1000, seed);
        sketcher.sketch(&text, &mut || ()).map(<[i32]>::to_vec).unwrap_or_default()
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
    let set = |seed| ShingleSet::from_text(&Config::default(), &text(1000, seed), &mut || ());
    let (a, b) = (set(1), set(2));
    c.bench_function("exact jaccard/1000", |bench| {
        bench.iter(|| black_box(&a).jaccard(black_box(&b)));
    });
    c.bench_function("ShingleSet::from_text/1000", |bench| bench.iter(|| set(black_box(3))));
}

criterion_group!(benches, sketches, units, signatures, exact);
criterion_main!(benches);
