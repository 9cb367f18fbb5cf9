//! Several hands give the results of one, in its order, and leave nothing running.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use minlsh_sketch::boilerplate::{Boilerplate, CountedPart, Enough, Frame, Shingled};
use minlsh_sketch::pipeline::{BatchWork, Hands, Making, Setting, Signer, SignerBatch, hands};
use minlsh_sketch::stored::{Packing, StoredBytes};
use minlsh_sketch::{Banding, Config, Error, Sketcher, signature_hash};

const SETTING: Setting =
    Setting { around_spawn: |spawn| spawn(), at_start: || (), check_interrupts: || (), memory: 1 << 20 };

/// Squares, one at a time.
#[derive(Default)]
struct Square {
    /// True if this is a thread's, which refuses every third batch and panics at every fifth.
    is_poor: bool,
    /// The time that it takes.
    pause: Duration,
}

impl BatchWork for Square {
    type Batch = (u64, u64);

    fn work(&mut self, batch: &mut (u64, u64), _: &mut dyn FnMut()) -> Result<(), Error> {
        std::thread::sleep(self.pause);
        if self.is_poor && batch.0.is_multiple_of(3) {
            return Err(Error::OutOfMemory { bytes: 1 });
        }
        if self.is_poor && batch.0.is_multiple_of(5) {
            resume_unwind(Box::new("a panic without its message"));
        }
        batch.1 = batch.0 * batch.0;
        Ok(())
    }
}

fn squares(threads: usize, is_poor: bool, memory: usize) -> Vec<(u64, u64)> {
    let mut others = || (0..threads).map(|_| Square { is_poor, pause: Duration::from_micros(20) }).collect();
    let setting = Setting { memory, ..SETTING };
    hands(setting, Square::default(), &mut others, |hands| {
        let mut all = Vec::new();
        let mut take = |batch: &mut (u64, u64)| {
            all.push(*batch);
            Ok(())
        };
        for number in 0..300 {
            let mut batch = hands.batch();
            batch.0 = number;
            hands.give(batch, 100, &mut take)?;
        }
        hands.finish(&mut take)?;
        Ok::<_, Error>(all)
    })
    .unwrap()
}

#[test]
fn results_come_in_order_whatever_the_number_of_threads() {
    let expected: Vec<(u64, u64)> = (0..300).map(|number| (number, number * number)).collect();
    for threads in [0, 1, 2, 7] {
        for memory in [1 << 20, 250, 1] {
            assert_eq!(squares(threads, false, memory), expected, "{threads} {memory}");
        }
    }
}

#[test]
fn what_a_thread_cannot_do_the_reader_does() {
    assert_eq!(squares(3, true, 1 << 20), squares(0, false, 1 << 20));
}

#[test]
fn an_error_comes_at_its_turn() {
    struct Picky;
    impl BatchWork for Picky {
        type Batch = u64;
        fn work(&mut self, batch: &mut u64, _: &mut dyn FnMut()) -> Result<(), Error> {
            if *batch >= 20 { Err(Error::OutOfMemory { bytes: *batch as usize }) } else { Ok(()) }
        }
    }
    for threads in [0, 1, 4] {
        let mut others = || (0..threads).map(|_| Picky).collect();
        let mut taken = Vec::new();
        let result = hands(SETTING, Picky, &mut others, |hands| {
            let mut take = |batch: &mut u64| {
                taken.push(*batch);
                Ok(())
            };
            for number in 0..100 {
                hands.give(number, 1, &mut take)?;
            }
            hands.finish(&mut take)
        });
        assert_eq!(result, Err(Error::OutOfMemory { bytes: 20 }), "{threads}");
        assert_eq!(taken, (0..20).collect::<Vec<_>>(), "{threads}");
    }
}

/// Work that waits, in a thread, until the reader has done some batches; the reader's own work counts them.
struct Long<'a> {
    done: &'a AtomicUsize,
    is_reader: bool,
}

/// More than may be out.
const MEANWHILE: usize = 40;

impl BatchWork for Long<'_> {
    type Batch = u64;
    const EARLY: usize = 50;

    fn work(&mut self, _: &mut u64, check_interrupts: &mut dyn FnMut()) -> Result<(), Error> {
        if self.is_reader {
            self.done.fetch_add(1, Ordering::SeqCst);
            return Ok(());
        }
        let start = Instant::now();
        while self.done.load(Ordering::SeqCst) < MEANWHILE {
            check_interrupts();
            assert!(start.elapsed() < Duration::from_secs(60), "the reader waits");
            std::thread::yield_now();
        }
        Ok(())
    }
}

