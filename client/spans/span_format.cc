#include "client/spans/span_format.h"

namespace sbump {
namespace {

struct Format {
  std::string_view name, ending;
  std::unique_ptr<SpanWriter> (*make)(OutputFile* file);
};

constexpr Format kFormats[] = {{"chrome", ".json", ChromeTrace},
                               {"jsonl", ".jsonl", SpanLines},
                               {"folded", ".folded", FoldedStacks},
                               {"protobuf", ".pb", SpanMessages}};

}  // namespace

std::string SpanFormatOf(std::string_view path) {
  for (const Format& format : kFormats)
    if (path.ends_with(format.ending)) return std::string(format.name);
  return "";
}

std::unique_ptr<SpanWriter> MakeSpanWriter(std::string_view name, OutputFile* file) {
  for (const Format& format : kFormats)
    if (format.name == name) return format.make(file);
  return nullptr;
}

}  // namespace sbump
