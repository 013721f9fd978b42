// Random bytes as the text of an interpreter: the study of it must end, without a crash, and give
// addresses in the text only.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "daemon/cpython/sites.h"
#include "tests/cpython/fake_elf.h"
#include "tests/fuzz/require.h"

namespace sbump {
namespace {

// First byte: the minor version. Next two: where RESUME and INSTRUMENTED_RESUME stand. The rest is
// text.
constexpr size_t kHeader = 3;
constexpr size_t kMaxText = 1 << 16;

void AddTable(FakeElf& fake, const Layout& layout, uint64_t resume, uint64_t instrumented) {
  const auto unused = UnusedOpcodes(layout.minor);
  for (int opcode = 0; opcode < 256; ++opcode) {
    const bool is_unused = std::ranges::find(unused, static_cast<uint8_t>(opcode)) != unused.end();
    const auto index = static_cast<uint64_t>(opcode);
    fake.AddWord(opcode == layout.opcode.resume                ? resume
                 : opcode == layout.opcode.instrumented_resume ? instrumented
                 : is_unused                                   ? FakeElf::kText + 0x10100
                                                               : FakeElf::kText + 0x10000 + index);
  }
}

void Study(const ElfFile& elf, const Layout& layout) {
  if (const auto version = FindPythonVersion(elf); version.ok()) Require(version->major <= 3);
  if (const auto site = FindArgumentSite(elf, FakeElf::kText); site.ok()) {
    Require(elf.IsExecutable(*site));
  }
  if (const auto sites = FindSites(elf, layout); sites.ok()) {
    Require(elf.IsExecutable(sites->hit.vaddr));
    Require(sites->hit.code >= 0 || sites->hit.frame >= 0);
    Require(!sites->introduce_vaddr || elf.IsExecutable(*sites->introduce_vaddr));
  }
}

}  // namespace
}  // namespace sbump

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using sbump::FakeElf;
  if (size <= sbump::kHeader || size > sbump::kMaxText) return 0;
  const sbump::Layout* layout = sbump::FindLayout({.major = 3, .minor = 8 + data[0] % 8});
  sbump::Require(layout != nullptr);
  FakeElf fake;
  fake.PutCode(FakeElf::kText + 0x10200, {0xC3});
  fake.PutCode(FakeElf::kText, std::vector<uint8_t>(data + sbump::kHeader, data + size));
  sbump::AddTable(fake, *layout, FakeElf::kText + data[1], FakeElf::kText + data[2]);
  fake.AddSymbol("_PyEval_EvalFrameDefault", FakeElf::kText, size);
  fake.AddSymbol("Py_GetVersion", FakeElf::kText + data[1]);
  const auto elf = fake.Open();
  sbump::Require(elf.ok());
  sbump::Study(*elf, *layout);
  return 0;
}