#[test]
fn a_long_batch_keeps_nobody_waiting() {
    for memory in [1 << 20, 1 << 10] {
        let done = AtomicUsize::new(0);
        let mut others = || vec![Long { done: &done, is_reader: false }];
        let setting = Setting { memory, ..SETTING };
        let mut taken = Vec::new();
        hands(setting, Long { done: &done, is_reader: true }, &mut others, |hands| {
            let mut take = |batch: &mut u64| {
                taken.push(*batch);
                Ok(())
            };
            for number in 0..100 {
                hands.give::<Error>(number, 10, &mut take)?;
            }
            hands.finish(&mut take)
        })
        .unwrap();
        assert_eq!(taken, (0..100).collect::<Vec<_>>());
    }
}

/// Never ends by itself: only `check_interrupts` stops it.
struct Endless<'a>(&'a AtomicUsize);

impl BatchWork for Endless<'_> {
    type Batch = u64;
    fn work(&mut self, batch: &mut u64, check_interrupts: &mut dyn FnMut()) -> Result<(), Error> {
        if *batch == 0 {
            return Ok(());
        }
        self.0.fetch_add(1, Ordering::SeqCst);
        loop {
            check_interrupts();
            std::thread::yield_now();
        }
    }
}

#[test]
fn threads_stop_when_the_reader_unwinds_or_fails() {
    static CANCELLED: AtomicBool = AtomicBool::new(false);
    let running = AtomicUsize::new(0);
    let setting = Setting {
        check_interrupts: || {
            if CANCELLED.load(Ordering::SeqCst) {
                resume_unwind(Box::new("cancelled"));
            }
        },
        ..SETTING
    };
    let start = |body: &mut dyn FnMut(&mut Hands<'_, '_, Endless>) -> Result<(), Error>| {
        let mut others = || vec![Endless(&running), Endless(&running)];
        hands(setting, Endless(&running), &mut others, |hands| {
            // The first is done by the reader.
            let mut take = |_: &mut u64| Ok(());
            hands.give(0, 1, &mut take)?;
            for _ in 0..2 {
                hands.give(1, 1, &mut take)?;
            }
            while running.load(Ordering::SeqCst) < 2 {
                std::thread::yield_now();
            }
            body(hands)
        })
    };
    let failed = Error::OutOfMemory { bytes: 7 };
    assert_eq!(start(&mut |_| Err(failed.clone())), Err(failed.clone()));
    running.store(0, Ordering::SeqCst);
    // While it waits for them.
    let cancelled = catch_unwind(AssertUnwindSafe(|| {
        start(&mut |hands| {
            CANCELLED.store(true, Ordering::SeqCst);
            hands.finish(&mut |_| Ok(()))
        })
    }));
    assert_eq!(cancelled.unwrap_err().downcast_ref::<&str>(), Some(&"cancelled"));
}

#[test]
fn one_batch_starts_no_thread() {
    let started = AtomicUsize::new(0);
    for (batches, threads) in [(1, 0), (2, 3)] {
        started.store(0, Ordering::SeqCst);
        let mut others = || {
            started.store(3, Ordering::SeqCst);
            (0..3).map(|_| Square::default()).collect()
        };
        hands(SETTING, Square::default(), &mut others, |hands| {
            let mut take = |_: &mut (u64, u64)| Ok::<_, Error>(());
            for number in 0..batches {
                hands.give((number, 0), 1, &mut take).unwrap();
            }
            hands.finish(&mut take).unwrap();
        });
        assert_eq!(started.load(Ordering::SeqCst), threads);
    }
}

