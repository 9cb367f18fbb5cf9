//! Measures an index of texts and the pairs of a collection on a file of texts, for comparisons with other programs.
//!
//! ```sh
//! cargo run --release -p minlsh-sketch --example collection -- texts.nul 0.9
//! ```
//!
//! The file holds one text per NUL-separated record. The second argument is the threshold, 0.8 by default. Each line of
//! the output is `way<TAB>stage<TAB>seconds` or `way<TAB>found<TAB>pairs`.

use std::error::Error;
use std::time::Instant;

use minlsh_sketch::{Config, Dedup, Lsh};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = std::fs::read_to_string(arguments.next().ok_or("usage: collection FILE [THRESHOLD]")?)?;
    let threshold = arguments.next().map_or(Ok(0.8), |threshold| threshold.parse())?;
    let texts: Vec<&str> = file.split('\0').filter(|text| !text.is_empty()).collect();

    let mut lsh = Lsh::new(Config::default(), threshold)?;
    let start = Instant::now();
    for (key, text) in texts.iter().enumerate() {
        lsh.insert(key, text)?;
    }
    println!("Lsh\tinsert\t{}", start.elapsed().as_secs_f64());
    let start = Instant::now();
    let mut found = 0;
    for (key, text) in texts.iter().enumerate() {
        found += lsh.query(text)?.into_iter().filter(|(other, _)| key < **other).count();
    }
    println!("Lsh\tquery\t{}\nLsh\tfound\t{found}", start.elapsed().as_secs_f64());

    let start = Instant::now();
    let mut dedup = Dedup::new(Config::default(), threshold)?;
    for (key, text) in texts.iter().enumerate() {
        dedup.add(key, text)?;
    }
    let found = dedup.pairs()?.len();
    println!("Dedup\tpairs\t{}\nDedup\tfound\t{found}", start.elapsed().as_secs_f64());
    Ok(())
}
