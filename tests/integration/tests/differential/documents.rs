//! Documents: their values, the options by which they are compared, and what the engine makes of them.

use std::collections::BTreeSet;

use minlsh_integration::Random;
use sketch::{
    Banding, Config, Element, ElementHash, Scheme, ShingleSet, Sketcher, estimate_jaccard, hash128, normalize_text,
    shingle_hashes,
};

/// The content of a document column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A text, of this type.
    Text(&'static str),
    /// A set, of this type of array.
    Set(&'static str),
    /// A text in a `minlsh_document`.
    Document,
    /// A signature in an `integer[]`.
    Signature,
}

/// A value of a document column.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Text(String),
    /// The text forms of the elements.
    Set(Vec<String>),
    Signature(Vec<i32>),
}

/// The options by which documents are cut, signed and banded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    pub recall: f64,
    pub num_perm: i64,
    pub unit: &'static str,
    pub shingle_size: i64,
    pub normalization: &'static str,
    pub bag: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { recall: 0.99, num_perm: 128, unit: "char", shingle_size: 5, normalization: "plain", bag: false }
    }
}

impl Options {
    /// Options that are mostly the defaults; only options of signing unless `of_texts`.
    pub fn random(random: &mut Random, of_texts: bool) -> Self {
        let mut options = Self::default();
        if random.below(3) == 0 {
            options.recall = [0.5, 0.9, 0.95, 0.999][random.below(4)];
        }
        if random.below(4) == 0 {
            options.num_perm = [64, 96][random.below(2)];
        }
        if of_texts && random.below(2) == 0 {
            (options.unit, options.shingle_size) =
                [("word", 1), ("word", 2), ("char", 3), ("char", 9)][random.below(4)];
        }
        if of_texts && random.below(3) == 0 {
            options.normalization = random.pick_static(&["none", "aggressive", "casefold"]);
        }
        options.bag = of_texts && random.below(6) == 0;
        options
    }

    /// The engine's form of them.
    pub fn config(&self) -> Config {
        let config = Config::new("fss", self.num_perm, self.unit, self.shingle_size, 0);
        let normalization = self.normalization.parse().expect("a normalization");
        let config = config.expect("options").with_normalization(normalization).expect("options");
        config.with_bag(self.bag)
    }

    /// True if texts are cut alike.
    pub fn same_shingles(&self, other: &Self) -> bool {
        (self.unit, self.shingle_size, self.normalization, self.bag)
            == (other.unit, other.shingle_size, other.normalization, other.bag)
    }

    /// The options that differ from the defaults, as `name EQUALS value` for each; with options of signing if
    /// `of_signing`.
    fn named(&self, equals: &str, of_signing: bool) -> Vec<String> {
        let default = Self::default();
        let mut named = Vec::new();
        if of_signing && self.recall != default.recall {
            named.push(format!("recall {equals} {}", self.recall));
        }
        if of_signing && self.num_perm != default.num_perm {
            named.push(format!("num_perm {equals} {}", self.num_perm));
        }
        if self.unit != default.unit {
            named.push(format!("unit {equals} '{}'", self.unit));
        }
        if self.shingle_size != default.shingle_size {
            named.push(format!("shingle_size {equals} {}", self.shingle_size));
        }
        if self.normalization != default.normalization {
            named.push(format!("normalization {equals} '{}'", self.normalization));
        }
        if self.bag {
            named.push(format!("bag {equals} true"));
        }
        named
    }

    /// Storage parameters of an index.
    pub fn parameters(&self, threshold: f64) -> String {
        let mut all = self.named("=", true);
        all.push(format!("threshold = {threshold}"));
        all.join(", ")
    }

    /// Named arguments of a function that signs, each after a comma.
    pub fn arguments(&self) -> String {
        self.named("=>", true).iter().map(|one| format!(", {one}")).collect()
    }

    /// Named arguments of `minlsh_document()`, each after a comma.
    pub fn of_document(&self) -> String {
        self.named("=>", false).iter().map(|one| format!(", {one}")).collect()
    }

    /// The bands that an index of these options has, or a job that has no index.
    pub fn banding(&self, threshold: f64) -> Banding {
        let banding = Banding::for_recall(threshold, self.num_perm, self.recall);
        banding.expect("attainable").trimmed(threshold, self.recall)
    }
}

/// A document as the engine compares it.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// The part that its copies have as well: a text once it is normalised, or the elements of a set.
    copy: Vec<u8>,
    set: Vec<u64>,
    signature: Vec<i32>,
    is_signature: bool,
}

impl Drawn {
    /// Draws a value; `None` if it has nothing to be compared by.
    pub fn of(value: &Value, config: &Config) -> Option<Self> {
        let mut sketcher = Sketcher::new(config.clone());
        let (mut copy, mut set) = (Vec::new(), Vec::new());
        let signature = match value {
            Value::Text(text) => {
                let config = config.with_scheme(Scheme::Fss);
                let normal = normalize_text(&config, text, &mut || ()).expect("memory");
                copy.extend(normal.as_bytes());
                shingle_hashes(&config, text, &mut set, &mut || ()).expect("memory");
                sketcher.sketch(text, &mut || ()).expect("memory").map(<[i32]>::to_vec)
            }
            Value::Set(elements) => {
                set.extend(elements.iter().map(|e| Element::Text(e).hash(ElementHash::Xxh3)));
                let distinct: BTreeSet<u64> = set.iter().copied().collect();
                copy.extend(distinct.iter().flat_map(|hash| hash.to_ne_bytes()));
                sketcher.sketch_hashes(&set, &mut || ()).expect("memory").map(<[i32]>::to_vec)
            }
            Value::Signature(slots) => Some(slots.clone()),
        };
        let is_signature = matches!(value, Value::Signature(_));
        Some(Self { copy, set, signature: signature?, is_signature })
    }

