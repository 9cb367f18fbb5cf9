//! The known answers of the specification.

use sketch::{Config, Sketcher};

#[test]
fn signatures_are_the_known_answers() {
    let texts = include_str!("golden/golden_texts.txt");
    let mut answers = include_str!("golden/golden.txt").lines();
    let mut compared = 0;
    for text in texts.split('\0') {
        for _ in 0..8 {
            let answer = answers.next().unwrap();
            let [scheme, size, num_perm, slots] =
                answer.split(' ').collect::<Vec<_>>().try_into().unwrap();
            let scheme = if scheme == "FSS" {
                "fss"
            } else {
                "permutations"
            };
            let number = |text: &str| text.parse::<i64>().unwrap();
            let config = Config::new(scheme, number(num_perm), "char", number(size), 0).unwrap();
            let expected: Vec<i32> = slots.split(',').map(|slot| slot.parse().unwrap()).collect();
            let mut sketcher = Sketcher::new(config);
            let signature = sketcher.sketch(text, &mut || ()).unwrap();
            assert_eq!(signature, expected, "{config}: {text}");
            compared += 1;
        }
    }
    assert_eq!((compared, answers.next()), (48, None));
}
