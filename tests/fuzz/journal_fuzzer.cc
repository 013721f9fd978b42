// A journal may be cut off anywhere, lie on a damaged disk, or be put there by somebody: recovery
// must get either a refusal or fields that can be looked for.
#include <algorithm>
#include <cstdint>
#include <set>
#include <string_view>
#include <utility>

#include "daemon/attach/journal.h"
#include "tests/fuzz/require.h"

namespace {

using sbump::Require;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto journal = sbump::Journal::Parse(text);
  if (!journal.ok()) {
    Require(absl::IsDataLoss(journal.status()));
    return 0;
  }
  Require(!sbump::Journal::NeverBegun(text));
  const auto lines = static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  const auto bad_lines = static_cast<size_t>(journal->bad_lines);
  Require(journal->fields.size() + journal->probes.size() + bad_lines < lines);
  std::set<std::pair<sbump::RemoteAddr, sbump::RemoteAddr>> fields;
  for (const sbump::ArmedField& field : journal->fields) {
    Require(field.size == 1 || field.size == 4);
    Require(fields.emplace(field.code, field.field).second);
  }
  // What was written before a line that was cut off stays.
  const auto whole = sbump::Journal::Parse(std::string(text.substr(0, text.find('\0'))) + "arm co");
  Require(whole.ok() || text.find('\n') == text.npos);
  if (whole.ok()) Require(whole->fields == journal->fields && whole->probes == journal->probes);
  return 0;
}
