"""One thread computes all the time, another waits and then computes for less than a switch interval: what either holds
the GIL for, the other one's work is later by."""
import sys
import work


def foreground():
    work.burn("foreground")


def background():
    work.burn("background")


def front():
    foreground()
    work.unit()


def back():
    work.wait("pause")
    background()


def begin():
    sys.setswitchinterval(work.parameters["switch_s"])
    work.begin_threads(work.forever(front), work.forever(back))


if __name__ == "__main__":
    work.run(begin)
