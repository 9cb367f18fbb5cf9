//! The machine that finds the near-duplicates of a collection, against a comparison of all pairs: in memory and beyond
//! it, with scopes, sets that must agree, own thresholds, and boilerplate.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::rc::Rc;

use minlsh_sketch::dedup::{
    Attributes, Cluster, Dedup, DocumentPass, Documents, Emit, Form, FoundPairs, Group, Groups, Host, Process, Ranks,
    Scope, Shares, Terms, Verify, VisitDocument, all_pairs, leader_clusters, pairs_once, single_linkage,
};
use minlsh_sketch::pipeline::Setting;
use minlsh_sketch::spool::NewFile;
use minlsh_sketch::stored::StoredBytes;
use minlsh_sketch::{Banding, Config, Error, ShingleSet, agree};
use proptest::prelude::*;

use crate::common::cases;

/// A document of a test.
#[derive(Clone, Debug)]
struct Given {
    text: String,
    scope: u32,
    agreeing: Vec<u128>,
    least: f64,
}

/// Documents in memory as a host, which may be unable to fetch them in any order.
struct Kept<'a> {
    given: Vec<&'a Given>,
    /// The candidates by name.
    names: Vec<&'a Given>,
    can_fetch: bool,
}

thread_local! {
    static IS_WORKER: Cell<bool> = const { Cell::new(false) };
}

/// A process whose files are for its own thread alone.
fn process(threads: usize) -> Process {
    let setting = |memory| Setting {
        around_spawn: |spawn| spawn(),
        at_start: || IS_WORKER.set(true),
        check_interrupts: || (),
        memory,
    };
    let new_file = NewFile::new(|| {
        assert!(!IS_WORKER.get(), "a worker makes a file");
        Ok(Box::new(Vec::new()))
    });
    Process { threads, setting, new_file, progress: Rc::new(|_| ()) }
}

impl Host for Kept<'_> {
    type Error = Error;

    fn each(
        &mut self,
        pass: DocumentPass,
        wanted: &mut dyn Iterator<Item = u32>,
        visit: &mut VisitDocument<Error>,
    ) -> Result<(), Error> {
        let mut last = None;
        for document in wanted.take_while(|document| (*document as usize) < self.given.len()) {
            assert!(last.replace(document).is_none_or(|last| last < document));
            let given = self.given[document as usize];
            if pass == DocumentPass::Candidates {
                self.names.push(given);
            }
            visit(document, &mut |form, take| {
                assert_eq!(form, Form::Text);
                take(StoredBytes::plain(given.text.as_bytes()))
            })?;
        }
        Ok(())
    }

    fn can_fetch(&self) -> bool {
        self.can_fetch
    }

    fn fetch(&self, wanted: &mut dyn Iterator<Item = u32>, visit: &mut VisitDocument<Error>) -> Result<(), Error> {
        assert!(self.can_fetch);
        for document in wanted {
            let text = &self.given[document as usize].text;
            visit(document, &mut |_, take| take(StoredBytes::plain(text.as_bytes())))?;
        }
        Ok(())
    }
}

/// Groups of some documents.
fn gathered<'a>(
    given: &'a [Given],
    (terms, each_pair): (&Terms, bool),
    shares: Shares,
    threads: usize,
    can_fetch: bool,
) -> (Groups, Kept<'a>) {
    let mut host = Kept { given: Vec::new(), names: Vec::new(), can_fetch };
    let mut documents = Documents::new(terms.clone(), shares, process(threads)).unwrap();
    let without = documents
        .take_in(|intake| {
            given.iter().try_for_each(|given| {
                let Given { scope, agreeing, .. } = given;
                let attributes = Attributes { scope: Scope(*scope), agreeing, ..Attributes::default() };
                intake.add(attributes, |_, batch| {
                    batch.push_text(StoredBytes::plain(given.text.as_bytes()))?;
                    Ok::<_, Error>((given.text.len(), given.least))
                })
            })
        })
        .unwrap();
    let with = |position: &usize| without.binary_search(&(*position as u32)).is_err();
    host.given = (0..given.len()).filter(with).map(|position| &given[position]).collect();
    assert_eq!(documents.len() as usize, host.given.len());
    if each_pair {
        documents.compare_each_pair();
    }
    (Groups::gather(documents, &mut host, u32::MAX).unwrap(), host)
}

fn terms(threshold: f64, recall: f64) -> Terms {
    let banding = Banding::for_recall(threshold, 128, recall).unwrap();
    let config = Config::default();
    Terms { form: Form::Text, verify: Verify::Exact, threshold, config, banding, bucket_limit: 1000 }
}

/// The similarity of two documents, if they count as similar.
fn similarity(a: &Given, b: &Given, threshold: f64) -> Option<f64> {
    let sorted = |set: &[u128]| BTreeSet::from_iter(set.iter().copied()).into_iter().collect::<Vec<_>>();
    if a.scope != b.scope || !agree(&sorted(&a.agreeing), &sorted(&b.agreeing)) {
        return None;
    }
    let set = |given: &Given| ShingleSet::from_text(&Config::default(), &given.text, &mut || ()).unwrap();
    let threshold = threshold.max(a.least).max(b.least);
    let (a, b) = (set(a), set(b));
    if a.is_empty() || b.is_empty() { None } else { a.jaccard_at_least(&b, threshold) }
}

