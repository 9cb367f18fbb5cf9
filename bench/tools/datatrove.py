"""datatrove: its stages of MinHash with one worker. Signatures are made of new documents alone; those of all are then
compared and clustered."""

import shutil
import struct
import sys

from common import BANDS, FOLDER, ROWS, STEP, WORDS, documents, table, write

# This file has the library's name.
sys.path.pop(0)
from datatrove.data import Document  # noqa: E402
from datatrove.pipeline.dedup import MinhashDedupBuckets, MinhashDedupCluster, MinhashDedupSignature  # noqa: E402
from datatrove.pipeline.dedup.minhash import MinhashConfig  # noqa: E402
from datatrove.utils.typeshelper import Languages  # noqa: E402

CONFIG = MinhashConfig(n_grams=WORDS, num_buckets=BANDS, hashes_per_bucket=ROWS)


def main() -> None:
    signatures, pairs, clusters = (FOLDER / name for name in ("signatures", "pairs", "clusters-of"))
    ids, texts = documents()
    rank = 0 if STEP == "first" else 1
    stage = MinhashDedupSignature(str(signatures), config=CONFIG, language=Languages.english)
    stage.run((Document(text=text, id=str(key)) for key, text in zip(ids, texts)), rank=rank, world_size=rank + 1)
    for folder in (pairs, clusters):
        shutil.rmtree(folder, ignore_errors=True)
    for bucket in range(BANDS):
        MinhashDedupBuckets(str(signatures), str(pairs), config=CONFIG).run(rank=bucket, world_size=BANDS)
    MinhashDedupCluster(str(pairs), str(clusters), config=CONFIG, save_cluster_id=True).run()
    known = [table("docs")[0], ids] if STEP == "second" else [ids]
    for number, keys in enumerate(known):
        file = clusters / f"{number:06d}.clusters"
        data = file.read_bytes() if file.exists() else b""
        # Each step numbers its clusters from 0.
        write((keys[document], f"{STEP} {cluster}") for document, cluster in struct.iter_unpack("<2I", data))


if __name__ == "__main__":
    main()
