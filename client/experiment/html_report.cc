#include "client/experiment/html_report.h"

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
  const std::string title = StrCat("sbump: ", ProcessWords(report.file));
  return Element(
      "head", "",
      StrCat("<meta charset=\"utf-8\"/>\n", kPolicy,
             "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n",
             Element("title", "", Escaped(title)), Element("style", "", kReportStyle)));
}

std::string Titled(std::string_view title, const std::string& inner) {
  return inner.empty() ? "" : Element("h2", "", title) + inner;
}

}  // namespace

std::string HtmlReport(const Report& report) {
  const ReportedPhase& main = report.main;
  std::string body = HeadSection(report);
  body += Titled("Ranked by what matters", RankedHtml(main));
  body += ConfirmationSection(report);
  body += Titled("Group by group", GroupsSection(main));
  body += Titled("Every window", WindowsHtml(main) + WindowsTable(main));
  body += WorthSection(report) + PlanSection(report) + EnvironmentSection(report);
  return StrCat("<!DOCTYPE html>\n",
                Element("html", " lang=\"en\"",
                        HeadOf(report) + Element("body", "", Element("main", "", body))));
}

}  // namespace sbump
