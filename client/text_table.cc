#include "client/text_table.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace sbump {
namespace {

constexpr size_t kGap = 2;
constexpr size_t kNarrowest = 8;  // of a column that clips

size_t Total(const std::vector<size_t>& widths) {
  return std::accumulate(widths.begin(), widths.end(), size_t{0}) + kGap * (widths.size() - 1);
}

}  // namespace

std::vector<size_t> TextTable::Widths(size_t max_width) const {
  std::vector<size_t> widths;
  for (const Column& column : columns_) widths.push_back(DisplayWidth(column.title));
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], DisplayWidth(row[i].text));
    }
  }
  // The widest column that may clip gives way, one column at a time.
  while (Total(widths) > max_width) {
    std::optional<size_t> widest;
    for (size_t i = 0; i < widths.size(); ++i) {
      if (columns_[i].clip == Clip::kNever || widths[i] <= kNarrowest) continue;
      if (!widest || widths[i] > widths[*widest]) widest = i;
    }
    if (!widest) break;
    --widths[*widest];
  }
  return widths;
}

std::string TextTable::Line(const std::vector<Cell>& cells, const std::vector<size_t>& widths,
                            const Palette& palette, size_t max_width) const {
  std::string line;
  size_t used = 0, owed = 0;  // spaces are paid when something follows them
  for (size_t i = 0; i < cells.size(); ++i) {
    std::string text = ClipTo(cells[i].text, widths[i], columns_[i].clip);
    size_t width = DisplayWidth(text);
    const size_t pad = widths[i] > width ? widths[i] - width : 0;
    if (columns_[i].right) owed += pad;
    if (!text.empty()) {
      if (used + owed + 1 > max_width) break;
      text = ClipTo(text, max_width - used - owed, Clip::kTail);
      width = DisplayWidth(text);
      line.append(owed, ' ').append(palette.Paint(cells[i].tone, text));
      used += owed + width;
      owed = 0;
    }
    owed += kGap + (columns_[i].right ? 0 : pad);
  }
  return line;
}

std::vector<std::string> TextTable::Lines(const Palette& palette, size_t max_width) const {
  const std::vector<size_t> widths = Widths(max_width);
  std::vector<Cell> titles;
  for (const Column& column : columns_) titles.push_back({column.title, Tone::kStrong});
  std::vector<std::string> lines = {Line(titles, widths, palette, max_width)};
  for (const auto& row : rows_) lines.push_back(Line(row, widths, palette, max_width));
  return lines;
}

}  // namespace sbump