#[test]
fn a_signer_makes_what_sketcher_and_banding_make() {
    let config = Config::default();
    let banding = Banding::for_recall(0.8, 128, 0.99).unwrap();
    let texts = ["", "a", "the quick brown fox jumps over the lazy dog", "häufige Wörter"];
    let elements: Vec<u64> = (1..200_u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    let mut sketcher = Sketcher::new(config.clone());
    let mut expected = Vec::new();
    let mut expect = |signature: Option<&[i32]>| {
        let mut hashes = Vec::new();
        if let Some(signature) = signature {
            banding.hashes(signature, &mut hashes).unwrap();
            hashes.push(signature_hash(signature) as i64);
        }
        expected.push(hashes);
    };
    for text in texts {
        expect(sketcher.sketch(text, &mut || ()).unwrap());
    }
    let signature = sketcher.sketch_hashes(&elements, &mut || ()).unwrap().unwrap().to_vec();
    expect(Some(&signature));
    expect(Some(&signature));
    expect(None);
    let mut signer = Signer::new(Sketcher::new(config), banding, Making::BandsAndHash);
    let mut batch = SignerBatch::default();
    // Twice: what a batch had before does not matter.
    for _ in 0..2 {
        batch.clear();
        for text in texts {
            batch.push_text(StoredBytes::plain(text.as_bytes())).unwrap();
        }
        batch.push_elements(&elements).unwrap();
        batch.push_signature(&signature).unwrap();
        batch.push_signature(&[]).unwrap();
        signer.work(&mut batch, &mut || ()).unwrap();
        signer.work(&mut batch, &mut || ()).unwrap();
        assert_eq!(batch.hashes().map(<[i64]>::to_vec).collect::<Vec<_>>(), expected);
    }
    assert_eq!((batch.len(), batch.is_empty()), (7, false));
    // A compressed text is counted with what is unpacked of it: forty times the same letter.
    let bytes = &[0b10, b'a', 0x0F, 1, 39 - 18];
    let packing = Packing::lz(40).unwrap();
    batch.clear();
    let before = batch.bytes();
    batch.push_text(StoredBytes { bytes, packing }).unwrap();
    assert!(batch.bytes() - before > 40);
    signer.work(&mut batch, &mut || ()).unwrap();
    let alone = batch.hashes().next().unwrap().to_vec();
    batch.clear();
    batch.push_text(StoredBytes::plain("a".repeat(40).as_bytes())).unwrap();
    signer.work(&mut batch, &mut || ()).unwrap();
    assert_eq!(batch.hashes().next().unwrap(), alone);
    let packing = Packing::lz(41).unwrap();
    batch.push_text(StoredBytes { bytes, packing }).unwrap();
    assert_eq!(signer.work(&mut batch, &mut || ()), Err(Error::Damaged));
}

#[test]
fn a_signer_leaves_out_the_boilerplate_of_each_document() {
    let config = Config::default();
    let banding = Banding::for_recall(0.8, 128, 0.99).unwrap();
    let text = |own: &str| format!("home | news | contact | {own} | terms of use and privacy");
    let texts = ["one", "the second one", "three", "four, and so on", "five"].map(text);
    let hashes = |text: &str| {
        let mut hashes = Vec::new();
        Shingled::Text(&config, text).hashes(&mut hashes, &mut || ()).unwrap();
        hashes
    };
    let mut shared: Vec<u64> = hashes(&texts[0]);
    shared.retain(|hash| texts.iter().all(|text| hashes(text).contains(hash)));
    shared.sort_unstable();
    let of_origin = Some(Arc::new(Boilerplate::new(&shared).unwrap()));
    let frame = Frame { of_origin, of_all: None };
    let enough = Enough { plenty: 30, few: 5, fewest: 5 };
    let mut batch = SignerBatch::default();
    let elements = hashes(&texts[1]);
    let fill = |batch: &mut SignerBatch| {
        batch.clear();
        for text in &texts {
            batch.push_text(StoredBytes::plain(text.as_bytes())).unwrap();
            batch.without(frame.clone()).unwrap();
        }
        batch.push_text(StoredBytes::plain(texts[2].as_bytes())).unwrap();
        batch.without(Frame::default()).unwrap();
        batch.push_elements(&elements).unwrap();
        batch.without(frame.clone()).unwrap();
        batch.push_text(StoredBytes::plain(b" ")).unwrap();
        batch.without(Frame::default()).unwrap();
    };
    let signer = |making| Signer::new(Sketcher::new(config.clone()), banding, making);
    fill(&mut batch);
    signer(Making::Counted(enough)).work(&mut batch, &mut || ()).unwrap();
    let mut sketcher = Sketcher::new(config.clone());
    let mut expect = |mut counted: Vec<u64>, left_out: bool| {
        let (mut bands, shingles) = (Vec::new(), counted.len());
        counted.retain(|hash| !left_out || !shared.contains(hash));
        if let Some(signature) = sketcher.sketch_hashes(&counted, &mut || ()).unwrap() {
            banding.hashes(signature, &mut bands).unwrap();
            bands.push(signature_hash(signature) as i64);
        }
        (bands, CountedPart { shingles, counted: counted.len(), by_equality: false })
    };
    let mut expected: Vec<_> = texts.iter().map(|text| expect(hashes(text), true)).collect();
    expected.extend([expect(hashes(&texts[2]), false), expect(elements.clone(), true)]);
    expected.push((Vec::new(), CountedPart::default()));
    let found = batch.hashes().map(<[i64]>::to_vec).zip(batch.parts.iter().copied());
    assert_eq!(found.collect::<Vec<_>>(), expected);
    // Fingerprints are the documents' own, and what a batch had before does not matter.
    signer(Making::Fingerprint).work(&mut batch, &mut || ()).unwrap();
    let of = |content: Shingled| content.fingerprint(&mut || ()).unwrap().map(|hash| hash as i64);
    let all = texts.iter().chain([&texts[2]]).map(|text| Shingled::Text(&config, text));
    let all = all.chain([Shingled::Elements(&elements), Shingled::Text(&config, " ")]);
    let found = batch.hashes().map(|hashes| hashes.first().copied());
    assert_eq!(found.collect::<Vec<_>>(), all.map(of).collect::<Vec<_>>());
}
