"""A chain: whatever any of its functions takes, a unit takes."""
import work


def a():
    work.do("a")


def b():
    work.do("b")


def c():
    work.do("c")


def step():
    for function in (a, b, c):
        for _ in range(work.parameters["calls"][function.__name__]):
            function()
    work.shadow()
    work.unit()


if __name__ == "__main__":
    work.run(lambda: work.begin_threads(work.forever(step)))
