//! Writes what each character does to word boundaries, for `src/text/beyond_ascii.rs`. It is found
//! out by asking unicode-segmentation, so that the table says what the crate does.

use std::collections::HashMap;
use std::fmt::Write;
use std::path::Path;

use unicode_segmentation::UnicodeSegmentation;

/// Characters of a page; equal pages are written once.
const PAGE: usize = 256;
/// Pages there are: beyond them Unicode has only tags and selectors.
const PAGES: usize = 0x340;

fn main() -> std::io::Result<()> {
    println!("cargo:rerun-if-changed=build.rs");
    let mut numbers = HashMap::new();
    let (mut numbers_of_pages, mut classes) = (String::new(), String::new());
    for page in 0..PAGES {
        let page = (page * PAGE..(page + 1) * PAGE).map(|code| {
            let c = u32::try_from(code).ok().and_then(char::from_u32);
            c.map_or("Other", class)
        });
        let page = page.collect::<Vec<_>>().join(",");
        let new = numbers.len();
        let number = *numbers.entry(page.clone()).or_insert_with(|| {
            let _ = writeln!(classes, "[{page}],");
            new
        });
        let _ = write!(numbers_of_pages, "{number},");
    }
    let kinds = numbers.len();
    let table = format!(
        "static KIND_OF_PAGE: [u8; {PAGES}] = [{numbers_of_pages}];\n\
         static CLASSES: [[Class; {PAGE}]; {kinds}] = [\n{classes}];\n"
    );
    let out = std::env::var_os("OUT_DIR").ok_or(std::io::ErrorKind::NotFound)?;
    std::fs::write(Path::new(&out).join("word_classes.rs"), table)
}

/// The class of a character, as `Class` in `beyond_ascii.rs` names it: how it behaves between
/// letters, digits, low lines, katakana, Hebrew and signs.
fn class(c: char) -> &'static str {
    match c {
        '0'..='9' => return "Digit",
        '_' => return "LowLine",
        ':' => return "BetweenLetters",
        ',' | ';' => return "BetweenDigits",
        '.' | '\'' => return "Between",
        // It joins Hebrew letters, and those are left to the crate. Spaces join only each other.
        '"' | ' ' => return "Nothing",
        _ => (),
    }
    let parts = |text: String| text.split_word_bounds().count();
    let is_word = |text: String| text.unicode_words().count() == 1;
    let apart = |others: &[&str]| others.iter().all(|x| parts(format!("{x}{c}{x}")) == 3);
    let follows = ["a", "1", "_", "ア", "א", " ", "漢", "😀"];
    if follows.iter().all(|x| parts(format!("{x}{c}")) == 1) && apart(&["\n", "\r"]) {
        let joins = parts(format!("{c}😀")) == 1;
        return match (is_word(format!(" {c}")), joins) {
            (true, false) => "Mark",
            (false, false) => "Mute",
            (false, true) => "Joiner",
            (true, true) => "Other",
        };
    }
    if is_word(c.to_string()) {
        // Hebrew letters join an apostrophe behind them, these do not; and a joiner before them
        // would join pictures, and some pictures are letters.
        let joins = |x: &str| parts(format!("{x}{c}{x}_{c}_")) == 1 && parts(format!("{c}'")) == 2;
        let plain = || parts(format!("漢\u{200d}{c}")) == 2;
        return match () {
            () if apart(&["a", "1", "_", "ア", "א"]) && parts(format!("{c}{c}")) == 2 && plain() => "Word",
            () if joins("1") && parts(format!("a:{c}:a")) == 1 && apart(&["ア"]) && plain() => "Letter",
            () if joins("1") && parts(format!("1,{c},1")) == 1 && apart(&["ア"]) => "Digit",
            () if joins("ア") && apart(&["a", "1", "א"]) => "Katakana",
            () => "Other",
        };
    }
    let between = |x: &str| parts(format!("{x}{c}{x}")) == 1 && parts(format!("{x}{c}")) == 2;
    let itself = parts(format!("{c}{c}")) == 2;
    match (between("a"), between("1")) {
        (true, true) if apart(&["_", "ア", " ", "漢"]) && itself => "Between",
        (true, false) if apart(&["1", "_", "ア", " ", "漢"]) && itself => "BetweenLetters",
        (false, true) if apart(&["a", "_", "ア", "א", " ", "漢"]) && itself => "BetweenDigits",
        (false, false) if apart(&["a", "1", "_", "ア", "א", " ", "漢"]) && itself => "Nothing",
        _ => "Other",
    }
}
