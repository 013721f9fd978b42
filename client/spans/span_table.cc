#include <algorithm>
#include <map>
#include <vector>

#include "client/human_units.h"
#include "client/printable.h"
#include "client/spans/span_writer.h"
#include "client/text_table.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

// Of a module's calls the durations of so many are kept for percentiles: of its last ones.
constexpr size_t kMostDurations = 10'000;

struct Row {
  std::string path, type;
  uint64_t calls = 0, total_ns = 0, self_ns = 0, delay_ns = 0, raised = 0;
  std::vector<uint64_t> durations_ns;

  // The nearest rank.
  uint64_t Percentile(double fraction) {
    const auto rank = static_cast<size_t>(fraction * static_cast<double>(durations_ns.size()));
    const size_t at = std::min(rank, durations_ns.size() - 1);
    std::ranges::nth_element(durations_ns, durations_ns.begin() + static_cast<std::ptrdiff_t>(at));
    return durations_ns[at];
  }
};

class Table : public SpanWriter {
 public:
  Table(OutputFile* file, Palette palette, size_t max_width)
      : file_(file), palette_(palette), max_width_(max_width) {}

  void Write(const SpanNode& tree) override {
    ++trees_;
    ForEachSpan(tree, [this](const SpanNode& node) { Count(node); });
  }
  void Finish(uint64_t) override {
    TextTable table({{.title = "MODULE"},
                     {.title = "TYPE"},
                     {.title = "CALLS", .right = true},
                     {.title = "TOTAL", .right = true},
                     {.title = "SELF", .right = true},
                     {.title = "P50", .right = true},
                     {.title = "P99", .right = true},
                     {.title = "DELAYED BY", .right = true}});
    for (Row& row : rows_) table.AddRow(CellsOf(row));
    std::string text;
    if (!table.empty()) {
      for (const std::string& line : table.Lines(palette_, max_width_)) text += line + "\n";
      text += "\n";
    }
    text += StrCat(HumanCount(trees_), trees_ == 1 ? " outermost call, " : " outermost calls, ",
                   HumanCount(spans_), spans_ == 1 ? " span" : " spans");
    file_->Write(text + "\n");
  }

 private:
  void Count(const SpanNode& node) {
    ++spans_;
    const auto [at, is_new] = row_by_path_.emplace(node.module.path(), rows_.size());
    if (is_new) rows_.push_back({.path = node.module.path(), .type = node.module.type()});
    Row& row = rows_[at->second];
    const uint64_t duration_ns = node.span.end_ns() - node.span.begin_ns();
    if (row.durations_ns.size() < kMostDurations)
      row.durations_ns.push_back(duration_ns);
    else
      row.durations_ns[row.calls % kMostDurations] = duration_ns;
    ++row.calls;
    row.total_ns += duration_ns;
    row.self_ns += node.span.self_ns();
    row.delay_ns += node.span.delay_ns();
    row.raised += node.span.raised();
  }
  static std::vector<Cell> CellsOf(Row& row) {
    std::string calls = HumanCount(row.calls);
    if (row.raised != 0) calls += StrCat(" (", HumanCount(row.raised), " raised)");
    return {{Printable(row.path), Tone::kStrong},
            {Printable(row.type)},
            {std::move(calls)},
            {HumanNs(row.total_ns)},
            {HumanNs(row.self_ns)},
            {HumanNs(row.Percentile(0.5))},
            {HumanNs(row.Percentile(0.99))},
            {row.delay_ns == 0 ? "" : HumanNs(row.delay_ns), Tone::kWarn}};
  }

  OutputFile* file_;
  const Palette palette_;
  const size_t max_width_;
  uint64_t trees_ = 0, spans_ = 0;
  std::vector<Row> rows_;  // in the order in which they were first seen
  std::map<std::string, size_t> row_by_path_;
};

}  // namespace

std::unique_ptr<SpanWriter> SpanTable(OutputFile* file, Palette palette, size_t max_width) {
  return std::make_unique<Table>(file, palette, max_width);
}

}  // namespace sbump
