"""Processors that do not sleep.

To wake one takes some tens of microseconds, below a hypervisor more, and what a program waits for comes later by that.
A delay that spins keeps its processor awake: what is hidden behind a wait makes the wait shorter by a hundredth of the
delay, and what is not makes the next wake-up dearer. That is no error of an experiment, and no truth about the program.
"""
import contextlib
import pathlib
import struct

AWAKE, MAY_SLEEP = "awake", "may sleep"
DRIVER = pathlib.Path("/sys/devices/system/cpu/cpuidle/current_driver")
LATENCY = pathlib.Path("/dev/cpu_dma_latency")  # Linux, Documentation/power/pm_qos_interface.rst


@contextlib.contextmanager
def processors(wanted=AWAKE, driver=DRIVER, latency=LATENCY):
    """What they are meanwhile, which is not what is wanted on a machine that cannot keep them awake."""
    if wanted == MAY_SLEEP or not _can_be_kept_awake(driver) or not latency.exists():
        yield MAY_SLEEP
        return
    with open(latency, "r+b", buffering=0) as file:  # until it is closed
        file.write(struct.pack("=i", 0))
        yield AWAKE


def _can_be_kept_awake(driver):
    return driver.exists() and driver.read_text().strip() != "none"
