#include "client/experiment/coz_export.h"

#include <cstdlib>
#include <map>
#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/experiment/real_run.h"

namespace sbump {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// What Coz's viewer makes of a profile, by the rules of its parser (viewer/ts/profile.ts): fields
// are split at tabs, those with `=` are named; experiments of one speedup are pooled; a point is
// shown against that of speedup 0, where it has at least five steps, and lies from 0 to 1.
struct Pool {
  double delta = 0, duration = 0;
};
using Curves = std::map<std::string, std::map<double, Pool>>;

std::map<std::string, std::string> FieldsOf(const std::string& line) {
  std::map<std::string, std::string> fields;
  std::stringstream text(line);
  for (std::string field; std::getline(text, field, '\t');) {
    const size_t equals = field.find('=');
    if (equals == std::string::npos)
      fields["type"] = field;
    else
      fields[field.substr(0, equals)] = field.substr(equals + 1);
  }
  return fields;
}

Curves Viewed(const std::string& profile) {
  Curves curves;
  std::map<std::string, std::string> experiment;
  std::stringstream text(profile);
  for (std::string line; std::getline(text, line);) {
    auto fields = FieldsOf(line);
    const std::string type = fields["type"];
    if (type == "experiment") {
      experiment = fields;
    } else if (type == "throughput-point") {
      Pool& pool = curves[experiment["selected"]][std::atof(experiment["speedup"].c_str())];
      pool.delta += std::atof(fields["delta"].c_str());
      pool.duration += std::atof(experiment["duration"].c_str());
    } else {
      EXPECT_TRUE(type == "startup" || type == "runtime") << "an invalid line: " << line;
    }
  }
  return curves;
}

TEST(CozExport, TheViewerSeesTheSlopeThatWasMeasured) {
  const Report report = *MakeReport(RealRun());
  const std::string profile = CozProfile(report);
  EXPECT_THAT(profile, StartsWith("startup\ttime="));
  const Curves curves = Viewed(profile);
  ASSERT_EQ(curves.size(), 3u);
  for (size_t i = 0; i < 2; ++i) {
    const GroupEstimate& group = report.stages[0].made.estimate.groups[i];
    const auto& curve = curves.at("/" + group.name);
    ASSERT_EQ(curve.count(0), 1u);
    EXPECT_GE(curve.size(), 10u) << "the viewer shows curves of ten points and more, unless told";
    const double baseline = curve.at(0).duration / curve.at(0).delta;
    double sum = 0, weight = 0;
    for (const auto& [speedup, pool] : curve) {
      EXPECT_GE(speedup, 0);
      EXPECT_LE(speedup, 1);
      EXPECT_GE(pool.delta, 5);
      sum += speedup * (baseline - pool.duration / pool.delta) / baseline;
      weight += speedup * speedup;
    }
    EXPECT_NEAR(sum / weight, group.criticality, 0.12) << group.name;
  }
}

TEST(CozExport, NamesNeitherEndFieldsNorLines) {
  RunFile file = RealRun();
  file.stages[0].plan->mutable_groups(0)->set_name("a\tb\nc\tspeedup=9");
  const std::string profile = CozProfile(*MakeReport(std::move(file)));
  EXPECT_THAT(profile, HasSubstr("selected=/a\\tb\\nc\\tspeedup=9\t"));
  EXPECT_THAT(profile, Not(HasSubstr("\tspeedup=9")));
}

TEST(CozExport, GroupsOfAllExperimentsAreThereOnce) {
  const Curves curves = Viewed(CozProfile(*MakeReport(RankedRun())));
  const Curves of_one = Viewed(CozProfile(*MakeReport(RealRun())));
  EXPECT_EQ(curves.size(), 5u);  // two, two of their parts, and the control
  for (const char* name : {"/app.engine", "/app.engine.decode"})
    EXPECT_EQ(curves.at(name).size(), of_one.at("/critical").size()) << name;
}

TEST(CozExport, WithoutDosesThereIsNoProfile) {
  RunFile file = RealRun();
  file.stages[0].windows.clear();
  EXPECT_EQ(CozProfile(*MakeReport(std::move(file))), "");
}

}  // namespace
}  // namespace sbump
