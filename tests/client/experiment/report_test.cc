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

using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::vector<std::string> NamesOf(const v1::Ranking& ranking) {
  std::vector<std::string> names;
  for (const v1::GroupResult& group : ranking.results()) names.push_back(group.name());
  return names;
}

Report RealReport() { return *MakeReport(RealRun()); }

std::string Joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

TEST(ReportModel, RanksGroupsAndPutsControlsLast) {
  const Report report = RealReport();
  EXPECT_THAT(report.stages[0].ranked, ElementsAre(0, 1, 2));
  EXPECT_THAT(report.notes, IsEmpty());
  EXPECT_EQ(ProcessWords(report), "python3.11 (pid 21452)");
  EXPECT_EQ(MetricWords(report.stages[0].recorded.experiment.metric()), "calls:*/service.py:step");
  EXPECT_THAT(MeaningWords(report.stages[0].made.result.results(0)),
              HasSubstr("at most 1.59 D (by the interval's upper end)"));
}

TEST(ReportModel, SaysWhereTheDaemonToldSomethingElse) {
  RunFile file = RealRun();
  file.stages[0].told->mutable_results(0)->set_verdict(v1::DOES_NOT_MATTER);
  EXPECT_THAT(MakeReport(std::move(file))->notes, ElementsAre(HasSubstr("was another one")));
}

TEST(ReportModel, WithoutAPlanThereIsNothing) {
  RunFile file = RealRun();
  file.stages[0].plan.reset();
  EXPECT_TRUE(absl::IsFailedPrecondition(MakeReport(std::move(file)).status()));
}

TEST(ReportModel, SeveralExperimentsAreRanked) {
  const Report report = *MakeReport(RankedRun());
  EXPECT_THAT(report.notes, IsEmpty());
  EXPECT_TRUE(report.is_ranking);
  ASSERT_EQ(report.stages.size(), 3u);
  EXPECT_EQ(StageWords(report.stages[0]), "experiment 1: app.engine and app.log");
  EXPECT_EQ(StageWords(report.stages[1]), "experiment 2: parts of app.engine");
  EXPECT_EQ(StageWords(report.stages[2]),
            "experiment 3: confirmation of app.engine.decode, alone and with a fresh seed");
  const v1::Ranking& ranking = report.ranking;
  EXPECT_THAT(NamesOf(ranking), ElementsAre("app.engine.decode", "app.log", "app.engine.trace"));
  ASSERT_EQ(ranking.opened_size(), 1);
  EXPECT_EQ(ranking.opened(0).group().name(), "app.engine");
  EXPECT_EQ(ranking.confirmed().name(), "app.engine.decode");
  EXPECT_FALSE(ranking.partial());
  EXPECT_EQ(InvalidOf(report), "");
}

TEST(ReportModel, WhatHasTheSameWindowsHasTheSameDigits) {
  const v1::GroupResult one = RealReport().stages[0].made.result.results(0);
  const v1::Ranking ranking = MakeReport(RankedRun())->ranking;
  for (const v1::GroupResult* group :
       {&ranking.opened(0).group(), &ranking.results(0), &ranking.confirmed()}) {
    EXPECT_EQ(group->criticality(), one.criticality());
    EXPECT_EQ(group->ci_low(), one.ci_low());
    EXPECT_EQ(group->ci_high(), one.ci_high());
    EXPECT_EQ(group->verdict(), v1::MATTERS);
  }
}

TEST(ReportModel, AnExperimentWithoutAPlanIsSaidAndPassedOver) {
  RunFile file = RankedRun();
  file.stages[1].plan.reset();
  file.stages[1].windows.clear();
  const Report report = *MakeReport(std::move(file));
  ASSERT_EQ(report.stages.size(), 2u);
  EXPECT_EQ(report.stages[1].number, 3u);
  EXPECT_TRUE(report.ranking.partial());
  EXPECT_THAT(NamesOf(report.ranking), ElementsAre("app.engine", "app.log"));
}

TEST(ReportModel, AnInvalidExperimentIsOneOfSeveral) {
  RunFile file = RankedRun();
  file.stages[1].windows[0].set_arm(77);
  EXPECT_EQ(InvalidOf(*MakeReport(file)), "");
  file.stages[0].windows[0].set_arm(78);
  EXPECT_THAT(InvalidOf(*MakeReport(file)), HasSubstr("arm 78"));
}

