#include "client/experiment/report_sections.h"

#include <algorithm>

#include "client/experiment/html_text.h"
#include "client/experiment/report_plots.h"
#include "client/human_units.h"
#include "client/printable.h"
#include "daemon/base/str_cat.h"
#include "daemon/estimate/words.h"

namespace sbump {
namespace {

std::string Items(const std::vector<std::string>& texts) {
  std::string items;
  for (const std::string& text : texts) items += Element("li", "", Escaped(text));
  return items.empty() ? "" : Element("ul", "", items);
}

// What is wrong with all of it.
std::string Alarms(const Report& report) {
  std::string alarms;
  if (!InvalidOf(report).empty())
    alarms += Card(" alarm", Element("h3", "", "Nothing can be concluded from this run") +
                                 Paragraph(InvalidOf(report)));
  const bool cut = !report.stages.back().recorded.told;
  if (report.ranking.partial() && !cut)
    alarms += Card(" notice",
                   Paragraph(report.is_ranking
                                 ? "It ended early: not all was tested that was to be."
                                 : "It ended early: what follows is of the windows until then."));
  for (const std::string& note : report.notes) alarms += Card(" notice", Paragraph(note));
  return alarms;
}

std::string GroupCard(const ReportedStage& stage, size_t index) {
  const v1::GroupResult& group = stage.made.result.results(static_cast<int>(index));
  std::string card = Element(
      "h3", "", StrCat(Escaped(ShownName(group.name())), " ", VerdictHtml(group.verdict())));
  card += Paragraph(group.why()) + Paragraph(MeaningWords(group));
  const bool tested = group.role() == v1::TESTED;
  const double p = tested ? group.p_adjusted() : group.p();
  card += Paragraph(StrCat("Calls per unit: ", Fixed(group.hits_per_unit(), 2), ". Blocks: ",
                           group.blocks(), ". p ", p < 0.001 ? "< 0.001" : "= " + Fixed(p, 3),
                           tested ? ", adjusted for the number of groups." : "."),
                    " class=\"faint\"");
  return Card("", card + DoseHtml(stage, index) +
                      Items({group.warnings().begin(), group.warnings().end()}));
}

std::string AdditivityOf(const v1::ExperimentResult& result) {
  std::vector<std::string> lines;
  for (const v1::PairResult& pair : result.pairs()) lines.push_back(Printable(pair.why()));
  const std::string items = Items(lines);
  return items.empty() ? "" : Element("h3", "", "Do their effects add up?") + items;
}

std::string IntrusionOf(const RunEstimate& estimate) {
  if (!estimate.intrusion) return Paragraph("What the probes themselves cost was not measured.");
  const Intrusion& intrusion = *estimate.intrusion;
  const auto& interval = intrusion.ns_per_unit.interval;
  std::string words =
      StrCat("The probes themselves cost ", Percent(intrusion.share),
             " of a unit's time: windows without delay against those without probes, ");
  words += interval ? StrCat("95 % interval ", Percent(interval->low / intrusion.unprobed_ns),
                             " to ", Percent(interval->high / intrusion.unprobed_ns), ".")
                    : "of which there are too few for an interval.";
  if (intrusion.share < 0) words += " Less than nothing is noise.";
  return Paragraph(words + " It is no part of the numbers above.");
}

}  // namespace

std::string Titled(std::string_view heading, std::string_view title, const std::string& inner) {
  return inner.empty() ? "" : Element(heading, "", Escaped(title)) + inner;
}

std::string Card(std::string_view css, const std::string& inner) {
  return Element("div", StrCat(" class=\"card", css, "\""), inner);
}

std::string HeadSection(const Report& report) {
  std::string head =
      Element("h1", "", StrCat("What decides the pace of ", Escaped(ProcessWords(report))));
  std::string about =
      StrCat("A unit of work: ", MetricWords(report.stages[0].recorded.experiment.metric()), ".");
  if (report.header.unix_ns() != 0)
    about += StrCat(" Measured ", HumanTime(report.header.unix_ns()), " by sbump ",
                    ShownName(report.header.version()), ".");
  head += Paragraph(about, " class=\"faint\"");
  return Element("header", "", head + Alarms(report) + AnswersOf(report));
}

std::string GroupsSection(const ReportedStage& stage, size_t most_cards) {
  std::string cards;
  const size_t drawn = std::min(most_cards, stage.ranked.size());
  for (size_t i = 0; i < drawn; ++i) cards += GroupCard(stage, stage.ranked[i]);
  if (drawn < stage.ranked.size())
    cards += Paragraph(StrCat("The first ", drawn, " of ", stage.ranked.size(),
                              " groups: sbumpctl report FILE.sbump tells of the others."));
  return cards;
}

std::string WorthSection(const ReportedStage& stage) {
  const RunEstimate& estimate = stage.made.estimate;
  return AdditivityOf(stage.made.result) + IntrusionOf(estimate) +
         Titled("h3", "Warnings", Items(estimate.warnings));
}

std::string CaveatsSection() {
  return Titled("h3", "What the numbers cannot tell", Items(CaveatWords()));
}

}  // namespace sbump
