#!/usr/bin/env python3
"""Repeats the measurements that decided the schema, on plain SQLite with the real schema: page size, the key of
`results`, the clustered queue. Prints CPU microseconds and WAL kilobytes for each request. Needs only Python."""

import os, random, resource, sqlite3, sys, tempfile, time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MIGRATIONS = os.path.join(ROOT, "crates/store/migrations/sqlite")
SCHEMA = "".join(open(os.path.join(MIGRATIONS, name)).read() for name in sorted(os.listdir(MIGRATIONS)))
ROWS = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
GROUP = 128
BODY = b'{"model":"m","messages":[{"role":"user","content":"' + b"x" * 940 + b'"}]}'
RESULT = b'{"object":"chat.completion","choices":[{"message":{"content":"' + b"y" * 1400 + b'"}}]}'


def cpu():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


class Database:
    def __init__(self, folder, page_bytes, schema=SCHEMA):
        self.path = os.path.join(folder, "measure.db")
        self.db = sqlite3.connect(self.path, isolation_level=None)
        for pragma in (f"page_size={page_bytes}", "journal_mode=WAL", "synchronous=NORMAL", "wal_autocheckpoint=4000",
                       "cache_size=-65536"):
            self.db.execute("PRAGMA " + pragma)
        if sqlite3.sqlite_version_info < (3, 43):
            self.db.create_function("octet_length", 1, lambda value: value if value is None else len(value), deterministic=True)
        self.db.executescript(schema)
        self.wal_pages, self.page_bytes = 0, page_bytes

    def groups(self, items, work):
        """Runs `work` on each group in a transaction; CPU seconds and WAL bytes (counted by checkpoints)."""
        started, wal_bytes = cpu(), 0
        for at in range(0, len(items), GROUP):
            self.db.execute("BEGIN IMMEDIATE")
            work(items[at:at + GROUP])
            self.db.execute("COMMIT")
            if at // GROUP % 32 == 31:
                busy, frames, done = self.db.execute("PRAGMA wal_checkpoint(RESTART)").fetchone()
                wal_bytes += max(frames, 0) * (self.page_bytes + 24)
        return cpu() - started, wal_bytes

    def report(self, name, outcome, rows):
        seconds, wal_bytes = outcome
        print(f"  {name:<34} {seconds * 1e6 / rows:7.1f} us  {wal_bytes / rows / 1024:6.2f} KB of WAL")


def life(page_bytes):
    """A whole life of each request with the real schema, and a stream over all results."""
    print(f"page of {page_bytes} bytes, the real schema, {ROWS} requests")
    with tempfile.TemporaryDirectory(dir=ROOT) as folder:
        store = Database(folder, page_bytes)
        db, seqs, chance = store.db, list(range(1, ROWS + 1)), random.Random(1)
        keys = {seq: chance.randbytes(20) for seq in seqs}

        def create(group):
            db.executemany("INSERT INTO requests (seq,id,account,model,created_at,expires_at,metadata,webhook,body) "
                           "VALUES (?,?,1,1,0,0,x'7b7d',NULL,?)",
                           [(seq, seq.to_bytes(16, "big"), BODY) for seq in group])
            db.executemany("INSERT INTO request_states (seq,account,model,state,ready_at,deadline,cost,sort_key) "
                           "VALUES (?,1,1,0,?,?,10,?)", [(seq, seq, seq, keys[seq]) for seq in group])

        def release(group):
            bounds = (group[-1], group[-1])
            db.execute("INSERT INTO queue (model,account,sort_key,seq,phase,deadline,cost,lease_epoch,attempts,retry_at,suspect) "
                       "SELECT model,account,sort_key,seq,0,deadline,cost,0,0,0,0 FROM request_states "
                       "WHERE state=0 AND (ready_at,seq) <= (?,?) ORDER BY model,account,sort_key,seq", bounds)
            db.execute("UPDATE request_states SET state=1 WHERE state=0 AND (ready_at,seq) <= (?,?)", bounds)

        def lease(group):
            db.executemany("UPDATE queue SET phase=1,node=1,lease_epoch=1,in_progress_at=1 WHERE model=1 AND account=1 "
                           "AND sort_key=? AND seq=?", [(keys[seq], seq) for seq in group])

        ended = iter(range(1, ROWS + 1))

        def settle(group):
            numbered = [(next(ended), seq) for seq in group]
            db.executemany("DELETE FROM queue WHERE model=1 AND account=1 AND sort_key=? AND seq=? AND phase=1 AND node=1 "
                           "AND lease_epoch=1", [(keys[seq], seq) for seq in group])
            db.executemany("UPDATE request_states SET state=3,in_progress_at=1,ended_at=1,result_seq=? WHERE seq=?", numbered)
            db.executemany("INSERT INTO results (seq,request,prompt_tokens,completion_tokens,body) VALUES (?,?,1,1,?)",
                           [(n, s, RESULT) for n, s in numbered])

        store.report("create", store.groups(seqs, create), ROWS)
        print(f"  {'disk of a queued request':<34} {os.path.getsize(store.path) / ROWS / 1024:7.2f} KB")
        store.report("release", store.groups(seqs, release), ROWS)
        swept = sorted(seqs, key=lambda seq: keys[seq])
        store.report("lease, in key order", store.groups(swept, lease), ROWS)
        store.report("settle, in key order", store.groups(swept, settle), ROWS)
        started, total = cpu(), 0
        for row in db.execute("SELECT r.id, r.body, t.body FROM request_states s JOIN requests r ON r.seq=s.seq "
                              "JOIN results t ON t.seq=s.result_seq WHERE s.account=1 ORDER BY s.seq"):
            total += len(row[1]) + len(row[2])
        print(f"  {'stream of all results':<34} {total / (cpu() - started) / 1e6:7.0f} MB per CPU second")


