"""dedup-pg: a row for each band in a table of the server, and a cluster for each document by the first band found."""

from common import ADDRESS, documents, shingles, write
from dedup_pg import DedupIndex
from dedup_pg.backend.sqlalchemy import SQLAlchemyBackend
from sqlalchemy import MetaData, create_engine

# 16 bands of 8: its 8 bands of 16 would find 0.8 of the pairs at the threshold. It does not compare documents.
PERMUTATIONS, ROWS = 128, 8


def main() -> None:
    values = dict(part.split("=") for part in ADDRESS.split())
    engine = create_engine(
        "postgresql+psycopg2://", connect_args={**values, "client_encoding": "utf8"}, pool_pre_ping=False
    )
    metadata = MetaData()
    backend = SQLAlchemyBackend(engine=engine, base_or_metadata=metadata, table_name="dedup_index")
    metadata.create_all(engine)
    index = DedupIndex(backend, num_perms=PERMUTATIONS, rows=ROWS)
    # Its hash function takes bytes.
    write((key, index.query(each.encode() for each in shingles(text))) for key, text in zip(*documents()))


if __name__ == "__main__":
    main()