/// Texts with many near-duplicates.
fn given() -> impl Strategy<Value = Vec<Given>> {
    let text = prop_oneof![
        4 => ("[a-d]{30}", "[a-z]{0,3}").prop_map(|(common, own)| format!("{}{own}", common.repeat(2))),
        4 => (0..3_usize, "[a-z]{0,8}", 1..40_usize).prop_map(|(which, own, times)| {
            let common = ["the committee will meet on monday", "fresh bread is baked here", "of all the things "];
            format!("{own}{}", common[which].repeat(times))
        }),
        1 => "[a-z ]{0,6}",
    ];
    let agreeing = prop::collection::vec(0..3_u128, 0..3);
    let one = (text, 0..2_u32, agreeing, prop::sample::select(vec![0.0, 0.0, 0.9]));
    let given = one.prop_map(|(text, scope, agreeing, least)| Given { text, scope, agreeing, least });
    prop::collection::vec(given, 0..40)
}

/// The pairs that a comparison of each pair finds among documents that do not count as copies of each other.
fn pairs_of_distinct(given: &[Given], threshold: f64, shares: Shares) -> Vec<(u32, u32, f64)> {
    let (mut groups, host) = gathered(given, (&terms(threshold, 0.01), true), shares, 0, true);
    let mut found = Vec::new();
    let judge = |group: &mut Group, emit: &mut Emit<FoundPairs>| all_pairs(group, None, emit);
    let mut take = |pairs: FoundPairs| {
        if let FoundPairs::Pair(a, b, similarity) = pairs {
            found.push((a.min(b), a.max(b), similarity));
        }
        Ok::<_, Error>(())
    };
    groups.each(&host, &judge, &mut take).unwrap();
    found.sort_by(|a, b| a.partial_cmp(b).unwrap());
    found
}

#[test]
fn two_long_texts_are_compared_exactly() {
    let words = |from: usize| (from..from + 9000).map(|word| format!("{word:x} ")).collect::<String>();
    for text in [words(200), "bread and water ".repeat(4000)] {
        let one = |text: String| Given { text, scope: 0, agreeing: Vec::new(), least: 0.0 };
        let given = [one(words(0)), one(text)];
        let expected = similarity(&given[0], &given[1], 0.1);
        for memory in [1 << 14, 1 << 17, 1 << 26] {
            let shares = Shares { floor: 0, ..Shares::of(memory, false) };
            let found = pairs_of_distinct(&given, 0.1, shares);
            assert_eq!(
                found,
                expected.map(|similarity| (0, 1, similarity)).into_iter().collect::<Vec<_>>(),
                "{memory}"
            );
        }
    }
}

#[test]
fn copies_with_other_thresholds_are_similar_to_other_texts() {
    let one = |text: &str, least| Given { text: text.to_owned(), scope: 0, agreeing: Vec::new(), least };
    let (text, near) = ("fresh bread is baked here every day", "fresh bread is baked here every day but one");
    for leasts in [[0.95, 0.0], [0.0, 0.95]] {
        let given = [one(text, leasts[0]), one(text, leasts[1]), one(near, 0.0)];
        let found = pairs_of_distinct(&given, 0.5, Shares::of(1 << 26, false));
        let shown = found.iter().map(|(a, b, similarity)| (*a, *b, *similarity == 1.0));
        let tolerant = if leasts[0] > 0.0 { 1 } else { 0 };
        assert_eq!(shown.collect::<Vec<_>>(), [(0, 1, true), (tolerant, 2, false)]);
    }
}

