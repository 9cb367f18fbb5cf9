"""Compares minlsh with the real datasketch, in both directions.

    python compare.py CONNINFO

needs a database with minlsh in it. Prints what was compared; ends with status
1 at the first difference. The sets and texts are random, by a fixed seed.
"""

import random
import re
import struct
import subprocess
import sys
import uuid
from pathlib import Path

import datasketch
import psycopg
import xxhash
from datasketch import LeanMinHash, MinHash

SETS = 400
TEXTS = 300
HASHES = {
    "": None,
    "_xxh32": xxhash.xxh32_intdigest,
    "_xxh3": lambda b: xxhash.xxh3_64_intdigest(b) & 0xFFFFFFFF,
}
NUM_PERMS = [1, 2, 5, 16, 33, 64, 128, 128, 200, 256, 1000]
LETTERS = "abcdefghij  ABC.,;éßñ漢字かな\u0301\u200d😀𝒜\n\t"
BYTE_ORDERS = "@=<>!"

chosen = random.Random(20240229)
compared = 0


def same(left, right, what):
    global compared
    if left != right:
        sys.exit(f"different: {what}\n  {left}\n  {right}")
    compared += 1


def slots(sketch):
    """The uint32 values of a MinHash as the int4 that have their bits."""
    return list(struct.unpack(f"{len(sketch)}i", struct.pack(f"{len(sketch)}I", *map(int, sketch.hashvalues))))


def lean_bytes(sketch, order):
    lean = LeanMinHash(sketch)
    buffer = bytearray(lean.bytesize(order))
    lean.serialize(buffer, order)
    return bytes(buffer)


def random_scheme():
    """A scheme by its name here, and how to make an empty MinHash of it."""
    scheme, suffix = chosen.choice(["affine32", "legacy"]), chosen.choice(list(HASHES))
    num_perm = chosen.choice(NUM_PERMS)
    # In SQL seed 0 is the scheme's own, 1.
    seed = chosen.choice([1, 1, 42, 2**32 - 1, chosen.randrange(1, 2**32)])

    def empty():
        return MinHash(num_perm=num_perm, seed=seed, scheme=scheme, hashfunc=HASHES[suffix])

    return f"datasketch_{scheme}{suffix}", num_perm, seed, empty


def random_element(kind):
    """An element for SQL, and its bytes for Python."""
    if kind == "bigint":
        number = chosen.choice([chosen.randrange(100), chosen.randrange(-(2**63), 2**63)])
        return number, str(number).encode()
    if kind == "uuid":
        value = uuid.UUID(int=chosen.getrandbits(128))
        return value, str(value).encode()
    if kind == "bytea":
        value = chosen.randbytes(chosen.randrange(20))
        return value, value
    value = "".join(chosen.choices(LETTERS, k=chosen.randrange(20)))
    return value, value.encode()


def compare_signatures(sql, scheme, num_perm, seed, sketch, signature, what):
    """A signature made in SQL, the MinHash made in Python, and the bytes of each in the other."""
    same(signature, slots(sketch), what)
    order = chosen.choice(BYTE_ORDERS)
    lean = lean_bytes(sketch, order)
    made = sql("SELECT minhash_to_lean(%s, %s, %s, %s)", signature, scheme, seed, order)[0]
    same(made, lean, f"{what}, bytes in order {order}")
    read = sql("SELECT signature, seed, scheme FROM minhash_from_lean(%s)", lean)
    same(read, (signature, seed, scheme.removesuffix("_xxh32").removesuffix("_xxh3")), f"{what}, read from Python")
    back = LeanMinHash.deserialize(made, order)
    same((back.seed, slots(back)), (seed, signature), f"{what}, read in Python")
    same(back.jaccard(LeanMinHash(sketch)), 1.0, f"{what}, compared in Python")


