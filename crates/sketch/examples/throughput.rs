//! Measures sketching on a file of texts, for comparisons with other programs.
//!
//! ```sh
//! cargo run --release -p minlsh-sketch --example throughput -- texts.nul
//! ```
//!
//! The file holds one text per NUL-separated record. Each line of the output is
//! `name<TAB>ns_per_doc<TAB>bytes_per_doc`: the median of [`PASSES`] passes over
//! all texts, after one that is not counted, on one core. A second argument,
//! `portable`, `avx2` or `avx512`, chooses the instructions; the best by default.

use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use minlsh_sketch::{Config, Level, Sketcher, shingle_hashes};

const PASSES: usize = 15;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: throughput FILE [portable | avx2 | avx512]")?;
    let level = match std::env::args().nth(2).as_deref() {
        None => Level::best(),
        Some(name) => Level::available()
            .into_iter()
            .find(|level| level.to_string() == name)
            .ok_or("no such level on this machine")?,
    };
    let file = std::fs::read_to_string(path)?;
    let texts: Vec<&str> = file.split('\0').filter(|text| !text.is_empty()).collect();
    if texts.is_empty() {
        return Err("the file has no text".into());
    }
    let config = |scheme| Config::new(scheme, 128, "char", 5, 0);
    let hashes: Vec<Vec<u64>> = texts
        .iter()
        .map(|text| {
            let mut hashes = Vec::new();
            shingle_hashes(&Config::default(), text, &mut hashes, &mut || ()).expect("memory");
            hashes
        })
        .collect();

    for scheme in ["fss", "permutations"] {
        let mut sketcher = Sketcher::with_level(config(scheme)?, level);
        report(scheme, &texts, |i| {
            black_box(sketcher.sketch(texts[i], &mut || ()).expect("memory"));
        });
    }
    let mut sketcher = Sketcher::with_level(config("fss")?, level);
    report("fss from given shingle hashes", &texts, |i| {
        black_box(sketcher.sketch_hashes(&hashes[i], &mut || ()).expect("memory"));
    });
    Ok(())
}

/// Prints one line about `work`, which is given the index of a text.
fn report(name: &str, texts: &[&str], mut work: impl FnMut(usize)) {
    let mut pass = || {
        let start = Instant::now();
        (0..texts.len()).for_each(&mut work);
        start.elapsed().as_nanos() as f64 / texts.len() as f64
    };
    pass();
    let mut nanoseconds: Vec<f64> = (0..PASSES).map(|_| pass()).collect();
    nanoseconds.sort_by(f64::total_cmp);
    let bytes: usize = texts.iter().map(|text| text.len()).sum();
    let bytes = bytes as f64 / texts.len() as f64;
    println!("{name}\t{:.1}\t{bytes:.1}", nanoseconds[PASSES / 2]);
}
