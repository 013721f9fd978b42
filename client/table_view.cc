#include "client/table_view.h"

#include <algorithm>

#include "client/human_units.h"
#include "client/printable.h"
#include "client/summary.h"
#include "client/target_table.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

using Lines = std::vector<std::string>;

constexpr size_t kMostPatternLines = 12;
constexpr size_t kMostWarnings = 3;

Lines AttentionLines(const SessionModel& model, const Palette& palette, size_t columns) {
  PatternLinesOptions options;
  options.troubled_only = true;
  options.limit = kMostPatternLines / 2;
  options.max_width = columns;
  Lines lines = PatternLines(model.head().patterns(), palette, options);
  if (lines.size() > kMostPatternLines) lines.resize(kMostPatternLines);
  const int count = model.head().warnings_size();
  for (int i = std::max(0, count - static_cast<int>(kMostWarnings)); i < count; ++i) {
    const std::string text = StrCat("warning: ", Printable(model.head().warnings(i)));
    lines.push_back(palette.Paint(Tone::kWarn, ClipTo(text, columns, Clip::kTail)));
  }
  return lines;
}

// The heading may be wider than the screen: then it goes without colours and clipped.
std::string FittingHeading(const SessionModel& model, const Palette& palette, size_t columns) {
  const std::string bare = HeadingLine(model, Palette(false));
  if (DisplayWidth(bare) <= columns) return HeadingLine(model, palette);
  return ClipTo(bare, columns, Clip::kTail);
}

std::string ClockLine(const SessionModel& model, const Palette& palette, size_t columns,
                      std::string_view hint) {
  const v1::SessionUpdate& head = model.head();
  const std::string text = head.state() == v1::ATTACHING
                               ? Printable(head.progress())
                               : StrCat(HumanNs(model.active_ns()), " active; ", hint);
  return palette.Paint(Tone::kFaint, ClipTo(text, columns, Clip::kTail));
}

}  // namespace

std::vector<std::string> FrameLines(const SessionModel& model, const Palette& palette,
                                    TerminalSize size, std::string_view hint) {
  const size_t most = std::max<size_t>(size.rows, 4) - 1;
  Lines lines = {FittingHeading(model, palette, size.columns),
                 ClockLine(model, palette, size.columns, hint)};
  const Lines attention = AttentionLines(model, palette, size.columns);
  // The heading, the table's own title and the line that counts the rest come off.
  const size_t taken = lines.size() + attention.size() + 2;
  const auto rows = model.TopRows(most > taken ? most - taken : 1);
  if (!rows.empty()) {
    for (std::string& line :
         TargetTable(model, rows, RateKind::kLastInterval).Lines(palette, size.columns)) {
      lines.push_back(std::move(line));
    }
    if (rows.size() < model.target_count()) {
      const std::string rest =
          StrCat("... and ", HumanCount(model.target_count() - rows.size()), " more");
      lines.push_back(ClipTo(rest, size.columns, Clip::kTail));
    }
  }
  lines.insert(lines.end(), attention.begin(), attention.end());
  if (lines.size() > most) lines.resize(most);
  return lines;
}

std::string Frame::Redraw(const std::vector<std::string>& lines) {
  std::string text = "\r";
  if (drawn_ > 0) text += StrCat("\x1b[", drawn_, "A");
  for (const std::string& line : lines) text += StrCat(line, "\x1b[K\r\n");
  text += "\x1b[J";
  drawn_ = lines.size();
  return text;
}

std::string Frame::Erase() {
  std::string text = Redraw({});
  drawn_ = 0;
  return text;
}

}  // namespace sbump
