"""An obvious version of simulated keyed state: dictionaries, and one message at a time."""

from __future__ import annotations

from collections import Counter


def epochs_of(messages, length):
    return [messages[start : start + length] for start in range(0, len(messages), length)]


def simulate(keys, hashes, length, partitions, capacities, costs, script, pause):
    """Return a dictionary of figures for each epoch, and what a policy learns at its end.

    `keys` has the key of each message, and `hashes` the hash of each key. `script` has the owners
    of the partitions before each epoch but the first, or None where they stay.
    """
    workers = range(len(capacities))
    owners = [partition % len(capacities) for partition in range(partitions)]
    states: Counter[int] = Counter()
    rows, learned, unchanged = [], [], 0
    for number, epoch in enumerate(epochs_of(keys, length)):
        before, script_owners = list(owners), script[number - 1] if number else None
        owners = before if script_owners is None else list(script_owners)
        moved = {p for p in range(partitions) if owners[p] != before[p]}
        stops = bool(moved) and pause is not None
        unchanged = 1 if moved else unchanged + 1
        size = {key: costs.key_bytes + costs.message_bytes * count for key, count in states.items()}
        loads, work, read = (dict.fromkeys(workers, 0.0) for _ in range(3))
        for key in epoch:
            owner = owners[hashes[key] % partitions]
            loads[owner] += 1
            work[owner] += costs.message_ms / capacities[owner]
        full = {hashes[key] % partitions for key in states}
        read_bytes = 0.0
        for partition in full if stops else full & moved:
            read[owners[partition]] += costs.partition_ms
            mine = sum(size[key] for key in states if hashes[key] % partitions == partition)
            read[owners[partition]] += mine / costs.read_mb_per_second / 1000
            read_bytes += mine
        hottest = max(Counter(epoch).values()) * costs.message_ms / max(capacities)
        fair = len(epoch) * costs.message_ms / sum(capacities)
        most = max(work[worker] for worker in workers)
        rows.append(
            {
                "loads": [loads[worker] for worker in workers],
                "work_ms": [work[worker] for worker in workers],
                "read_ms": [read[worker] for worker in workers],
                "pause_ms": 1000 * pause if stops else 0,
                "ms": (1000 * pause if stops else 0) + max(work[w] + read[w] for w in workers),
                "max_over_fair": most / fair,
                "max_over_limit": most / max(fair, hottest),
                "moved_states": sum(hashes[key] % partitions in moved for key in states),
                "moved_messages": sum(hashes[key] % partitions in moved for key in epoch),
                "read_bytes": read_bytes,
            }
        )
        states.update(epoch)
        had = Counter(hashes[key] % partitions for key in epoch)
        learned.append(
            {
                "owners": owners,
                "messages": [had[p] for p in range(partitions)],
                "seconds": [
                    had[p] * costs.message_ms / 1000 / capacities[owners[p]]
                    for p in range(partitions)
                ],
                "sizes": [
                    sum(
                        costs.key_bytes + costs.message_bytes * count
                        for key, count in states.items()
                        if hashes[key] % partitions == p
                    )
                    for p in range(partitions)
                ],
                "workers": len(capacities),
                "unchanged": unchanged,
            }
        )
    return rows, learned
