"""Real files that share templates: exact verification beside that by signature, and in small memory beside large."""

import corpus
from harness import Server, alternate, note

THRESHOLDS = (0.7, 0.8, 0.9)


#: maintenance_work_mem of each way to verify. The first is that of the other sections.
WAYS = {"signature": ("64MB",), "exact": ("64MB", "1GB")}


def pairs(server: Server, verify: str, threshold: float, memory: str) -> dict:
    """Seconds of the processor; of exact ones, also how many pairs there are."""
    server.run(f"SET maintenance_work_mem = '{memory}'")
    start = server.processor()
    found = server.value(f"SELECT count(*) FROM near_duplicate_pairs('files', {threshold}, verify => '{verify}')")
    figures = {f"minlsh, {verify}, {threshold}, {memory}": server.processor() - start}
    return figures | ({f"found, {threshold}": found} if verify == "exact" else {})


def measure(options) -> dict:
    note("real files")
    texts = corpus.write(options.directory / "files.tsv", corpus.real_files(options.files))
    with Server() as server:
        count = server.load("files", texts)
        if not count:
            note("no files in " + ", ".join(map(str, options.files)))
            return {}
        figures = {}
        for threshold in THRESHOLDS:
            note(f"real files at {threshold}")
            measures = {
                f"{verify}, {threshold}, {memory}": (
                    lambda verify=verify, threshold=threshold, memory=memory: pairs(server, verify, threshold, memory)
                )
                for verify, memories in WAYS.items()
                for memory in memories
            }
            figures |= alternate(options, measures)
        figures["documents"] = count
        figures["characters"] = server.value("SELECT avg(length(body))::float8 FROM files")
    return figures
