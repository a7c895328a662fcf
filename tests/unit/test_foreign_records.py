"""A record in a partition that is not its namespace's changes nothing there: it is told."""

from __future__ import annotations

from support.folding import ALICE, remember, stored

from mnemolog.processors.folds.memories import MemoriesFold
from mnemolog.processors.materialize import Rejected, ShardWriter
from mnemolog.schemas.codec import encode_key
from mnemolog.schemas.topics import MEMORIES, partition_of
from mnemolog.storage.memory_table import MemoryTable


def test_only_what_belongs_to_the_partition_is_folded() -> None:
    counts = range(1, 9)
    own = {count: partition_of(encode_key(ALICE), count) for count in counts}
    assert set(own.values()) > {0}
    for count in counts:
        table, rejected = MemoryTable(), list[Rejected]()
        writer = ShardWriter([(MemoriesFold(), table)], None, rejected.extend, partitions=count)
        writer.apply(MEMORIES, [stored(remember("a", "text"), 0, MEMORIES)])
        assert table.applied() == 1
        if own[count] == 0:
            assert (len(list(table.scan())), rejected) == (1, [])
        else:
            assert list(table.scan()) == []
            (one,) = rejected
            assert one.reason == f"its key belongs to partition {own[count]} of {count}, not to 0"
