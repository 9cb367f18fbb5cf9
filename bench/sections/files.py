"""Real files that share templates: exact verification beside that by signature, and beside version 0.1."""

import corpus
from harness import FORMER, Server, alternate, note

THRESHOLDS = (0.7, 0.8, 0.9)


def pairs(server: Server, name: str, verify: str, threshold: float) -> dict:
    """Seconds of the processor; of minlsh's exact ones, also how many pairs there are."""
    start = server.processor()
    found = server.value(f"SELECT count(*) FROM near_duplicate_pairs('files', {threshold}, verify => '{verify}')")
    figures = {f"{name}, {verify}, {threshold}": server.processor() - start}
    return figures | ({f"found, {threshold}": found} if (name, verify) == ("minlsh", "exact") else {})


def measure(options) -> dict:
    note("real files")
    texts = corpus.write(options.directory / "files.tsv", corpus.real_files(options.files))
    with Server() as now, Server(FORMER) as before:
        count = now.load("files", texts)
        if not count:
            note("no files in " + ", ".join(map(str, options.files)))
            return {}
        before.load("files", texts)
        figures = {}
        for threshold in THRESHOLDS:
            note(f"real files at {threshold}")
            before.run(f"SELECT minlsh_create_index('files', 'body', threshold => {threshold})")
            before.run("VACUUM ANALYZE files_minlsh")
            measures = {
                f"{name}, {verify}, {threshold}": (
                    lambda server=server, name=name, verify=verify, threshold=threshold: pairs(
                        server, name, verify, threshold
                    )
                )
                for verify in ("signature", "exact")
                for name, server in (("minlsh", now), ("0.1", before))
            }
            figures |= alternate(options, measures)
            before.run("SELECT minlsh_drop_index('files')")
        figures["documents"] = count
        figures["characters"] = now.value("SELECT avg(length(body))::float8 FROM files")
    return figures
