#include "client/experiment/ranking_view.h"

#include "client/experiment/experiment_view.h"
#include "client/printable.h"
#include "client/text_table.h"
#include "daemon/base/str_cat.h"
#include "daemon/estimate/words.h"

namespace sbump {
namespace {

// "1.29 [1.06, 1.58]".
std::string FiguresOf(const v1::GroupResult& result) {
  return StrCat(Fixed(result.criticality(), 2), " ", IntervalText(result));
}

void AddTable(const v1::Ranking& ranking, const Palette& palette, size_t width,
              std::vector<std::string>& lines) {
  TextTable table({{"GROUP", false, Clip::kTail},
                   {"VERDICT"},
                   {"CRITICALITY", true},
                   {"95% INTERVAL", true},
                   {"CALLS/UNIT", true},
                   {"GAIN AT MOST", true}});
  for (const v1::GroupResult& group : ranking.results())
    table.AddRow({{Printable(group.name())},
                  VerdictCell(group.verdict()),
                  {Fixed(group.criticality(), 2)},
                  {IntervalText(group)},
                  {Fixed(group.hits_per_unit(), 2)},
                  {GainText(group)}});
  for (std::string& line : table.Lines(palette, width)) lines.push_back(std::move(line));
}

void AddOpened(const v1::OpenedGroup& opened, std::vector<std::string>& lines) {
  const v1::GroupResult& group = opened.group();
  lines.push_back(StrCat(Printable(group.name()), ": ", VerdictText(group.verdict()), ", ",
                         FiguresOf(group), ", opened:"));
  std::string parts;
  for (const std::string& part : opened.parts())
    parts += StrCat(parts.empty() ? "" : ", ", Printable(part));
  lines.push_back(StrCat("  its parts: ", parts));
  if (!opened.words().empty()) lines.push_back(StrCat("  ", Printable(opened.words())));
}

// By its interval alone, which more blocks would make narrower.
bool IsUndecided(const v1::GroupResult& group) {
  return group.verdict() == v1::UNDECIDED && !group.lost_windows();
}

void AddReasonsOf(const v1::GroupResult& group, std::vector<std::string>& lines) {
  const std::string name = Printable(group.name());
  const bool is_odd = group.verdict() == v1::INVALID || group.lost_windows() ||
                      (group.verdict() == v1::MATTERS && group.criticality() < 0);
  if (is_odd && !group.why().empty()) lines.push_back(StrCat(name, ": ", Printable(group.why())));
  if (const std::string seldom = SeldomText(group); !seldom.empty())
    lines.push_back(StrCat("warning: ", name, ": ", seldom));
  if (group.verdict() != v1::MATTERS && !group.lost_windows()) return;
  for (const std::string& warning : group.warnings())
    lines.push_back(StrCat("warning: ", name, ": ", Printable(warning)));
}

// What the numbers do not say. Of those that are only undecided that is the same for all.
void AddReasons(const v1::Ranking& ranking, std::vector<std::string>& lines) {
  size_t undecided = 0;
  uint32_t most_blocks = 0;
  for (const v1::GroupResult& group : ranking.results()) {
    AddReasonsOf(group, lines);
    if (!IsUndecided(group)) continue;
    ++undecided;
    most_blocks = std::max(most_blocks, group.more_blocks());
  }
  if (undecided == 0) return;
  lines.push_back(StrCat("undecided: ", undecided, undecided == 1 ? " group" : " groups",
                         ", with intervals on both sides of the margin: more time, a greater dose ",
                         "(--top-share) or a wider --margin decides more",
                         most_blocks == 0 ? ""
                                          : StrCat("; up to ", most_blocks,
                                                   " more blocks of windows decide all whose need "
                                                   "is known")));
}

std::string ConfirmedLine(const v1::GroupResult& group) {
  if (group.verdict() == v1::INVALID)
    return StrCat("confirmation of ", Printable(group.name()), ": ", Printable(group.why()));
  return StrCat("confirmation of ", Printable(group.name()),
                ", alone and with a fresh seed: ", VerdictText(group.verdict()), ", ",
                FiguresOf(group), ": the number to quote");
}

}  // namespace

std::vector<std::string> RankingLines(const v1::Ranking& ranking, const Palette& palette,
                                      size_t width) {
  std::vector<std::string> lines;
  if (!ranking.invalid().empty())
    lines.push_back(StrCat("INVALID: ", Printable(ranking.invalid())));
  if (ranking.partial()) lines.push_back("it ended early: not all was tested that was to be");
  AddTable(ranking, palette, width, lines);
  AddReasons(ranking, lines);
  AddGainCaveat(ranking.results(), lines);
  for (const v1::OpenedGroup& opened : ranking.opened()) AddOpened(opened, lines);
  if (ranking.has_confirmed()) lines.push_back(ConfirmedLine(ranking.confirmed()));
  if (ranking.has_intrusion()) lines.push_back(IntrusionLineOf(ranking));
  for (const std::string& warning : ranking.warnings())
    lines.push_back(StrCat("warning: ", Printable(warning)));
  return lines;
}

}  // namespace sbump
