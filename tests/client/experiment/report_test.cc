#include "client/experiment/html_report.h"
#include "client/experiment/html_text.h"
#include "client/experiment/report_model.h"
#include "client/experiment/terminal_plots.h"
#include "client/printable.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/experiment/real_run.h"

namespace sbump {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Report RealReport() { return *MakeReport(RealRun()); }

std::string Joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

TEST(ReportModel, RanksGroupsAndPutsControlsLast) {
  const Report report = RealReport();
  EXPECT_THAT(report.main.ranked, ElementsAre(0, 1, 2));
  EXPECT_THAT(report.notes, IsEmpty());
  EXPECT_EQ(ProcessWords(report.file), "python3.11 (pid 21452)");
  EXPECT_EQ(MetricWords(report.file.experiment.metric()), "calls:*/service.py:step");
  EXPECT_THAT(MeaningWords(report.main.made.estimate.groups[0]), HasSubstr("at most 1.29 D"));
}

TEST(ReportModel, SaysWhereTheDaemonToldSomethingElse) {
  RunFile file = RealRun();
  file.main->told->mutable_results(0)->set_verdict(v1::DOES_NOT_MATTER);
  EXPECT_THAT(MakeReport(std::move(file))->notes, ElementsAre(HasSubstr("was another one")));
}

TEST(ReportModel, WithoutAPlanThereIsNothing) {
  RunFile file = RealRun();
  file.main.reset();
  EXPECT_TRUE(absl::IsFailedPrecondition(MakeReport(std::move(file)).status()));
}

TEST(TerminalPlots, FitAnyWidth) {
  const Report report = RealReport();
  for (const bool unicode : {false, true}) {
    for (size_t width = 0; width < 140; ++width) {
      const PlotStyle style = {.width = width, .unicode = unicode};
      for (const std::string& line : CriticalityPlot(report.main, style))
        EXPECT_LE(DisplayWidth(line), width);
      for (const std::string& line : DosePlot(report.main, 1, style))
        EXPECT_LE(DisplayWidth(line), width);
    }
  }
}

TEST(TerminalPlots, ShowEstimatesAndIntervals) {
  const Report report = RealReport();
  const std::string plot = Joined(CriticalityPlot(report.main, {.width = 80}));
  EXPECT_THAT(plot, HasSubstr("critical                   1.29"));
  EXPECT_THAT(plot, HasSubstr("[--"));
  EXPECT_THAT(plot, HasSubstr("o"));
  EXPECT_THAT(Joined(CriticalityPlot(report.main, {.width = 80, .unicode = true})),
              HasSubstr("├─"));
  const std::string doses = Joined(DosePlot(report.main, 0, {.width = 80}));
  EXPECT_THAT(doses, HasSubstr("+633.22 us"));
  EXPECT_THAT(doses, HasSubstr("+38.6 %"));
}

TEST(TerminalPlots, TheLocaleDecidesWhatIsDrawnWith) {
  const auto with = [](const char* lc_all, const char* lang) {
    return LocaleHasUtf8([=](const char* name) -> const char* {
      if (std::string_view(name) == "LC_ALL") return lc_all;
      return std::string_view(name) == "LANG" ? lang : nullptr;
    });
  };
  EXPECT_TRUE(with(nullptr, "de_DE.UTF-8"));
  EXPECT_TRUE(with("", "C.utf8"));
  EXPECT_FALSE(with("C", "en_US.UTF-8"));
  EXPECT_FALSE(with(nullptr, nullptr));
}

TEST(HtmlText, LeavesNothingThatIsMarkup) {
  EXPECT_EQ(Escaped("<a href='x'>&\"</a>"), "&lt;a href=&#39;x&#39;&gt;&amp;&quot;&lt;/a&gt;");
  EXPECT_EQ(Escaped("\x1b[31m\n"), "\\x1b[31m\\n");
  EXPECT_EQ(Escaped("a\xef\xbf\xbf"
                    "b"),
            "a\xef\xbf\xbd"
            "b");
  EXPECT_EQ(Number(12.5), "12.5");
  EXPECT_EQ(Number(100), "100");
  EXPECT_EQ(Number(-0.0001), "0");
}

TEST(HtmlReport, HasItAll) {
  const std::string page = HtmlReport(RealReport());
  for (const char* part :
       {"What decides the pace of python3.11", "MATTERS", "at most 1.29 D", "1.29 [1.06, 1.58]",
        "All 113 windows", "seed", "convex", "--seed 1453318178",
        "sbumpctl sweep --pid 21452 --group &#39;critical=*/service.py:critical&#39;",
        "AMD EPYC 7B13", "Python 3.11.7", "role=\"img\"", "prefers-color-scheme: dark"})
    EXPECT_THAT(page, HasSubstr(part));
  for (const char* part :
       {"<script", " src=", " href=", "url(", "@import", "http://", "https://", "nan", "inf%"})
    EXPECT_THAT(page, Not(HasSubstr(part)));
}

TEST(HtmlReport, AConfirmationHasASectionOfItsOwn) {
  EXPECT_THAT(HtmlReport(RealReport()), Not(HasSubstr("Confirmation")));
  RunFile file = RealRun();
  file.confirmation = *file.main;
  file.confirmation->plan.set_phase(v1::CONFIRMATION);
  file.confirmation->plan.set_seed(8);
  const Report report = *MakeReport(std::move(file));
  ASSERT_TRUE(report.confirmation);
  EXPECT_EQ(report.confirmation->made.result.phase(), v1::CONFIRMATION);
  EXPECT_NE(report.confirmation->made.result.results(1).p(),
            report.main.made.result.results(1).p());
  EXPECT_THAT(HtmlReport(report), HasSubstr("Confirmation"));
}

TEST(HtmlReport, AnInvalidRunSaysSoFirst) {
  RunFile file = RealRun();
  file.main->windows[3].set_arm(99);
  const std::string page = HtmlReport(*MakeReport(std::move(file)));
  EXPECT_THAT(page, HasSubstr("Nothing can be concluded from this run"));
  EXPECT_THAT(page, HasSubstr("arm 99"));
}

}  // namespace
}  // namespace sbump
