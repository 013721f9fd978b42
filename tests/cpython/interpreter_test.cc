// What sbump says to files and processes in which it finds no interpreter that it supports. That it
// finds the supported ones is the live tests' business.
#include "daemon/cpython/interpreter.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/cpython/fake_elf.h"
#include "tests/interpreters.h"
#include "tests/process/child.h"

namespace sbump {
namespace {

Fd FileOf(const FakeElf& fake) {
  const std::vector<uint8_t> image = fake.Image();
  Fd file(memfd_create("fake_elf", MFD_CLOEXEC));
  EXPECT_EQ(write(file.get(), image.data(), image.size()), static_cast<ssize_t>(image.size()));
  return file;
}

FakeElf PythonOfVersion(uint32_t hex) {
  FakeElf fake;
  fake.AddSymbol("_PyEval_EvalFrameDefault", FakeElf::kText);
  fake.AddSymbol("Py_GetVersion", FakeElf::kText + 0x100);
  fake.PutCode(FakeElf::kText + 0x100, Hex("c3"));
  fake.AddSymbol("Py_Version", fake.AddWord(hex));
  return fake;
}

absl::Status Study(const FakeElf& fake, const std::string& name = "/usr/bin/python3") {
  InterpreterFileCache cache;
  return cache.Study(FileOf(fake), name).status();
}

void ExpectUnsupported(const absl::Status& status, std::string_view words) {
  EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
  EXPECT_NE(std::string(status.message()).find(words), std::string::npos) << status;
}

TEST(InterpreterFileTest, AFileWithoutPythonIsNoReasonToRefuse) {
  FakeElf fake;
  fake.AddSymbol("main", FakeElf::kText);
  InterpreterFileCache cache;
  const auto file = cache.Study(FileOf(fake), "/usr/bin/uwsgi");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(*file, nullptr);
}

TEST(InterpreterFileTest, VersionsWithoutATable) {
  ExpectUnsupported(Study(PythonOfVersion(0x031000F0)), "CPython 3.16.0 (/usr/bin/python3)");
  ExpectUnsupported(Study(PythonOfVersion(0x031000F0)), "supported is CPython 3.8 to 3.15");
}

TEST(InterpreterFileTest, AlphasAndBetasAreNotYetWhatTheirVersionWillBe) {
  ExpectUnsupported(Study(PythonOfVersion(0x030F00A1)), "CPython 3.15.0a1");
  ExpectUnsupported(Study(PythonOfVersion(0x030F00B2)), "CPython 3.15.0b2");
  ExpectUnsupported(Study(PythonOfVersion(0x030F00C1)), "exports no symbol _PyRuntime");
}

TEST(InterpreterFileTest, PyPyIsNamed) {
  FakeElf library;
  ExpectUnsupported(Study(library, "/opt/pypy/bin/libpypy3.10-c.so"), "PyPy");
  FakeElf program;
  program.AddSymbol("pypy_main_startup", FakeElf::kText);
  ExpectUnsupported(Study(program, "/opt/pypy/bin/pypy3"), "PyPy");
}

TEST(InterpreterFileTest, TheMissingSymbolIsNamed) {
  FakeElf fake = PythonOfVersion(0x030C01F0);
  ExpectUnsupported(Study(fake), "/usr/bin/python3 exports no symbol _PyRuntime");
  fake.AddSymbol("_PyRuntime", FakeElf::kData);
  ExpectUnsupported(Study(fake), "PyCode_Type");
}

FakeElf FreeThreadedOfVersion(uint32_t hex) {
  FakeElf fake = PythonOfVersion(hex);
  fake.AddSymbol("_PyRuntime", fake.AddWord(0x79706775'62656478));  // "xdebugpy"
  fake.AddWord(hex);
  fake.AddWord(1);
  return fake;
}

TEST(InterpreterFileTest, OfFreeThreadedBuildsOnly313IsKnown) {
  ExpectUnsupported(
      Study(FreeThreadedOfVersion(0x030E00F0)),
      "a free-threaded build of CPython 3.14.0, in which each thread may run bytecode "
      "of its own (/usr/bin/python3)");
  ExpectUnsupported(Study(FreeThreadedOfVersion(0x030D05F0)), "exports no symbol PyCode_Type");
}

TEST(InterpreterFileTest, DebugBuildsAreNamed) {
  for (const char* symbol : {"_Py_RefTotal", "_Py_PrintReferences"}) {
    FakeElf fake = PythonOfVersion(0x030C01F0);
    fake.AddSymbol("_PyRuntime", FakeElf::kData);
    fake.AddSymbol(symbol, FakeElf::kData);
    ExpectUnsupported(Study(fake), "a debug build of CPython 3.12.1");
  }
}

TEST(InterpreterFileTest, AnEvalLoopThatIsNotUnderstood) {
  FakeElf fake = PythonOfVersion(0x030C01F0);
  for (const char* symbol :
       {"_PyRuntime", "PyCode_Type", "PyFunction_Type", "PyTuple_Type", "PyDict_Type"}) {
    fake.AddSymbol(symbol, FakeElf::kData);
  }
  EXPECT_TRUE(absl::IsUnimplemented(Study(fake)));
}

TEST(InterpreterFileTest, WhatIsNoElfFile) {
  InterpreterFileCache cache;
  Fd file(memfd_create("text", MFD_CLOEXEC));
  ASSERT_EQ(write(file.get(), "#!/bin/sh\n", 10), 10);
  EXPECT_FALSE(cache.Study(std::move(file), "/usr/bin/python3").ok());
}

// Side by side, each would read the whole file and keep it: 4 MB for each process of a session.
TEST(InterpreterFileTest, ThreadsThatStudyOneFileAtOnceShareWhatIsFound) {
  for (const InstalledPython& python : FindInterpreters()) {
    if (FindLayout(python.version) == nullptr) continue;
    SCOPED_TRACE(python.elf_path);
    InterpreterFileCache cache;
    std::vector<std::shared_ptr<const InterpreterFile>> found(8);
    std::vector<std::thread> threads;
    for (auto& file : found) {
      threads.emplace_back([&] {
        Fd fd(open(python.elf_path.c_str(), O_RDONLY | O_CLOEXEC));
        file = cache.Study(std::move(fd), python.elf_path).value_or(nullptr);
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_NE(found.front(), nullptr);
    EXPECT_EQ(std::set(found.begin(), found.end()).size(), 1u);
  }
}

TEST(FindInterpreterTest, AProcessThatRunsNoPython) {
  Child child([] { pause(); });
  const auto process = TargetProcess::Open(child.pid());
  ASSERT_TRUE(process.ok()) << process.status();
  const auto memory = RemoteMemory::Open(process->proc_dirfd(), process->pid());
  ASSERT_TRUE(memory.ok()) << memory.status();
  InterpreterFileCache cache;
  const absl::Status status = FindInterpreter(*process, *memory, cache).status();
  ExpectUnsupported(status, "pid " + std::to_string(child.pid()));
  ExpectUnsupported(status, "interpreter_test");
  ExpectUnsupported(status, "runs no Python interpreter");
}

TEST(StrategyTest, Words) {
  EXPECT_EQ(StrategyName(ArmingKind::kOpcacheFlag), "armed: co_opcache_flag");
  EXPECT_EQ(StrategyName(ArmingKind::kResumeQuick), "armed: RESUME");
  EXPECT_EQ(StrategyName(ArmingKind::kInstrumentedResume), "armed: INSTRUMENTED_RESUME");
}

}  // namespace
}  // namespace sbump