def results_keys():
    """Results in order of ending, against results keyed by request."""
    print(f"the key of results, requests ending in random order, {ROWS} rows, 8 KiB pages")
    order = list(range(1, ROWS + 1))
    random.Random(2).shuffle(order)
    for name, rows in (("keyed by order of ending", range(1, ROWS + 1)), ("keyed by request", order)):
        with tempfile.TemporaryDirectory(dir=ROOT) as folder:
            store = Database(folder, 8192, "CREATE TABLE results (seq INTEGER PRIMARY KEY, body BLOB)")
            keep = lambda group: store.db.executemany("INSERT INTO results VALUES (?,?)", [(n, RESULT) for n in group])
            store.report(name, store.groups(list(rows), keep), ROWS)


def queue_forms():
    """Leasing in key order from a clustered queue, against a partial index on one wide table."""
    print(f"leasing in key order, {ROWS} waiting, 8 KiB pages")
    clustered = "CREATE TABLE q (k BLOB, seq INTEGER, phase INTEGER, epoch INTEGER, PRIMARY KEY (k, seq)) WITHOUT ROWID"
    wide = ("CREATE TABLE q (seq INTEGER PRIMARY KEY, k BLOB, phase INTEGER, epoch INTEGER, body BLOB);"
            "CREATE INDEX waiting ON q (k, seq) WHERE phase = 0")
    chance = random.Random(3)
    rows = [(chance.randbytes(20), seq) for seq in range(1, ROWS + 1)]
    for name, schema, fill, order in (
            ("clustered", clustered, "INSERT INTO q VALUES (?,?,0,0)", sorted(rows)),
            ("partial index on a wide table", wide, "INSERT INTO q (k,seq,phase,epoch,body) VALUES (?,?,0,0,zeroblob(1000))", rows)):
        with tempfile.TemporaryDirectory(dir=ROOT) as folder:
            store = Database(folder, 8192, schema)
            store.groups(order, lambda group: store.db.executemany(fill, group))
            look = "SELECT k, seq FROM q WHERE (k, seq) > (?, ?) AND phase = 0 ORDER BY k, seq LIMIT ?"
            cursor = [(b"", 0)]

            def lease(group):
                found = store.db.execute(look, (*cursor[0], len(group))).fetchall()
                cursor[0] = found[-1]
                store.db.executemany("UPDATE q SET phase=1, epoch=epoch+1 WHERE k=? AND seq=?", found)

            store.report(name, store.groups(rows, lease), ROWS)


if __name__ == "__main__":
    print(f"SQLite {sqlite3.sqlite_version}, Python {sys.version.split()[0]}, groups of {GROUP}")
    for page_bytes in (4096, 8192, 16384):
        life(page_bytes)
    results_keys()
    queue_forms()
