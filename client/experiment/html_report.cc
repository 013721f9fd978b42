#include "client/experiment/html_report.h"

#include <cctype>

#include "client/experiment/html_text.h"
#include "client/experiment/report_plots.h"
#include "client/experiment/report_sections.h"
#include "client/experiment/report_style.h"
#include "daemon/base/str_cat.h"

namespace sbump {
namespace {

// Nothing may be loaded or run, should a name get through as markup after all.
constexpr std::string_view kPolicy =
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
    "'unsafe-inline'\"/>\n";

std::string HeadOf(const Report& report) {
  const std::string title = StrCat("sbump: ", ProcessWords(report));
  return Element(
      "head", "",
      StrCat("<meta charset=\"utf-8\"/>\n", kPolicy,
             "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n",
             Element("title", "", Escaped(title)), Element("style", "", kReportStyle)));
}

std::string Worth(const std::string& inner) { return Titled("h2", "What this is worth", inner); }

// Ranked groups, which may be none.
std::string RankedWith(const std::string& legend, const std::string& ranked) {
  return ranked.empty() ? "" : ranked + legend;
}

std::string OneExperiment(const Report& report) {
  const ReportedStage& stage = report.stages[0];
  return Titled("h2", "Ranked by what matters",
                RankedWith(RankedLegend(kSameRank, MarginOf(stage)), RankedHtml(stage))) +
         Titled("h2", "Group by group", GroupsSection(stage, kMostCards)) +
         Titled("h2", "Every window", WindowsSection(stage, kMostRows)) +
         Worth(WorthSection(stage) + CaveatsSection()) + Titled("h2", "Plan", PlanSection(stage));
}

std::string Capitalized(std::string words) {
  words[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(words[0])));
  return words;
}

// One of `count`.
std::string ExperimentSection(const ReportedStage& stage, size_t count) {
  const std::string& invalid = stage.made.result.invalid();
  std::string alarm;
  if (!invalid.empty())
    alarm = Card(" alarm", Element("h3", "", "Nothing can be concluded from this experiment") +
                               Paragraph(invalid));
  return Titled("h2", Capitalized(StageWords(stage)),
                alarm + RankedWith(Paragraph(kSameRank, " class=\"faint\""), RankedHtml(stage)) +
                    GroupsSection(stage, kMostCards / count) +
                    Titled("h3", "Every window", WindowsSection(stage, kMostRows / count)) +
                    WorthSection(stage) + Titled("h3", "Plan", PlanSection(stage)));
}

std::string SeveralExperiments(const Report& report) {
  std::string body = RankingSection(report) + OpenedSection(report) + ConfirmationSection(report);
  for (const ReportedStage& stage : report.stages)
    body += ExperimentSection(stage, report.stages.size());
  return body + Worth(CaveatsSection());
}

}  // namespace

std::string HtmlReport(const Report& report) {
  const std::string body =
      HeadSection(report) +
      (report.is_ranking ? SeveralExperiments(report) : OneExperiment(report)) +
      EnvironmentSection(report);
  return StrCat("<!DOCTYPE html>\n",
                Element("html", " lang=\"en\"",
                        HeadOf(report) + Element("body", "", Element("main", "", body))));
}

}  // namespace sbump