/// The memory of a large group in any case. With as much as jobs have, no group here is beyond it.
fn floor() -> impl Strategy<Value = usize> {
    prop::sample::select(vec![0, 1 << 13, Shares::of(0, false).floor])
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn pairs_are_those_of_a_comparison_of_all(
        given in given(), threshold in prop::sample::select(vec![0.5, 0.8, 1.0]),
        memory in prop::sample::select(vec![1 << 12, 1 << 14, 1 << 26]), floor in floor(), threads in 0..3_usize,
        can_fetch: bool, each_pair: bool,
    ) {
        // With few bands, most pairs are found only if each one is compared.
        let recall = if each_pair { 0.01 } else { 0.999_999 };
        let shares = Shares { agreeing: Some(memory), floor, ..Shares::of(memory, false) };
        let (mut groups, host) = gathered(&given, (&terms(threshold, recall), each_pair), shares, threads, can_fetch);
        let mut found = Vec::new();
        let place = |name: u32| given.iter().position(|own| std::ptr::eq(own, host.names[name as usize])).unwrap();
        let mut push = |a: u32, b: u32, similarity: f64| {
            let (a, b) = (place(a), place(b));
            found.push((a.min(b), a.max(b), similarity));
        };
        let shortfall = groups.each(&host, &|group, emit| all_pairs(group, None, emit), &mut |pairs| {
            match pairs {
                FoundPairs::Pair(a, b, similarity) => push(a, b, similarity),
                FoundPairs::Copies(names) => {
                    for (position, &a) in names.iter().enumerate() {
                        names[..position].iter().for_each(|&b| push(a, b, 1.0));
                    }
                }
                FoundPairs::Copied(_) => {}
            }
            Ok::<_, Error>(())
        }).unwrap();
        prop_assert_eq!(shortfall.left_out.comparisons, 0);
        found.sort_by(|a, b| a.partial_cmp(b).unwrap());
        let mut expected = Vec::new();
        for (b, right) in given.iter().enumerate() {
            for (a, left) in given[..b].iter().enumerate() {
                expected.extend(similarity(left, right, threshold).map(|similarity| (a, b, similarity)));
            }
        }
        expected.sort_by(|a, b| a.partial_cmp(b).unwrap());
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn answers_do_not_depend_on_memory_or_threads(
        given in given(), memory in prop::sample::select(vec![1 << 12, 1 << 15]), floor in floor(),
        threads in 0..3_usize, can_fetch: bool,
    ) {
        let answers = |memory, threads, can_fetch| {
            let ranks = Ranks::of(&(0..given.len() as u32).collect::<Vec<_>>()).unwrap();
            let mut answers = Vec::new();
            for linkage in [single_linkage, leader_clusters] {
                let shares = Shares { agreeing: Some(memory), floor, ..Shares::of(memory, false) };
                let (mut groups, host) = gathered(&given, (&terms(0.7, 0.999_999), false), shares, threads, can_fetch);
                let mut found = Vec::new();
                groups.each(&host, &|group, emit| linkage(group, &ranks, emit), &mut |cluster: Cluster| {
                    found.push(format!("{} {:?} {} {}", cluster.representative, cluster.members, cluster.weakest_link,
                        cluster.least_similar));
                    Ok::<_, Error>(())
                }).unwrap();
                found.sort();
                answers.push(found);
            }
            let shares = Shares { floor, ..Shares::of(memory, false) };
            let (mut groups, host) = gathered(&given, (&terms(0.7, 0.999_999), false), shares, threads, can_fetch);
            let mut found = Vec::new();
            groups.each(&host, &|group, emit| pairs_once(group, Some(3), &ranks, emit), &mut |pairs| {
                if let FoundPairs::Pair(a, b, similarity) = pairs {
                    found.push(format!("{a} {b} {similarity}"));
                }
                Ok::<_, Error>(())
            }).unwrap();
            found.sort();
            answers.push(found);
            answers
        };
        prop_assert_eq!(answers(memory, threads, can_fetch), answers(1 << 26, 0, true));
    }

    #[test]
    fn the_front_door_answers_like_the_machine(given in given()) {
        let mut dedup = Dedup::new(Config::default(), 0.8).unwrap().with_recall(0.999_999).unwrap();
        for (number, given) in given.iter().enumerate() {
            dedup.add(number, &given.text).unwrap();
        }
        let plain = |given: &Given| Given { scope: 0, agreeing: Vec::new(), least: 0.0, ..given.clone() };
        let mut expected = Vec::new();
        for (b, right) in given.iter().enumerate() {
            for (a, left) in given[..b].iter().enumerate() {
                expected.extend(similarity(&plain(left), &plain(right), 0.8).map(|similarity| (a, b, similarity)));
            }
        }
        expected.sort_by(|a, b| a.partial_cmp(b).unwrap());
        let pairs = dedup.pairs().unwrap();
        let found: Vec<_> = pairs.iter().map(|pair| (*pair.a, *pair.b, pair.similarity)).collect();
        prop_assert_eq!(&found, &expected);
        // Each member of a cluster is in a pair with another one, and each pair is in one cluster.
        let clusters = dedup.clusters().unwrap();
        let mut of = vec![None; given.len()];
        for (number, cluster) in clusters.iter().enumerate() {
            prop_assert!(cluster.len() > 1 && cluster.is_sorted());
            cluster.iter().for_each(|member| assert!(of[**member].replace(number).is_none()));
        }
        for (a, b, _) in &found {
            prop_assert!(of[*a].is_some() && of[*a] == of[*b]);
        }
        let paired: BTreeSet<_> = found.iter().flat_map(|(a, b, _)| [*a, *b]).collect();
        prop_assert_eq!(paired.len(), of.iter().flatten().count());
        // A plan removes a text exactly if it is similar to one before it that stays.
        let plan = dedup.plan().unwrap();
        let removed: BTreeSet<_> = plan.iter().map(|removal| *removal.removed).collect();
        for b in 0..given.len() {
            let kept = expected.iter().find(|(a, of, _)| *of == b && !removed.contains(a));
            let own = plan.iter().find(|removal| *removal.removed == b);
            let own = own.map(|own| (*own.kept, own.similarity));
            prop_assert_eq!(own, kept.map(|(a, _, similarity)| (*a, *similarity)));
        }
    }
}
