#include "client/modules_change.h"

#include <google/protobuf/util/field_comparator.h>
#include <google/protobuf/util/message_differencer.h>

#include <map>
#include <string_view>

#include "client/printable.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

using Modules = google::protobuf::RepeatedPtrField<v1::Module>;
using ByPath = std::map<std::string_view, const v1::Module*>;

ByPath PathsOf(const Modules& modules) {
  ByPath by_path;
  for (const v1::Module& module : modules) by_path.emplace(module.path(), &module);
  return by_path;
}

bool AreSame(const v1::Module& a, const v1::Module& b) {
  google::protobuf::util::DefaultFieldComparator values;
  values.set_treat_nan_as_equal(true);
  google::protobuf::util::MessageDifferencer differencer;
  differencer.set_field_comparator(&values);
  return differencer.Compare(a, b);
}

void AppendLines(char sign, Tone tone, const Modules& modules, const Palette& palette,
                 std::string& text) {
  for (const v1::Module& module : modules) {
    const std::string line =
        StrCat(std::string(1, sign), " ", Printable(module.path()), "  ", Printable(module.type()));
    text += palette.Paint(tone, line) + "\n";
  }
}

}  // namespace

v1::ModulesChange ChangeBetween(const v1::ListModulesReply& before,
                                const v1::ListModulesReply& now) {
  const ByPath then = PathsOf(before.modules()), today = PathsOf(now.modules());
  v1::ModulesChange change;
  for (const v1::Module& module : before.modules())
    if (!today.contains(module.path())) *change.add_vanished() = module;
  for (const v1::Module& module : now.modules()) {
    const auto old = then.find(module.path());
    if (old == then.end())
      *change.add_appeared() = module;
    else if (!AreSame(*old->second, module))
      *change.add_changed() = module;
  }
  return change;
}

bool IsEmpty(const v1::ModulesChange& change) {
  return change.appeared().empty() && change.vanished().empty() && change.changed().empty();
}

std::string ChangeText(const v1::ModulesChange& change, const Palette& palette) {
  std::string text;
  AppendLines('-', Tone::kBad, change.vanished(), palette, text);
  AppendLines('+', Tone::kGood, change.appeared(), palette, text);
  AppendLines('~', Tone::kWarn, change.changed(), palette, text);
  return text;
}

}  // namespace sbump