TEST(ReportModel, ExperimentsOfAnotherMetricAreToldApart) {
  RunFile file = RankedRun();
  file.stages[1].experiment.mutable_metric()->mutable_calls()->set_pattern("*:other");
  EXPECT_THAT(
      MakeReport(std::move(file))->notes,
      ElementsAre(HasSubstr("experiment 2: its unit of work is another one (calls:*:other)")));
}

// Why nothing more was tested is in no experiment.
TEST(ReportModel, WhatWasToldOfARankingIsKept) {
  RunFile file = RankedRun();
  const size_t own = MakeReport(file)->ranking.warnings_size();
  file.ranking.emplace().set_partial(true);
  file.ranking->add_warnings("the budget is over");
  file.ranking->add_warnings("the budget is over");
  const Report report = *MakeReport(file);
  EXPECT_TRUE(report.ranking.partial());
  ASSERT_EQ(report.ranking.warnings_size(), own + 1);
  EXPECT_EQ(report.ranking.warnings(static_cast<int>(own)), "the budget is over");
}

TEST(ReportModel, ARankingOfOneExperimentIsOne) {
  RunFile file = RealRun();
  EXPECT_FALSE(MakeReport(file)->is_ranking);
  file.ranking.emplace();
  EXPECT_TRUE(MakeReport(file)->is_ranking);
}

// As where too many groups were to be tested in the time that there was.
TEST(ReportModel, AnExperimentThatWasMadeUpForIsNotMissed) {
  RunFile file = RankedRun();
  ASSERT_FALSE(MakeReport(file)->ranking.partial());
  RunStage refused = {.experiment = file.stages[0].experiment};
  file.stages.insert(file.stages.begin(), refused);
  EXPECT_FALSE(MakeReport(file)->ranking.partial());
  file.stages.push_back(refused);
  EXPECT_TRUE(MakeReport(file)->ranking.partial());
}

TEST(ReportModel, FewNamesAreNamedAndManyAreCounted) {
  EXPECT_EQ(NamesWords({"a"}, 2), "a");
  EXPECT_EQ(NamesWords({"a", "b\n"}, 2), "a and b\\n");
  EXPECT_EQ(NamesWords({"a", "b", "c"}, 2), "a, b and c");
  EXPECT_EQ(NamesWords({"a", "b", "c", "d"}, 2), "a, b and 2 more");
}

TEST(TerminalPlots, FitAnyWidth) {
  const Report report = RealReport();
  for (const bool unicode : {false, true}) {
    for (size_t width = 0; width < 140; ++width) {
      const PlotStyle style = {.width = width, .unicode = unicode};
      for (const std::string& line : CriticalityPlot(report.stages[0], style))
        EXPECT_LE(DisplayWidth(line), width);
      for (const std::string& line : DosePlot(report.stages[0], 1, style))
        EXPECT_LE(DisplayWidth(line), width);
    }
  }
}

TEST(TerminalPlots, ShowEstimatesAndIntervals) {
  const Report report = RealReport();
  const std::string plot = Joined(CriticalityPlot(report.stages[0], {.width = 80}));
  EXPECT_THAT(plot, HasSubstr("critical                   1.27"));
  EXPECT_THAT(plot, HasSubstr("[--"));
  EXPECT_THAT(plot, HasSubstr("o"));
  EXPECT_THAT(Joined(CriticalityPlot(report.stages[0], {.width = 80, .unicode = true})),
              HasSubstr("├─"));
  const std::string doses = Joined(DosePlot(report.stages[0], 0, {.width = 80}));
  EXPECT_THAT(doses, HasSubstr("+633.22 us"));
  EXPECT_THAT(doses, HasSubstr("+38.5 %"));
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
       {"What decides the pace of python3.11", "MATTERS", "at most 1.59 D", "1.27 [1.05, 1.59]",
        "All 113 windows", "seed", "convex", "--seed 1453318178",
        "sbumpctl sweep --pid 21452 --group &#39;critical=*/service.py:critical&#39;",
        "AMD EPYC 7B13", "Python 3.11.7", "role=\"img\"", "prefers-color-scheme: dark"})
    EXPECT_THAT(page, HasSubstr(part));
  for (const char* part :
       {"<script", " src=", " href=", "url(", "@import", "http://", "https://", "nan", "inf%"})
    EXPECT_THAT(page, Not(HasSubstr(part)));
}

