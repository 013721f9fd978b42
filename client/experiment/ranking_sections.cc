#include <map>

#include "client/experiment/html_text.h"
#include "client/experiment/report_plots.h"
#include "client/experiment/report_sections.h"
#include "daemon/base/str_cat.h"
#include "daemon/estimate/interval.h"
#include "daemon/estimate/words.h"

namespace sbump {
namespace {

constexpr size_t kMostNames = 40;

std::string FiguresOf(const v1::GroupResult& group) {
  std::string figures = Fixed(group.criticality(), 2);
  if (group.has_ci_low() && group.has_ci_high())
    figures += StrCat(" ", Words(Interval{.low = group.ci_low(), .high = group.ci_high()}));
  return figures;
}

std::string AnswerOf(const v1::GroupResult& group, const std::string& more) {
  const std::string name = Element("strong", "", Escaped(ShownName(group.name())));
  return Element("li", "",
                 name + VerdictHtml(group.verdict()) + Escaped(MeaningWords(group) + more));
}

std::string StageAnswers(const ReportedStage& stage) {
  std::string answers;
  for (const size_t i : stage.ranked) {
    const v1::GroupResult& group = stage.made.result.results(static_cast<int>(i));
    if (group.role() == v1::TESTED) answers += AnswerOf(group, "");
  }
  return answers;
}

std::string ConfirmedWords(const v1::Ranking& ranking, const v1::GroupResult& group) {
  if (!ranking.has_confirmed() || ranking.confirmed().name() != group.name() ||
      ranking.confirmed().verdict() == v1::INVALID)
    return "";
  return StrCat(" Once more, alone and with a fresh seed: ", FiguresOf(ranking.confirmed()), ".");
}

// Those of one verdict by their names only, where nothing more is to be said.
std::string OthersOf(const v1::Ranking& ranking, v1::Verdict verdict) {
  std::vector<std::string> names;
  for (const v1::GroupResult& group : ranking.results()) {
    if (group.verdict() == verdict && !group.lost_windows()) names.push_back(group.name());
  }
  if (names.empty()) return "";
  return Element("li", "", VerdictHtml(verdict) + Escaped(NamesWords(names, kMostNames)));
}

std::string RankingAnswers(const v1::Ranking& ranking) {
  std::string answers;
  for (const v1::GroupResult& group : ranking.results()) {
    if (group.verdict() == v1::MATTERS) answers += AnswerOf(group, ConfirmedWords(ranking, group));
  }
  for (const v1::GroupResult& group : ranking.results()) {
    if (group.verdict() != v1::MATTERS && group.lost_windows())
      answers += AnswerOf(group, StrCat(" But: ", group.why(), "."));
  }
  for (const v1::Verdict verdict : {v1::UNDECIDED, v1::DOES_NOT_MATTER, v1::INVALID})
    answers += OthersOf(ranking, verdict);
  return answers;
}

using ByName = std::map<std::string, const v1::GroupResult*>;

ByName AllOf(const v1::Ranking& ranking) {
  ByName all;
  for (const v1::GroupResult& group : ranking.results()) all[group.name()] = &group;
  for (const v1::OpenedGroup& opened : ranking.opened())
    all[opened.group().name()] = &opened.group();
  return all;
}

// The whole above its parts.
std::string OpenedCard(const v1::OpenedGroup& opened, const ByName& all, double margin) {
  const v1::GroupResult& group = opened.group();
  std::vector<RankedGroup> rows = {{.result = &group}};
  for (const std::string& part : opened.parts())
    rows.push_back({.result = all.at(part), .is_part = true});
  std::string card = Element(
      "h3", "", StrCat(Escaped(ShownName(group.name())), " ", VerdictHtml(group.verdict())));
  card += Paragraph(StrCat(
      "Its parts: ", NamesWords({opened.parts().begin(), opened.parts().end()}, kMostNames), "."));
  if (!opened.words().empty()) card += Paragraph(StrCat("Together ", opened.words(), "."));
  return Card("", card + RankedHtml(rows, margin));
}

}  // namespace

std::string AnswersOf(const Report& report) {
  const std::string answers =
      report.is_ranking ? RankingAnswers(report.ranking) : StageAnswers(report.stages[0]);
  return answers.empty() ? "" : Element("ul", " class=\"answers\"", answers);
}

std::string RankingSection(const Report& report) {
  std::vector<RankedGroup> rows;
  for (const v1::GroupResult& group : report.ranking.results()) rows.push_back({.result = &group});
  const std::string ranked = RankedHtml(rows, MarginOf(report));
  if (ranked.empty()) return "";
  return Titled("h2", "Ranked by what matters",
                ranked + RankedLegend("Groups whose bars overlap by much cannot be told apart.",
                                      MarginOf(report)));
}

std::string OpenedSection(const Report& report) {
  const ByName all = AllOf(report.ranking);
  std::string cards;
  for (const v1::OpenedGroup& opened : report.ranking.opened())
    cards += OpenedCard(opened, all, MarginOf(report));
  return Titled("h2", "Opened groups", cards);
}

std::string ConfirmationSection(const Report& report) {
  if (!report.ranking.has_confirmed()) return "";
  const std::vector<RankedGroup> rows = {{.result = &report.ranking.confirmed()}};
  return Titled("h2", "Confirmation",
                Paragraph("The best finding once more, alone and with a fresh seed: this is the "
                          "number to quote, as it was not chosen for being large.") +
                    RankedHtml(rows, MarginOf(report)) +
                    Paragraph(MeaningWords(report.ranking.confirmed())));
}

}  // namespace sbump