    /// The hash by which documents are chosen, equal for copies.
    pub fn fingerprint(&self) -> u64 {
        ElementHash::Xxh3.hash(&self.copy)
    }

    /// The different shingles of a text, or elements of a set.
    pub fn elements(&self) -> BTreeSet<u64> {
        self.set.iter().copied().collect()
    }

    /// The document if only `counted` counts; with `None` it is compared for equality only, by a number of its own.
    pub fn of_which(&self, counted: Option<Vec<u64>>, config: &Config) -> Self {
        let set = counted.unwrap_or_else(|| vec![hash128(&self.copy) as u64]);
        let mut sketcher = Sketcher::new(config.clone());
        let signature = sketcher.sketch_hashes(&set, &mut || ()).expect("memory");
        let signature = signature.expect("something is left").to_vec();
        Self { set, signature, ..self.clone() }
    }

    /// The exact similarity; of signatures, the share of equal slots.
    pub fn similarity(&self, other: &Self) -> f64 {
        if self.is_signature {
            return estimate_jaccard(&self.signature, &other.signature).unwrap_or(0.0);
        }
        let set = |drawn: &Self| ShingleSet::from_hashes(drawn.set.clone(), &mut || ());
        set(self).jaccard(&set(other)).unwrap_or(0.0)
    }

    /// The hashes of its bands.
    pub fn bands(&self, banding: Banding) -> Vec<i64> {
        let mut hashes = Vec::new();
        banding.hashes(&self.signature, &mut hashes).expect("slots enough");
        hashes
    }
}

const WORDS: [&str; 24] = [
    "garden", "weather", "Straße", "cat", "uncle", "river", "the", "and", "of", "a", "quick", "brown", "élan",
    "market", "ship", "lantern", "winter", "morning", "letter", "bridge", "music", "sailor", "copper", "I'll",
];

/// Families of values among which some are near-duplicates.
pub struct Corpus {
    kind: Kind,
    families: Vec<Vec<String>>,
    slots: i64,
}

impl Corpus {
    /// Values of that kind; signatures of `slots` slots.
    pub fn new(random: &mut Random, kind: Kind, slots: i64) -> Self {
        let count = 1 + random.below(4);
        let families = (0..count).map(|_| {
            let length = if random.below(8) == 0 { 1 + random.below(3) } else { 8 + random.below(24) };
            (0..length).map(|_| Self::piece(random, kind)).collect()
        });
        Self { kind, families: families.collect(), slots }
    }

    fn piece(random: &mut Random, kind: Kind) -> String {
        let number = random.below(2000);
        match kind {
            Kind::Set("integer[]" | "bigint[]") => (number as i64 - 500).to_string(),
            Kind::Set("uuid[]") => format!("00000000-0000-4000-8000-{number:012x}"),
            Kind::Set(_) => format!("{}{number}", random.pick(&WORDS)),
            _ => random.pick(&WORDS).to_owned(),
        }
    }

    /// One more value; `None` is NULL.
    pub fn value(&self, random: &mut Random) -> Option<Value> {
        match random.below(24) {
            0 => return None,
            1 => return Some(self.of(&[])),
            _ => {}
        }
        let mut pieces = self.families[random.below(self.families.len())].clone();
        let changes = [0, 0, 1, 1, 2, 3, 8][random.below(7)];
        for _ in 0..changes {
            let at = random.below(pieces.len());
            pieces[at] = Self::piece(random, self.kind);
        }
        if matches!(self.kind, Kind::Text(_) | Kind::Document) {
            match random.below(6) {
                0 => pieces.iter_mut().for_each(|piece| *piece = piece.to_uppercase()),
                1 => pieces.push(" \t".into()),
                _ => {}
            }
        }
        Some(self.of(&pieces))
    }

    fn of(&self, pieces: &[String]) -> Value {
        match self.kind {
            Kind::Set(_) => Value::Set(pieces.to_vec()),
            Kind::Signature => {
                let options = Options { num_perm: self.slots, ..Options::default() };
                let set = Value::Text(format!("{} {}", pieces.join(" "), "signed"));
                let drawn = Drawn::of(&set, &options.config()).expect("a text");
                Value::Signature(drawn.signature)
            }
            _ => Value::Text(pieces.join(" ")),
        }
    }
}

/// A literal of SQL.
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

impl Value {
    /// It as SQL, for a column of that kind.
    pub fn sql(&self, random: &mut Random, kind: Kind, threshold: f64, options: &Options) -> String {
        match (self, kind) {
            (Self::Text(text), Kind::Document) => {
                format!("minlsh_document({}::text, {threshold}{})", quoted(text), options.of_document())
            }
            (Self::Text(text), _) => quoted(text),
            (Self::Set(elements), Kind::Set(name)) => {
                let mut elements: Vec<_> = elements.iter().map(|e| quoted(e)).collect();
                if random.below(6) == 0 {
                    elements.push("NULL".into());
                    elements.extend(elements.first().cloned());
                }
                format!("ARRAY[{}]::{name}", elements.join(","))
            }
            (Self::Set(elements), _) => quoted(&format!("{elements:?}")),
            (Self::Signature(slots), _) => {
                let slots: Vec<_> = slots.iter().map(ToString::to_string).collect();
                format!("'{{{}}}'::integer[]", slots.join(","))
            }
        }
    }
}
