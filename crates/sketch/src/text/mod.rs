//! From a text to its words: changes of characters, word boundaries, and the words that count. This module does not
//! depend on a configuration: each function gets the parts that it needs.

mod beyond_ascii;
pub(crate) mod chars;
mod codes;
mod normalize;
mod stop_words;
mod word_rules;
pub(crate) mod words;

pub use chars::utf8;
pub use codes::codes;
pub(crate) use normalize::{Dropped, Origins};
pub use normalize::{Normalization, UNICODE_VERSIONS};
pub use stop_words::StopWords;
pub use word_rules::Unit;
pub(crate) use word_rules::WordRules;
