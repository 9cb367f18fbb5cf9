"""Known answers of datasketch, for tests/engine/datasketch.rs, which needs no Python.

    python make_datasketch.py 60 > datasketch.txt

needs datasketch 2.0 and xxhash. Fields are separated by tabs:
scheme, num_perm, seed, what, slots, LeanMinHash in the byte orders "@", "<"
and ">". What is a range a..b of numbers, each an element written in decimal;
or unit:size:text in hexadecimal, whose shingles are the elements.
"""

import random
import sys

import xxhash
from datasketch import LeanMinHash, MinHash

HASHES = {
    "": None,
    "_xxh32": xxhash.xxh32_intdigest,
    "_xxh3": lambda b: xxhash.xxh3_64_intdigest(b) & 0xFFFFFFFF,
}
TEXTS = [
    "short",
    "A quick brown fox jumps over the lazy dog twice a day",
    "na\u00efve caf\u00e9s \u6f22\u5b57 \U0001f600 and the like of them all",
    "one two three four five six seven eight nine ten " * 20,
]
chosen = random.Random(1)
count = int(sys.argv[1])
for i in range(count):
    scheme = ["affine32", "legacy"][i % 2]
    suffix = list(HASHES)[i // 2 % 3]
    few = [1, 2, 3, 7, 16, 16] if count < 100 else [1, 5, 16, 33, 64, 128, 200, 256, 1000]
    num_perm = chosen.choice(few)
    seed = chosen.choice([0, 1, 1, 42, 2**32 - 1, chosen.randrange(2**32)])
    if i // 6 % 2:
        text, unit, size = chosen.choice(TEXTS), chosen.choice(["char", "word"]), chosen.choice([1, 3, 5])
        if unit == "word":
            # What stands between words does not count; ideographs are words.
            text = text.replace(" \u6f22\u5b57 \U0001f600", "")
        parts, space = (text, "") if unit == "char" else (text.split(), " ")
        last = max(len(parts) - size, 0)
        elements = [space.join(parts[j : j + size]).encode() for j in range(last + 1)]
        what = f"{unit}:{size}:{text.encode().hex()}"
    else:
        start, size = chosen.randrange(10**6), chosen.choice([1, 2, 10, 100, 5000])
        elements = [str(start + j).encode() for j in range(size)]
        what = f"{start}..{start + size}"
    sketch = MinHash(num_perm=num_perm, seed=seed, scheme=scheme, hashfunc=HASHES[suffix])
    sketch.update_batch(elements)
    lean = LeanMinHash(sketch)
    fields = [f"datasketch_{scheme}{suffix}", num_perm, seed, what]
    fields.append(",".join(str(value) for value in sketch.hashvalues))
    for order in "@<>":
        buffer = bytearray(lean.bytesize(order))
        lean.serialize(buffer, order)
        fields.append(buffer.hex())
    print(*fields, sep="\t")
