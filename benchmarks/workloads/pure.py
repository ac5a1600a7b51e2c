"""Pure Python that is busy: floats, lists, and dictionaries of strings. Its text is run as a cell and as a program."""

import time


def bodies(steps):
    """Five bodies pulling at each other: attribute-free float arithmetic."""
    system = [[i * 0.7, i * 1.3 - 2.0, i * 0.1, 0.01 * i, 0.02, -0.01 * i, 1.0 / (i + 1)] for i in range(5)]
    pairs = [(a, b) for i, a in enumerate(system) for b in system[i + 1 :]]
    for _ in range(steps):
        for a, b in pairs:
            x, y, z = a[0] - b[0], a[1] - b[1], a[2] - b[2]
            pull = 0.001 * (x * x + y * y + z * z + 0.01) ** -1.5
            a[3] -= x * b[6] * pull
            a[4] -= y * b[6] * pull
            a[5] -= z * b[6] * pull
            b[3] += x * a[6] * pull
            b[4] += y * a[6] * pull
            b[5] += z * a[6] * pull
        for body in system:
            body[0] += 0.001 * body[3]
            body[1] += 0.001 * body[4]
            body[2] += 0.001 * body[5]
    return system[0][0]


def flips(n):
    """The most prefix reversals that any order of n cards needs: list slicing and small integers."""
    most, count, cards = 0, [0] * n, list(range(n))
    i = 1
    while i < n:
        if count[i] < i:
            j = count[i] if i % 2 else 0
            cards[j], cards[i] = cards[i], cards[j]
            deck, turns = cards[:], 0
            while top := deck[0]:
                deck[: top + 1] = deck[top::-1]
                turns += 1
            most = max(most, turns)
            count[i] += 1
            i = 1
        else:
            count[i] = 0
            i += 1
    return most


def words(times):
    """Counting and sorting words: strings, a dictionary, calls of builtins."""
    text = " ".join(f"w{i * i % 701} {i % 13:x}-{i % 7}" for i in range(4000))
    counts = {}
    for _ in range(times):
        for word in text.split():
            word = word.strip("w").upper()
            counts[word] = counts.get(word, 0) + 1
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:3]


def best(size, times):
    """The least seconds that each took."""
    found = {}
    for name, work in (
        ("bodies", lambda: bodies(60 * size)),
        ("flips", lambda: flips(6 + size // 12)),
        ("words", lambda: words(size)),
    ):
        took = []
        for _ in range(times):
            began = time.perf_counter()
            work()
            took.append(time.perf_counter() - began)
        found[name] = min(took)
    return found