TEST(HtmlReport, TellsOfStealTimeOnlyWhereThereWasSome) {
  RunFile run = RealRun();
  EXPECT_THAT(HtmlReport(*MakeReport(run)), Not(HasSubstr("steal time")));
  for (v1::RecordedWindow& window : run.stages[0].windows) {
    window.set_wanted_ns(1'000'000'000);
    window.set_stolen_ns(10'000'000);
  }
  const std::string page = HtmlReport(*MakeReport(std::move(run)));
  EXPECT_THAT(page, HasSubstr("steal time"));
  EXPECT_THAT(page, HasSubstr("1.0 %"));
  EXPECT_THAT(page, Not(HasSubstr("steal time was")));  // no warning of so little
}

// By its name alone it would look as if more time decided it.
TEST(HtmlReport, SaysWhoseWindowsWereLost) {
  Report report = *MakeReport(RankedRun());
  v1::GroupResult& group = *report.ranking.mutable_results(1);
  group.set_verdict(v1::UNDECIDED);
  group.set_why("windows were lost");
  EXPECT_THAT(HtmlReport(report), Not(HasSubstr("But: windows were lost.")));
  group.set_lost_windows(true);
  EXPECT_THAT(HtmlReport(report), HasSubstr("But: windows were lost."));
}

TEST(HtmlReport, WhatWasLeftBehindIsNotDenied) {
  RunFile run = RealRun();
  v1::DetachProof& proof = *run.stages[0].end->mutable_detach_proof();
  EXPECT_THAT(HtmlReport(*MakeReport(run)), HasSubstr("nothing, which was verified"));
  proof.set_fields_left(3);
  EXPECT_THAT(HtmlReport(*MakeReport(run)), HasSubstr("3 fields left"));
}

TEST(HtmlReport, SeveralExperimentsAreAllThere) {
  const std::string page = HtmlReport(*MakeReport(RankedRun()));
  for (const char* part :
       {"What decides the pace of python3.11", "Once more, alone and with a fresh seed: 1.27",
        "Ranked by what matters", "<h2>Opened groups</h2>", "Its parts: app.engine.decode",
        "Together the parts come to", "<h2>Confirmation</h2>",
        "<h2>Experiment 1: app.engine and app.log</h2>",
        "<h2>Experiment 2: parts of app.engine</h2>",
        "<h2>Experiment 3: confirmation of app.engine.decode, alone and with a fresh seed</h2>",
        "All 80 windows", "ended (experiment 3)", "sbumpctl rank"})
    EXPECT_THAT(page, HasSubstr(part));
  for (const char* part :
       {"<script", " src=", " href=", "url(", "http://", "https://", "nan", "inf%", "--seed"})
    EXPECT_THAT(page, Not(HasSubstr(part)));
  EXPECT_THAT(HtmlReport(RealReport()), Not(HasSubstr("Confirmation")));
}

TEST(HtmlReport, TheSeedToGiveIsTheFirstOnes) {
  RunFile ranked = RankedRun(), again = RealRun();
  for (size_t i = 0; i < ranked.stages.size(); ++i) ranked.stages[i].experiment.set_seed(70 + i);
  EXPECT_THAT(HtmlReport(*MakeReport(std::move(ranked))), HasSubstr("With --seed 70 "));
  again.header.add_command("--seed=1453318178");
  EXPECT_THAT(HtmlReport(*MakeReport(std::move(again))), Not(HasSubstr("With --seed")));
}

TEST(HtmlReport, SaysWhatWasSlowedAndWhatEachWindowWas) {
  RunFile run = RealRun();
  run.stages[0].plan->mutable_groups(0)->set_targets(12);
  run.header.set_daemon_version("9.8.7");
  const std::string page = HtmlReport(*MakeReport(std::move(run)));
  EXPECT_THAT(page, HasSubstr("<td>critical</td><td>*/service.py:critical</td><td>12</td>"));
  EXPECT_THAT(page, HasSubstr("<td>no delay</td>"));
  EXPECT_THAT(page, ContainsRegex("<td>[0-9.]+ us at each call of critical</td>"));
  EXPECT_THAT(page, HasSubstr("<th scope=\"row\">sbumpd</th><td>9.8.7</td>"));
}

TEST(ReportModel, AnOtherAnswerIsTheDaemonsOfThen) {
  RunFile run = RealRun();
  run.stages[0].told->mutable_results(0)->set_criticality(0.5);
  run.header.set_version("1.0.0");
  run.header.set_daemon_version("2.0.0");
  EXPECT_THAT(MakeReport(std::move(run))->notes,
              ElementsAre(HasSubstr("its version, of then (2.0.0), computes otherwise")));
}

// Of a control that was never delayed there is nothing to draw, and what comes after it stays what
// it is.
TEST(ReportModel, WhatWasNotTriedMovesNothing) {
  RunFile run = RealRun();
  v1::ExperimentPlan& plan = *run.stages[0].plan;
  v1::ExperimentPlan::Group idle = plan.groups(0);
  idle.set_name("idle");
  idle.set_role(v1::NEGATIVE_CONTROL);
  *plan.add_groups() = idle;
  plan.mutable_groups()->SwapElements(0, plan.groups_size() - 1);  // idle, hidden, metric, critical
  for (v1::Arm& arm : *plan.mutable_arms()) {
    arm.add_delay_ns(0);
    arm.mutable_delay_ns()->SwapElements(0, arm.delay_ns_size() - 1);
  }
  for (v1::RecordedWindow& window : run.stages[0].windows) {
    window.add_groups();
    window.mutable_groups()->SwapElements(0, window.groups_size() - 1);
  }
  const Report moved = *MakeReport(std::move(run)), real = RealReport();
  const ReportedStage &after = moved.stages[0], &before = real.stages[0];
  ASSERT_EQ(after.made.estimate.groups.size(), 3u) << after.made.estimate.invalid;
  for (size_t i = 0; i < 3; ++i) {
    const std::string& name = after.made.estimate.groups[i].name;
    size_t was = 0;
    while (before.made.estimate.groups[was].name != name) ++was;
    EXPECT_EQ(after.responses[i].points.size(), before.responses[was].points.size());
    EXPECT_EQ(after.responses[i].points.back().x_ns, before.responses[was].points.back().x_ns);
  }
}

size_t CountOf(const std::string& text, const std::string& what) {
  size_t count = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

TEST(HtmlReport, ManyExperimentsShareWhatAPageHolds) {
  RunFile file = RankedRun();
  while (file.stages.size() < kMostRunStages) file.stages.push_back(file.stages[1]);
  const std::string page = HtmlReport(*MakeReport(std::move(file)));
  EXPECT_EQ(CountOf(page, "<h3>Every window</h3>"), kMostRunStages);
  EXPECT_THAT(page, HasSubstr("The first 62 of them:"));
  EXPECT_LT(page.size(), 8'000'000u);
}

TEST(HtmlReport, AnInvalidExperimentSaysSoWhereItIs) {
  RunFile file = RankedRun();
  file.stages[1].windows[3].set_arm(99);
  const std::string page = HtmlReport(*MakeReport(std::move(file)));
  EXPECT_THAT(page, HasSubstr("Nothing can be concluded from this experiment"));
  EXPECT_THAT(page, Not(HasSubstr("Nothing can be concluded from this run")));
}

TEST(HtmlReport, AnInvalidRunSaysSoFirst) {
  RunFile file = RealRun();
  file.stages[0].windows[3].set_arm(99);
  const std::string page = HtmlReport(*MakeReport(std::move(file)));
  EXPECT_THAT(page, HasSubstr("Nothing can be concluded from this run"));
  EXPECT_THAT(page, HasSubstr("arm 99"));
}

TEST(HtmlReport, SaysWhereNotEachCallIsDelayed) {
  RunFile file = RealRun();
  for (v1::Arm& arm : *file.stages[0].plan->mutable_arms()) {
    arm.clear_every();
    for (int i = 0; i < arm.delay_ns_size(); ++i) arm.add_every(50);
  }
  const std::string page = HtmlReport(*MakeReport(std::move(file)));
  EXPECT_THAT(page, HasSubstr(" at one of 50 calls of critical"));
  EXPECT_THAT(page, Not(HasSubstr(" at each call of ")));
}

}  // namespace
}  // namespace sbump
