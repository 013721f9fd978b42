"""Compares daemon/match/glob with this interpreter's fnmatch.fnmatchcase.

    python3 fnmatch_compare.py ANSWERS [--seed N] [--patterns N]

ANSWERS is the built //tests/match:glob_answers. Prints the seed, and every kind of difference with
its first cases. Fails on any difference, except that a pattern on which this Python's own fnmatch
raises re.error (3.8 and 3.9 do, for empty ranges) is only counted.
"""

import argparse
import collections
import fnmatch
import random
import re
import subprocess
import sys
import unicodedata
import warnings

PLAIN = "abcXYZ019_./<> \n"
NASTY = "[]!^-\\&|~*?"
WIDE = "\u00e9\u03b1\u4e2d\U0001f40d\U0010ffff\ud800\udc00\udfff\u00a0\u2028\x00\x7f\x80\u07ff\u0800\uffff\U00010000"
SPACES = [chr(c) for c in range(0x110000) if chr(c).isspace()]
REAL_PATTERNS = [
    "*", "**", "", "?", "*/vllm/worker/*", "*transformers*", "/home/user/myproject/*.py",
    "ModelRunner.*", "*<locals>*", "*outer.<locals>.inner", "*[Aa]ttention.forward", "test_*",
    "[!_]*", "*.__[a-z]*__", "[[]x]", "[]]", "[!]]", "[]-a]", "[!]-a]", "[b-a]", "[!b-a]", "[z-a!b]",
    "[z-a!-b]", "[z-a!--b]", "[--a]", "[a--]", "[!--a]", "[a-]", "[-a]", "[!-a]", "[!-]", "[-]", "[--]",
    "[---]", "[!---]", "[a-c-e]", "[a-c-e-g]", "[a-bz-a]", "[a&&b]", "[a||b]", "[a~~b]", "[a--b]",
    "[&&]", "[^a]", "[!^a]", "[\\]", "[\\a]", "[a\\]", "[\\-a]", "[+--]", "[!", "[", "[]", "[!]", "a[",
    "*[", "[*", "[a*", "[]*]", "[[:alpha:]]", "[a-\U0010ffff]", "[\ud800-\udfff]", "[!\ud800-\udfff]*",
]
REAL_TEXTS = [
    "", "/opt/lib/vllm/worker/model_runner.py", "ModelRunner.execute_model", "outer.<locals>.inner",
    "<lambda>", "transformers.models.llama.modeling_llama", "LlamaAttention.forward", "a\nb", "\n",
]


def random_char(rng):
    return rng.choice(rng.choice((PLAIN, PLAIN, NASTY, WIDE)))


def random_bracket(rng):
    alphabet = rng.choice(("abc-!]", "abcz-^![\\", NASTY + "ab", "az-&|~", PLAIN + WIDE + "--"))
    body = "".join(rng.choice(alphabet) for _ in range(rng.randrange(0, 9)))
    return "[" + rng.choice(("", "", "!", "^", "]", "!]")) + body + rng.choice(("]", "]", "]", ""))


def random_pattern(rng):
    pieces = []
    for _ in range(rng.randrange(1, 7)):
        kind = rng.randrange(10)
        if kind < 3:
            pieces.append(random_bracket(rng))
        elif kind < 5:
            pieces.append("*")
        elif kind == 5:
            pieces.append("?")
        else:
            pieces.append("".join(random_char(rng) for _ in range(rng.randrange(1, 4))))
    return "".join(pieces)


def likely_text(rng, pattern):
    """A text with a fair chance of matching: stars filled, brackets replaced by one of theirs."""
    out, i = [], 0
    while i < len(pattern):
        c = pattern[i]
        close = pattern.find("]", i + 2) if c == "[" else -1
        if c == "*":
            out.append("".join(random_char(rng) for _ in range(rng.randrange(3))))
        elif c == "?":
            out.append(random_char(rng))
        elif close > 0 and rng.random() < 0.9:
            out.append(rng.choice(pattern[i + 1 : close] + "b"))
            i = close
        else:
            out.append(c)
        i += 1
    if out and rng.random() < 0.3:
        out[rng.randrange(len(out))] = random_char(rng)
    return "".join(out)


def questions(rng, count):
    for pattern in REAL_PATTERNS:
        for text in REAL_TEXTS + list(PLAIN + NASTY + WIDE):
            yield pattern, text
        for _ in range(10):
            yield pattern, likely_text(rng, pattern)
    for _ in range(count):
        pattern = random_pattern(rng)
        for _ in range(6):
            yield pattern, likely_text(rng, pattern)
        for _ in range(4):
            yield pattern, "".join(random_char(rng) for _ in range(rng.randrange(0, 5)))


def encoded(text):
    return "x" + text.encode("utf-8", "surrogatepass").hex()


def expected(pattern, text):
    try:
        return "1" if fnmatch.fnmatchcase(text, pattern) else "0"
    except re.error:
        return "raises"


def strip_questions(rng):
    for _ in range(5000):
        yield "".join(rng.choice(SPACES + list("ab\u200b\ufeff\ud800")) for _ in range(rng.randrange(8)))
    for code in range(0x3100):
        yield chr(code) + "a" + chr(code)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("answers")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--patterns", type=int, default=14000)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rng = random.Random(options.seed)

    asked = list(questions(rng, options.patterns))
    stripped = list(strip_questions(rng))
    lines = ["m %s %s" % (encoded(p), encoded(t)) for p, t in asked]
    lines += ["s %s" % encoded(t) for t in stripped]
    run = subprocess.run([options.answers], input="\n".join(lines) + "\n", stdout=subprocess.PIPE,
                         universal_newlines=True, check=True)
    got = run.stdout.split("\n")[:-1]
    assert len(got) == len(lines), (len(got), len(lines))

    tally = collections.Counter()
    examples = collections.defaultdict(list)
    for (pattern, text), answer in zip(asked, got):
        want = expected(pattern, text)
        tally[want, answer] += 1
        if want != answer:
            examples[want, answer].append((pattern, text))
    wrong_strips = [t for t, a in zip(stripped, got[len(asked):]) if a != encoded(t.strip())]

    print("Python %s, Unicode %s, seed %d: %d pairs, %d strips" % (
        sys.version.split()[0], unicodedata.unidata_version, options.seed, len(asked), len(stripped)))
    for (want, answer), count in sorted(tally.items()):
        print("  fnmatch %-6s sbump %s: %d" % (want, answer, count))
    for kind, cases in examples.items():
        print("  %s against %s:" % kind, ascii(cases[:5]))
    if wrong_strips:
        print("  strip differs:", ascii(wrong_strips[:5]))
    failed = wrong_strips or any(want != "raises" for want, _ in examples)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
