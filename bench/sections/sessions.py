"""Sessions of a user who labels pairs: minlsh asks, the set's own labels answer, and the threshold that comes out finds
pairs. `sessions()` is called with a connection whose table has the texts of a set."""

from statistics import mean

# Pairs that are asked for at a time.
ROUNDS = (20, 20)


def source(table: str, is_two_sided: bool) -> str:
    """The arguments that name the source: a table of id, side and body."""
    if not is_two_sided:
        return f"'SELECT id, body FROM {table}'"
    side = "'SELECT id, body FROM {} WHERE side = ''{}'''"
    return f"{side.format(table, 'a')}, other => {side.format(table, 'b')}"


def session(connection, arguments: str, same, seed: int) -> str:
    """The statement that 40 answers lead to. `same(a, b)` answers about two ids."""
    connection.execute("DROP TABLE IF EXISTS pg_temp.decided")
    connection.execute("CREATE TEMPORARY TABLE decided (doc_a integer, doc_b integer, same boolean)")
    for pairs in ROUNDS:
        more = f"decided => 'decided', pairs => {pairs}, sample_seed => {seed}"
        ask = f"SELECT * FROM minlsh_label_pairs({arguments}, {more})"
        for first, second, *_ in connection.execute(ask).fetchall():
            answer = (int(str(first)), int(str(second)))
            connection.execute("INSERT INTO decided VALUES (%s, %s, %s)", (*answer, same(*answer)))
    call = f"minlsh_suggest_from_labels({arguments}, decided => 'decided', sample_seed => {seed})"
    suggest = f"SELECT item, explanation FROM {call}"
    return dict(connection.execute(suggest).fetchall()).get("pairs", "")


def sessions(connection, arguments: str, pairs: set, seeds: int = 50) -> dict:
    """The mean and the least F1 of the pairs that the statements of sessions find. `pairs` are sorted pairs of ids."""
    figures = []
    for seed in range(seeds):
        statement = session(connection, arguments, lambda a, b: tuple(sorted((a, b))) in pairs, seed)
        rows = connection.execute(statement).fetchall() if statement else []
        found = {tuple(sorted((int(str(first)), int(str(second))))) for first, second, *_ in rows}
        figures.append(2 * len(found & pairs) / (len(found) + len(pairs)))
    return {"f1": mean(figures), "least": min(figures)}
