// A library of torch that says what it likes: its symbols, the texts of its schemas, its code.
// Lines: an operator's C++ arguments, its schema, a symbol; what is left is code, with the schema
// in it.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/torch/operator_sites.h"
#include "tests/cpython/fake_elf.h"
#include "tests/fuzz/require.h"

namespace sbump {
namespace {

constexpr size_t kMaxText = 1 << 14;

std::string_view NextLine(std::string_view& text) {
  const size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

void CheckCall(const sb_operator& call) {
  Require(call.arguments <= SB_OPERATOR_ARGUMENTS && call.results <= 16);
  Require(call.returns <= SB_RETURNS_VECTOR);
}

void CheckSignature(std::string_view arguments, std::string_view schema) {
  const std::string demangled = "at::_ops::x::call(" + std::string(arguments) + ")";
  const auto signature = SignatureOf(demangled, {schema});
  if (signature.ok()) CheckCall(signature->call);
}

void CheckSites(const std::string& symbol, std::string_view schema, std::string_view code) {
  FakeElf fake;
  std::vector<uint8_t> text(code.begin(), code.end());
  const size_t size = text.size() + 1;
  text.insert(text.end(), {0xc3, 0});
  text.insert(text.end(), schema.begin(), schema.end());
  text.push_back(0);
  fake.PutCode(FakeElf::kText + 0x100, text);
  fake.AddSymbol("_ZN2at4_ops" + symbol, FakeElf::kText + 0x100, size);
  const auto elf = fake.Open();
  if (!elf.ok()) return;
  const auto found = FindOperators(*elf, UINT64_MAX);
  if (!found.ok()) return;
  Require(found->sites.size() + found->left_out.size() == 1);
  for (const OperatorSite& site : found->sites) {
    CheckCall(site.signature.call);
    Require(elf->IsExecutable(site.begin_vaddr) && elf->IsExecutable(site.end.vaddr));
    Require(site.end.frame == 4 || site.end.frame == 5);
  }
}

}  // namespace
}  // namespace sbump

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > sbump::kMaxText) return 0;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string_view arguments = sbump::NextLine(text);
  const std::string_view schema = sbump::NextLine(text);
  const std::string symbol(sbump::NextLine(text));
  sbump::CheckSignature(arguments, schema);
  if (symbol.find('\0') == std::string::npos) sbump::CheckSites(symbol, schema, text);
  return 0;
}
