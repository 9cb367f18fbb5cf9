//! Normalisation: removes differences between texts that do not count.
//!
//! `steps` defines the steps, and parses and prints them in the user's notation. `stages` applies them: `html`, then
//! the steps on characters, then `numbers`. `definition` applies the steps on characters slowly, with the table of
//! `letters`. `quick` gives the same results, by `ascii` for runs of ASCII and by the table of `fates` for other
//! characters. `places` records where characters come from.

mod ascii;
mod definition;
mod fates;
mod html;
mod letters;
mod numbers;
mod places;
mod quick;
mod stages;
mod steps;

pub(crate) use places::Origins;
pub(crate) use steps::Dropped;
pub use steps::Normalization;

/// The versions of Unicode whose tables are compiled in, such as `segmentation 17.0.0, normalization 18.0.0, general
/// category 17.0.0, case folding 16.0.0`: of word boundaries, normal forms, general categories and case folding.
///
/// The tables come from other crates, whose versions Cargo.lock chooses. Signatures of words or of normalised texts are
/// comparable only if these versions are equal, and [`Config::VERSION`](crate::Config::VERSION). Store both with
/// signatures that you keep.
///
/// Normal forms and case folding of an assigned character never change, so the tables differ only for characters that
/// were new in one of the versions.
pub const UNICODE_VERSIONS: &str = {
    const BYTES: &[u8] = &written();
    match str::from_utf8(BYTES) {
        Ok(text) => text,
        Err(_) => panic!("a version has a part of too many digits"),
    }
};

/// The text of [`UNICODE_VERSIONS`]: each version has two digits for its first part, and one for each other.
const fn written() -> [u8; 87] {
    let mut text = *b"segmentation 00.0.0, normalization 00.0.0, general category 00.0.0, case folding 00.0.0";
    let (a, b, c) = unicode_normalization::UNICODE_VERSION;
    let versions = [
        unicode_segmentation::UNICODE_VERSION,
        (a as u64, b as u64, c as u64),
        unicode_properties::UNICODE_VERSION,
        caseless::UNICODE_VERSION,
    ];
    let (mut at, mut version) = (0, 0);
    while version < versions.len() {
        if text[at] == b'0' {
            let (first, second, third) = versions[version];
            text[at] += (first / 10) as u8;
            text[at + 1] += (first % 10) as u8;
            text[at + 3] += second as u8;
            text[at + 5] += third as u8;
            (at, version) = (at + 5, version + 1);
        }
        at += 1;
    }
    text
}