def compare_sets(sql):
    for i in range(SETS):
        scheme, num_perm, seed, empty = random_scheme()
        kind = chosen.choice(["text", "bigint", "uuid", "bytea"])
        size = chosen.choice([1, 2, 10, 100, 100, 3000])
        elements = [random_element(kind) for _ in range(size)]
        sketch = empty()
        sketch.update_batch([b for _, b in elements])
        given = [element for element, _ in elements]
        what = f"set {i}: {size} {kind}, {scheme}, {num_perm} slots, seed {seed}"
        arguments = [num_perm, scheme, seed]
        aggregate = f"SELECT minhash_agg(e, %s, %s, %s) FROM unnest(%s::{kind}[]) AS e"
        signature = sql(aggregate, *arguments, given)[0]
        compare_signatures(sql, scheme, num_perm, seed, sketch, signature, what)
        if kind != "bytea":
            array = sql(f"SELECT minhash(%s::{kind}[]::text[], %s, %s, %s)", given, *arguments)[0]
            same(array, signature, f"{what}, as an array")
        # Another set that shares some: estimate, union and number of elements.
        others = elements[: size // 2] + [random_element(kind) for _ in range(size // 3 + 1)]
        other = empty()
        other.update_batch([b for _, b in others])
        found = sql(aggregate, *arguments, [element for element, _ in others])[0]
        estimate = sql("SELECT minhash_jaccard(%s::integer[], %s::integer[])", signature, found)[0]
        same(estimate, sketch.jaccard(other), f"{what}, estimate")
        union = sketch.copy()
        union.merge(other)
        same(sql("SELECT minhash_union(%s, %s, %s)", signature, found, scheme)[0], slots(union), f"{what}, union")
        if num_perm >= 16:
            cardinality, error = sql("SELECT * FROM minhash_cardinality(%s, %s)", signature, scheme)
            exact = len({b for _, b in elements})
            # datasketch's count() is K / mean - 1, minhash_cardinality() the maximum of the likelihood:
            # of more than a few elements they tell much the same.
            apart = 0 if exact < 10 else cardinality - sketch.count()
            if abs(cardinality - exact) > 5 * error or abs(apart) > error:
                sys.exit(f"different: {what}, count: {cardinality} +- {error}, {sketch.count()}, {exact}")


def compare_texts(sql):
    for i in range(TEXTS):
        scheme, num_perm, seed, empty = random_scheme()
        unit, size = chosen.choice([("char", 1), ("char", 5), ("char", 9), ("word", 1), ("word", 3)])
        if unit == "char":
            text = "".join(chosen.choices(LETTERS, k=chosen.choice([1, 3, 40, 400, 4000])))
            parts, joint = list(text), ""
        else:
            # Words by Unicode are these, whatever stands between them.
            words = ["fox", "dog", "naïve", "don't", "3.14", "a1"]
            count = chosen.choice([1, 2, 30, 900])
            parts = [chosen.choice(words) + str(chosen.randrange(30)) for _ in range(count)]
            text, joint = chosen.choice([" ", ", ", "\n — "]).join(parts), " "
        if not text.strip():
            continue
        windows = [joint.join(parts[j : j + size]) for j in range(max(len(parts) - size, 0) + 1)]
        sketch = empty()
        sketch.update_batch([window.encode() for window in windows])
        signature = sql("SELECT minhash(%s::text, num_perm => %s, shingle_size => %s, unit => %s, scheme => %s,"
                        " seed => %s, normalization => 'none')",
                        text, num_perm, size, unit, scheme, seed)[0]
        what = f"text {i}: {unit} {size}, {scheme}, {num_perm} slots, seed {seed}, {text[:60]!r}"
        compare_signatures(sql, scheme, num_perm, seed, sketch, signature, what)


def compare_defaults(sql):
    """What datasketch does unless told otherwise is what the scheme's name alone means."""
    sketch = MinHash()
    sketch.update_batch([b"bread", b"milk"])
    same(sql("SELECT minhash(ARRAY['bread', 'milk'], scheme => 'datasketch_affine32')")[0], slots(sketch), "defaults")
    lean = sql("SELECT minhash_to_lean(minhash(ARRAY['bread', 'milk'], scheme => 'datasketch_affine32'))")[0]
    same(lean, lean_bytes(sketch, "@"), "bytes by default")
    empty = sql("SELECT signature, seed FROM minhash_from_lean(%s)", lean_bytes(MinHash(num_perm=8, seed=3), "@"))
    same(empty, (None, 3), "the empty set")


def compare_programs(connection):
    """The two programs of docs/faq.md do the same job: on its own rows, and on more of them."""
    page = (Path(__file__).parents[2] / "docs/faq.md").read_text(encoding="utf-8")
    blocks = dict(re.findall(r"(?ms)^```(sql|python)\n(.*?)^```$", page.partition("## Why not export to Python?")[2]))
    connection.execute(blocks["sql"])
    more = """INSERT INTO docs SELECT i, 'document ' || i % 300 || ' ' || string_agg(md5(i % 300 || ' ' || w), ' ')
              FROM generate_series(100, 999) AS i, generate_series(1, 40) AS w GROUP BY i"""
    for statement, least in (("SELECT", 2), (more, 900)):
        connection.execute(statement)
        query = "SELECT doc_a, doc_b FROM near_duplicate_pairs('docs', 0.9) ORDER BY 1, 2"
        pairs = connection.execute(query).fetchall()
        printed = subprocess.check_output([sys.executable, "-c", blocks["python"], sys.argv[1]], text=True)
        same(pairs, [tuple(line.split()) for line in printed.splitlines()], "the programs of docs/faq.md")
        same(len(pairs) >= least, True, "the pairs that they are to find")


def main():
    with psycopg.connect(sys.argv[1], autocommit=True) as connection:
        cursor = connection.cursor(binary=True)

        def sql(query, *arguments):
            return cursor.execute(query, arguments).fetchone()

        compare_defaults(sql)
        compare_sets(sql)
        compare_texts(sql)
        compare_programs(connection)
    print(f"datasketch {datasketch.__version__}: {SETS} sets and {TEXTS} texts, {compared} comparisons, no difference")


main()
