"""Compiles NAME.bpf.c to a libbpf skeleton, NAME.skel.h; NAME.bpf.o is for tests."""

def bpf_skeleton(name, src, hdrs, **kwargs):
    """A cc_library `name` whose header NAME.skel.h holds the compiled programs.

    Args:
      name: the skeleton's name in C.
      src: the .bpf.c file.
      hdrs: targets with the headers that it includes.
      **kwargs: passed on to cc_library (visibility, deps).
    """
    native.genrule(
        name = name + "_generate",
        visibility = ["//tests/bpf:__pkg__"],
        srcs = [src] + hdrs,
        outs = [
            name + ".skel.h",
            name + ".bpf.o",
        ],
        cmd = "set -e; " +
              "clang-14 -target bpf -D__TARGET_ARCH_x86 -O2 -g -Wall -Werror -mcpu=v3" +
              " -I/usr/include/x86_64-linux-gnu -I. -fdebug-prefix-map=$$PWD=." +
              " -c $(location " + src + ") -o $(RULEDIR)/" + name + ".bpf.o; " +
              "llvm-strip-14 -g $(RULEDIR)/" + name + ".bpf.o; " +
              "/usr/sbin/bpftool gen skeleton $(RULEDIR)/" + name + ".bpf.o name " + name +
              " > $(RULEDIR)/" + name + ".skel.h",
    )
    native.cc_library(name = name, hdrs = [name + ".skel.h"], **kwargs)
