// Native targets come from clients, and the files that they are looked for in from whoever owns the
// process: symbols, versions, unwind tables and code, all of them damaged.
#include <elf.h>

#include <cstdlib>
#include <string>

#include "daemon/match/native_pattern.h"
#include "daemon/native/demangle.h"
#include "daemon/native/function_finder.h"
#include "daemon/text/entry_site.h"
#include "tests/cpython/fake_elf.h"
#include "tests/process/small_elf.h"

namespace sbump {
namespace {

std::string DamagedFile(const uint8_t* data, size_t size) {
  FakeElf fake;
  fake.AddSymbol("_ZN2ns4stepEi", FakeElf::kText, 16);
  fake.AddSymbol("step", FakeElf::kText + 16, 16);
  const size_t code = std::min<size_t>(size, 64);
  fake.PutCode(FakeElf::kText, std::vector<uint8_t>(data, data + code));
  const std::vector<uint8_t> image = fake.Image();
  std::string file(image.begin(), image.end());
  for (size_t i = code; i + 3 < size; i += 4) {
    const size_t place = (data[i] | data[i + 1] << 8 | data[i + 2] << 16) % file.size();
    file[place] = static_cast<char>(data[i + 3]);
  }
  return file;
}

void UseAll(const ElfFile& elf) {
  for (const char* text : {"f:step", "f:ns::*", "f:*", "f+0x1000", "f+0x1004", "f:stpe"}) {
    const NativePattern pattern = *ParseNativePattern(text);
    const auto found = FindFunctions(elf, pattern);
    (void)SimilarNames(elf, pattern);
    if (!found.ok()) continue;
    std::vector<FunctionText> functions;
    for (const FoundFunction& function : found->functions) functions.push_back(function.text);
    const auto sites = FindEntrySites(elf, functions);
    if (sites.size() != functions.size()) abort();
    for (size_t i = 0; i < sites.size(); ++i) {
      // A site is code, and is at or behind the entry.
      if (!sites[i].ok()) continue;
      const uint64_t vaddr = sites[i]->instruction.vaddr;
      if (!elf.IsExecutable(vaddr) || vaddr < functions[i].entry) abort();
    }
  }
  elf.ForEachImportSlot([](const ElfImportSlot&) {});
  for (uint64_t at = 0; at < 0x2000; at += 97) {
    const auto frame = elf.FrameAt(FakeElf::kText + at);
    if (frame && !frame->Contains(FakeElf::kText + at)) abort();
  }
}

void ParseText(const std::string& text) {
  const auto pattern = ParseNativePattern(text);
  if (pattern.ok()) {
    const auto again = ParseNativePattern(pattern->text);
    if (!again.ok() || again->text != pattern->text) abort();
  }
  const auto name = Demangle("_Z" + text);
  if (name && name->size() > kMaxDemangledBytes) abort();
}

}  // namespace
}  // namespace sbump

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2 || size > 4096) return 0;
  if (data[0] & 1) {
    sbump::ParseText(std::string(reinterpret_cast<const char*>(data) + 1, size - 1));
    return 0;
  }
  const auto elf =
      sbump::ElfFile::Open(sbump::FileWith(sbump::DamagedFile(data + 1, size - 1)), "f");
  if (elf.ok()) sbump::UseAll(*elf);
  return 0;
}
