#include "client/modules_change.h"

#include "client/printable.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

using Modules = google::protobuf::RepeatedPtrField<v1::Module>;

void AppendLines(char sign, Tone tone, const Modules& modules, const Palette& palette,
                 std::string& text) {
  for (const v1::Module& module : modules) {
    const std::string line =
        StrCat(std::string(1, sign), " ", Printable(module.path()), "  ", Printable(module.type()));
    text += palette.Paint(tone, line) + "\n";
  }
}

}  // namespace

std::string ChangeText(const v1::ModulesChange& change, const Palette& palette) {
  std::string text;
  AppendLines('-', Tone::kBad, change.vanished(), palette, text);
  AppendLines('+', Tone::kGood, change.appeared(), palette, text);
  AppendLines('~', Tone::kWarn, change.changed(), palette, text);
  for (const std::string& warning : change.warnings())
    text += palette.Paint(Tone::kWarn, StrCat("warning: ", Printable(warning))) + "\n";
  return text;
}

}  // namespace sbump
