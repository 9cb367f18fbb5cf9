"""Texts in memory, without a server: the engine's crate beside rensa and datasketch, each from the same texts to its
pairs."""

import subprocess
import time
from types import SimpleNamespace

import corpus
import peers
from harness import ROOT, THRESHOLD, alternate, note

PROGRAM = ROOT / "build" / "target" / "bench" / "release" / "examples" / "collection"
PEERS = ("rensa", "datasketch, xxh32", "datasketch")
# Bands that reach the recall of ours, which peers.py looks for where they must divide the slots.
PEERS_OPTIONS = SimpleNamespace(threshold=THRESHOLD, recall=0.99, bands=12, rows=10)


class Stages(dict):
    """Seconds of the processor that each stage of a peer took."""

    def __init__(self):
        super().__init__()
        self.start = time.process_time()

    def stage(self, name: str) -> None:
        now = time.process_time()
        self[name], self.start = now - self.start, now


def own(file) -> dict:
    """The engine's example prints: way, stage, figure, with tabs between."""
    output = subprocess.run([PROGRAM, file, str(THRESHOLD)], check=True, capture_output=True, text=True).stdout
    rows = (line.split("\t") for line in output.splitlines())
    return {f"{way}: {stage}": float(figure) for way, stage, figure in rows}


def peer(name: str, texts: list) -> dict:
    stages = Stages()
    found = peers.PEERS[name](texts, PEERS_OPTIONS, stages)
    return {**{f"{name}: {stage}": taken for stage, taken in stages.items()}, f"{name}: found": len(found)}


def measure(options) -> dict:
    figures = {}
    for count in options.sizes:
        note(f"{count:,} documents: the library")
        texts = list(corpus.texts(count))
        file = options.directory / "texts.nul"
        file.write_text("".join(f"{text}\0" for text in texts), encoding="utf-8")
        measures = {"own": lambda file=file: own(file)}
        if count <= options.peers_up_to:
            measures |= {name: (lambda name=name, texts=texts: peer(name, texts)) for name in PEERS}
        figures[str(count)] = alternate(options, measures, f"{count:,} documents")
    return figures
